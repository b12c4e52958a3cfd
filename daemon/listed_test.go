package daemon

import (
	"testing"

	"gbroker/grid"
)

// Of a job that this site has let go a run that ended here is listed, and nothing else: nobody tells it what becomes of the job.
func TestOfAJobThatWasLetGoItsEndHereIsListed(t *testing.T) {
	t.Parallel()
	for state := grid.Submitted; state <= grid.Lost; state++ {
		for _, started := range []grid.Tick{0, 5} {
			for _, role := range []grid.Role{grid.Owning, grid.Watching, grid.Tombstone, grid.Declined} {
				r := grid.Record{State: state, Tenure: grid.Tenure{Role: role}, Run: grid.Run{Started: started}}
				want := role == grid.Owning || role == grid.Watching || role == grid.Tombstone && started > 0 && state.Terminal()
				if listed(&r) != want {
					t.Errorf("%s as %s, started at %d: listed %t", state, role, started, !want)
				}
			}
		}
	}
}
