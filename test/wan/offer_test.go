package wan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// Over 100 ms a job is offered, by what it has told, to the site that can start it, and nobody is asked first: in less time than a question and its answer
// would take. Where nothing is told it takes that.
func TestOfferWithoutAQuestion(t *testing.T) {
	const trip = 100 * time.Millisecond
	job := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(job, []byte("#!/bin/sh\n#SBATCH --ntasks=2\n#SBATCH --time=1\ntrue\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, told := range []bool{true, false} {
		w := network(t, 2)
		w.Both(0, 1, Link{Delay: trip / 2})
		sites := sitesOf(t, w, func(i int) int { return 1 + i }, func(s *cluster.Site) {
			tell := "200ms" // soon after the job that was there
			if !told {
				tell = "0s"
			}
			tells(t, s, tell)
		})
		know(t, sites[0], sites[1])
		agreed(t, sites, "after the start")
		for began := time.Now(); ; {
			id := submitted(t, sites[0], job)
			if r := sites[0].Client(t.Context(), "wait", id); r.Code != 0 {
				t.Fatalf("the job: %d, %s%s", r.Code, r.Stdout, r.Stderr)
			}
			took := between(t, sites[0], id, "READY", "MOVING")
			t.Logf("| offers over %v | told of starts: %t | offered %v after its files were there |", trip, told, took)
			if unasked := offeredUnasked(t, sites[0], id); unasked == told && took < trip == told {
				break
			}
			if time.Since(began) > time.Minute { // it is not heard at once, and not of before the job that was there
				t.Error("no such offer within a minute")
				break
			}
		}
	}
}

// tells has a site tell of starts so often at most.
func tells(t *testing.T, s *cluster.Site, each string) {
	t.Helper()
	text, err := os.ReadFile(s.Config())
	if err == nil {
		err = os.WriteFile(s.Config(), append(text, "\nreevaluation: {tell: "+each+"}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func submitted(t *testing.T, s *cluster.Site, job string) string {
	t.Helper()
	r := s.Client(t.Context(), "submit", job)
	if r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	return strings.TrimSpace(r.Stdout)
}

// offeredUnasked tells that a job was first placed at a site that was not asked.
func offeredUnasked(t *testing.T, s *cluster.Site, id string) bool {
	t.Helper()
	var e api.Explanation
	if r := s.Client(t.Context(), "explain", "--json", id); r.Code != 0 || json.Unmarshal([]byte(r.Stdout), &e) != nil || len(e.Decisions) == 0 {
		t.Fatalf("explain: %s%s", r.Stdout, r.Stderr)
	}
	for _, c := range e.Decisions[0].Candidates {
		if c.Chosen {
			return c.Told
		}
	}
	return false
}

// between is the time from one state of a job to another.
func between(t *testing.T, s *cluster.Site, id, from, to string) time.Duration {
	t.Helper()
	var h api.History
	if r := s.Client(t.Context(), "history", "--json", id); r.Code != 0 || json.Unmarshal([]byte(r.Stdout), &h) != nil {
		t.Fatalf("history: %s%s", r.Stdout, r.Stderr)
	}
	at := map[string]api.Time{}
	for _, e := range h.Events {
		if _, seen := at[e.State]; !seen {
			at[e.State] = e.At
		}
	}
	if at[from] == 0 || at[to] == 0 {
		t.Fatalf("the history lacks %s or %s: %+v", from, to, h.Events)
	}
	return time.Duration(at[to]-at[from]) * time.Millisecond
}
