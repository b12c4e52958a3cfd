package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// withGPUs is a job that tells its GPUs, of one name, and waits.
func withGPUs(dir, ulid, name string, n int64) grid.Submission {
	j := shellJob(dir, ulid, "echo ${CUDA_VISIBLE_DEVICES-none} ${ROCR_VISIBLE_DEVICES-none} ${GBROKER_GPUS-none}; while [ ! -e go ]; do sleep 0.01; done")
	if n > 0 {
		j.Job.Demand.Chunks[0].Resources = []grid.Resource{{Name: name, Amount: n}}
	}
	return j
}

// Each program is told the numbers of its GPUs, which no other has while it runs, also after a restart; the job's own word goes over it, but for ours.
func TestGPUsHaveNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nodes := []plan.Node{
		{Name: "n1", Cores: 8, Resources: []grid.Resource{{Name: "fpga", Amount: 9}, {Name: "gpu", Amount: 2}}},
		{Name: "n2", Cores: 8, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 3}}},
	}
	said := func(j grid.Submission, want string) {
		t.Helper()
		awaitPath(t, filepath.Join(j.Work, "stdout"))
		if text, err := os.ReadFile(filepath.Join(j.Work, "stdout")); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s says %q, not %q (%v)", j.ID, text, want, err)
		}
	}
	end := func(jobs ...grid.Submission) {
		t.Helper()
		for _, j := range jobs {
			if err := os.WriteFile(filepath.Join(j.Work, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, two, none, own := withGPUs(dir, "A", "gpu", 1), withGPUs(dir, "B", "gpu:a100", 2), withGPUs(dir, "C", "", 0), withGPUs(dir, "D", "gpu", 1)
	own.Job.Program.Environment = []grid.Variable{{Name: "CUDA_VISIBLE_DEVICES", Value: "mine"}}
	s, _ := siteWith(t, dir, "firstfit", nodes...)
	submit(t, s, one, two, none, own)
	during(t, s, func() {
		said(one, "0 0 0")
		said(two, "2,3 2,3 2,3")
		said(none, "none none none")
		said(own, "mine 1 1")
		end(one)
		awaitPath(t, filepath.Join(one.Control, "end.1.0.1"))
	})
	s, _ = siteWith(t, dir, "firstfit", nodes...)
	third, last := withGPUs(dir, "E", "gpu", 1), withGPUs(dir, "F", "gpu:a100", 1)
	submit(t, s, third, last)
	during(t, s, func() {
		said(third, "0 0 0")
		said(last, "4 4 4")
	})
	end(two, none, own, third, last)
	s, changed := siteWith(t, dir, "firstfit", nodes...)
	awaitEnds(t, s, changed, two, none, own, third, last)
}
