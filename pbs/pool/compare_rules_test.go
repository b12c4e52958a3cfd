package pool_test

import (
	"net/http"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/line"
)

// What is compared is how the program ended and what it left, and not the checkpoint, which each computer writes at moments of its own.
func TestWhatIsCompared(t *testing.T) {
	t.Parallel()
	saving := func(j *grid.Submission) {
		twice(j)
		j.Job.Program.Environment = append(j.Job.Program.Environment, grid.Variable{Name: pool.Checkpoint, Value: "state"})
	}
	for name, test := range map[string]struct {
		file   string // that both leave
		onB    string // its content at the second; "x" at the first
		status int    // of the program at the second; 0 at the first
		agree  bool
	}{
		"the same":           {"out", "x", 0, true},
		"another exit":       {"out", "x", 3, false},
		"another content":    {"out", "y", 0, false},
		"another checkpoint": {"state", "y", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := untrusting(t)
			a := s.puppet("a")
			j := s.submit("true", saving)
			onA := a.begins(j)
			b := s.puppet("b")
			onB := b.begins(j)
			end := func(p *puppet, r line.Report, content string, status int) int {
				if got := p.leaves(r, test.file, content); got != http.StatusOK {
					t.Fatalf("the file is answered %d", got)
				}
				return p.post(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.ByItself, ExitCode: status}, nil)
			}
			if got := end(a, onA, "x", 0); got != http.StatusServiceUnavailable {
				t.Fatalf("the first result is answered %d", got)
			}
			want := http.StatusServiceUnavailable
			if test.agree {
				want = http.StatusOK
			}
			if got := end(b, onB, test.onB, test.status); got != want {
				t.Errorf("the second is answered %d, not %d", got, want)
			}
		})
	}
}
