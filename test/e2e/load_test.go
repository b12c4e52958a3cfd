package e2e

import (
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

// Every site tells its neighbours what it has to do, and which program it runs.
func TestLoadOfAll(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 3})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	at := func(s, of site) api.Site {
		all := told[[]api.Site](t, s, "sites")
		return all[slices.IndexFunc(all, func(v api.Site) bool { return v.Name == grid.SiteName(of.Name) })]
	}
	for _, s := range []site{a, b} {
		eventually(t, "the load of idle b is known at "+s.Name, func() bool {
			v := at(s, b)
			return v.Load != nil && *v.Load == api.Load{Cores: 2} && v.Version != ""
		})
	}
	job := fill(t, b, dir, 60)
	for _, s := range []site{a, b} {
		eventually(t, "the load of busy b is known at "+s.Name, func() bool {
			v := at(s, b)
			return v.Load != nil && *v.Load == api.Load{Cores: 2, Busy: 1}
		})
	}
	client(t, b, "cancel", job)
	eventually(t, "the load of b that is idle again is known at a", func() bool { return at(a, b).Load.Busy == 0 })
}
