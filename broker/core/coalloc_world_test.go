package core

import (
	"testing"

	"gbroker/grid"
)

// A job that may have several sites, and that one site alone ends as soon, goes there as any other; it waits for
// no reservation, also after restarts.
func TestWholeAtOneSite(t *testing.T) {
	t.Parallel()
	w, a, _, _ := three(t)
	j := jobOf(a.peer, a.name, "1")
	j.Demand.Chunks[0].Count = 3
	j.Coallocation = &grid.Coallocation{Sites: 2, PerSite: 1}
	a.step(Submit{Token: 1, Job: j, Key: "1"})
	w.until("it ends", a.is(j.ID, grid.Completed))
}

// The home's own site takes a part no more whose reservation it has: its round is given up at once, and the next one goes on.
func TestPartThatItsHomeDoesNotTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, faults{}, 4, 4)
	w.forParts(0, 0)
	home := w.sites[0]
	w.boot()
	id := w.wide(home, "1", 6, true)
	w.until("its nodes are asked for", func() bool { return home.reserves(id) })
	core := home.host.core
	core.kernel.cfg.Slack = grid.Hour // its batch system takes longer to begin and end than it did when it was asked
	w.until("it is given up", func() bool { return core.wholes.all[id].rec.State == grid.Planned })
	core.kernel.cfg.Slack = 0
	w.until("it ends", home.is(id, grid.Completed))
}

// meets checks that a part hears where programs may meet each of those that have arrived: without a rule one goes before all are there.
func (s *site) meets(sites []grid.Gathered) {
	for _, g := range sites {
		if want := string(g.Site) + "0:20001"; len(g.Hosts) > 0 && g.Rendezvous != want {
			s.w.t.Errorf("%s hears of %+v, and not that it may be met at %s", s.name, g, want)
		}
	}
}
