package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

// steps are those of a job over several sites at its home; docs/protocol.md has what each of them means.
var steps = []grid.AllocationState{
	grid.Planned, grid.Reserving, grid.Confirming, grid.Staging, grid.Gathering, grid.Going, grid.Together, grid.Over,
}

// alone is how long a part may run without the others.
const alone = 2 * time.Minute

// Whoever is killed, the coordinator or a participant, at whatever step: all parts begin, or none; none runs
// alone, nor twice; and no reservation is left.
func TestKillsOfOneJobOverTwoSites(t *testing.T) {
	long(t)
	for _, who := range []string{"alpha", "beta"} {
		for _, step := range steps {
			t.Run(who+" at "+step.String(), func(t *testing.T) {
				t.Parallel()
				dir := place(t)
				a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 4})
				b := newSite(t, dir, "beta", cluster.Options{Nodes: 2, Cores: 2})
				start(t, a, b)
				introduce(t, a, b)
				sees(t, a, map[string]int{"alpha": 4, "beta": 4})
				ledger := filepath.Join(dir, "ledger")
				id := together(ledger, 8, 2).submit(t, a, dir, "wide")
				seen := comesTo(t, a, id, step)
				killed := map[string]site{"alpha": a, "beta": b}[who]
				killed.Kill()
				time.Sleep(3 * time.Second) //house:allow sleep: it is away for a while
				start(t, killed)
				state := ""
				inTime(t, 8*time.Minute, id+" is to end", func() bool {
					st, ok := asked(t, a, id)
					state = st.State
					return ok && st.Ended != 0
				})
				list, ends := beginnings(t, ledger)
				t.Logf("killed at %s: %s: %v, %d ends", seen, state, list, ends)
				if state == "COMPLETED" {
					begunWithin(t, alone, ledger, 8, "alpha", "beta") // who is away hears of GO later
				} else {
					begunInVain(t, a, id, list)
				}
				for _, s := range []string{"alpha", "beta"} {
					if n := len(slices.DeleteFunc(slices.Clone(list), func(b beginning) bool { return b.site != s })); n > 1 {
						t.Errorf("it began %d times at %s", n, s)
					}
				}
				for _, s := range []site{a, b} {
					eventually(t, "no reservation is left at "+s.Name, func() bool { return booked(t, s) == 0 })
				}
				nothingLeft(t, a, id)
				if again, _ := beginnings(t, ledger); len(again) != len(list) {
					t.Errorf("after its end it began again: %v, then %v", list, again)
				}
			})
		}
	}
}

// begunInVain tells that a job that did not complete has failed because a part of it had begun, as nothing else keeps it from another
// round; and that it says so.
func begunInVain(t *testing.T, home site, id string, list []beginning) {
	t.Helper()
	st, _ := asked(t, home, id)
	if st.State != "FAILED" && st.State != "LOST" || st.Reason == "" {
		t.Errorf("it ended %s: %q", st.State, st.Reason)
	}
	if len(list) == 0 {
		t.Errorf("it ended %s (%s), though no part of it has begun", st.State, st.Reason)
	}
}

// nothingLeft tells that each part that was made has come to an end, and that its home holds no reservation for it.
func nothingLeft(t *testing.T, home site, id string) {
	t.Helper()
	var left []api.Part
	eventually(t, "every part of "+id+" is to end", func() bool {
		a := told[api.Explanation](t, home, "explain", id).Allocation
		if a == nil {
			return false
		}
		left = slices.DeleteFunc(slices.Clone(a.Parts), func(p api.Part) bool {
			return (p.Job == "" || p.End != "") && !slices.Contains([]string{"TENTATIVE", "CONFIRMED", "BOUND", "ACTIVE"}, p.Reserved)
		})
		return len(left) == 0
	})
	for _, p := range left {
		t.Errorf("left of round %d: %+v", p.Round, p)
	}
}

// comesTo waits until a job over several sites is at a step, or beyond it where that one is over in no time, and tells
// where it was seen.
func comesTo(t *testing.T, home site, id string, step grid.AllocationState) string {
	t.Helper()
	c, err := api.NewClient(api.ClientConfig{Address: home.Address()})
	must(t, err)
	defer c.Close()
	reached := []string{}
	for _, s := range steps[slices.Index(steps, step):] {
		reached = append(reached, s.String())
	}
	for limit := time.Now().Add(4 * time.Minute); time.Now().Before(limit); {
		x, err := c.Explain(t.Context(), grid.JobID(id))
		must(t, err)
		if x.Allocation != nil && slices.Contains(reached, x.Allocation.State) {
			return x.Allocation.State
		}
	}
	t.Fatalf("%s does not come to %v", id, step)
	return ""
}

// booked are the reservations in the book of a site that are not over.
func booked(t *testing.T, s site) (n int) {
	t.Helper()
	r := s.Admin(t.Context(), "reservations", "--json", "--config", s.Config())
	var list []api.HeldReservation
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		t.Fatalf("gbroker reservations says %q %q: %v", r.Stdout, r.Stderr, err)
	}
	for _, h := range list {
		if h.State != "RELEASED" && h.State != "EXPIRED" && h.State != "LOST" {
			n++
		}
	}
	return n
}
