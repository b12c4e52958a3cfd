package store

import (
	"fmt"
	"testing"

	"gbroker/grid"
)

// What a sweep of 100,000 jobs takes in the journal: nothing for a job whose turn has not come, and four
// bytes, written as text, for what became of one.
func TestASweepIsSmall(t *testing.T) {
	t.Parallel()
	g := grid.Group{ID: "a.01JD3V0QX2M6W8T9Z4C5A7B1EF.all", Jobs: grid.MaxSweep, Template: grid.Hash{1}}
	size := func(entities ...grid.Entity) (n int) {
		for _, e := range entities {
			kind, _ := e.Entity()
			w, err := kinds[kind].encode(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			n += len(w.record)
		}
		return n
	}
	if n := size(&g); n > 512 {
		t.Errorf("accepted it takes %d bytes beside its document", n)
	}
	var pages []grid.Entity
	for page := range (g.Jobs + grid.ResultsPage - 1) / grid.ResultsPage {
		r := &grid.Results{Group: g.ID, Page: page}
		for n := page*grid.ResultsPage + 1; n <= min(g.Jobs, (page+1)*grid.ResultsPage); n++ {
			g.Set(r, n, grid.Result{State: grid.Completed, HasExit: true, ExitCode: n % 256, Site: grid.SiteName(fmt.Sprint("site", n%20))})
		}
		pages = append(pages, r)
	}
	if n := size(append(pages, &g)...); n > 6*g.Jobs {
		t.Errorf("ended it takes %d bytes, %d a job", n, n/g.Jobs)
	} else {
		t.Logf("%.1f bytes a job", float64(n)/float64(g.Jobs))
	}
}
