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
