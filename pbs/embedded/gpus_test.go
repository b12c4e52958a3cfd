package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded"
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
		said(none, "none") // it sees none: both variables are set, to nothing
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

// gpuJobs runs jobs one system after the other, and looks at what they say.
type gpuJobs struct {
	*testing.T
	dir  string
	jobs []grid.Submission
}

func (g *gpuJobs) submit(s *embedded.System, ulid, name string, n int64) grid.Submission {
	j := withGPUs(g.dir, ulid, name, n)
	submit(g.T, s, j)
	g.jobs = append(g.jobs, j)
	return j
}

func (g *gpuJobs) says(j grid.Submission, want string) {
	g.Helper()
	awaitPath(g.T, filepath.Join(j.Work, "stdout"))
	if text, err := os.ReadFile(filepath.Join(j.Work, "stdout")); err != nil || strings.TrimSpace(string(text)) != want {
		g.Errorf("%s says %q, not %q (%v)", j.ID, text, want, err)
	}
}

func (g *gpuJobs) release(jobs ...grid.Submission) {
	for _, j := range jobs {
		if err := os.WriteFile(filepath.Join(j.Work, "go"), nil, 0o644); err != nil {
			g.Fatal(err)
		}
	}
}

func (g *gpuJobs) finish(nodes ...plan.Node) {
	g.release(g.jobs...)
	s, changed := siteWith(g.T, g.dir, "firstfit", nodes...)
	awaitEnds(g.T, s, changed, g.jobs...)
}

func gpuNode(name grid.NodeName, kind string, n int64) plan.Node {
	return plan.Node{Name: name, Cores: 8, Resources: []grid.Resource{{Name: kind, Amount: n}}}
}

// A job waits while another runs with the number that it would get, as the nodes were declared in another order when that one started.
func TestGPUsOfNodesInAnotherOrder(t *testing.T) {
	t.Parallel()
	g := &gpuJobs{T: t, dir: t.TempDir()}
	one, two := gpuNode("n1", "gpu:a", 1), gpuNode("n2", "gpu:b", 1)
	s, _ := siteWith(t, g.dir, "firstfit", one, two)
	first := g.submit(s, "A", "gpu:a", 1)
	during(t, s, func() { g.says(first, "0 0 0") })
	s, _ = siteWith(t, g.dir, "firstfit", two, one)
	second := g.submit(s, "B", "gpu:b", 1)
	other := g.submit(s, "C", "", 0)
	during(t, s, func() {
		g.says(other, "none")
		g.release(first)
		g.says(second, "0 0 0")
	})
	g.finish(two, one)
}

// A job that was started without numbers has as many as it has GPUs: nobody else gets them.
func TestGPUsOfJobsWithoutNumbers(t *testing.T) {
	t.Parallel()
	g := &gpuJobs{T: t, dir: t.TempDir()}
	node := gpuNode("n1", "gpu", 2)
	s, _ := siteWith(t, g.dir, "firstfit", node)
	first := g.submit(s, "A", "gpu", 1)
	during(t, s, func() { g.says(first, "0 0 0") })
	files, err := filepath.Glob(filepath.Join(g.dir, "spool", "jobs", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(text), "\x00gpu=0\x00", "\x00", 1)
	if old == string(text) {
		t.Fatalf("no number is in %q", text)
	}
	if err := os.WriteFile(files[0], []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ = siteWith(t, g.dir, "firstfit", node)
	second := g.submit(s, "B", "gpu", 1)
	during(t, s, func() { g.says(second, "1 1 1") })
	g.finish(node)
}

// What is counted by the thousand has no numbers, and takes none from those that have.
func TestGPUsOfWhichThereAreMany(t *testing.T) {
	t.Parallel()
	g := &gpuJobs{T: t, dir: t.TempDir()}
	nodes := []plan.Node{gpuNode("n1", "gpu:memory_mb", 81920), gpuNode("n2", "gpu", 1024)}
	s, _ := siteWith(t, g.dir, "firstfit", nodes...)
	counted, one := g.submit(s, "A", "gpu:memory_mb", 40_000), g.submit(s, "B", "gpu", 1)
	during(t, s, func() {
		g.says(counted, "none none none")
		g.says(one, "0 0 0")
	})
	g.finish(nodes...)
}
