package embedded_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

// siteWith is a site of nodes under a policy, and where its changes are told.
func siteWith(t *testing.T, dir, policy string, nodes ...plan.Node) (*embedded.System, <-chan grid.AttemptID) {
	t.Helper()
	p, err := plan.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan grid.AttemptID, 1000)
	s, err := embedded.New(embedded.Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: nodes, Policy: p, Spool: filepath.Join(dir, "spool"),
		Changed: func(at grid.AttemptID) { changed <- at }, Supervisor: quick(t), Grace: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, changed
}

// asking is a job of some cores and bytes for a limit.
func asking(dir, ulid, script string, cores int, memory int64, limit grid.Tick) grid.Submission {
	j := shellJob(dir, ulid, script)
	j.Limit, j.Job.Demand.Chunks = limit, []grid.Chunk{{Count: 1, Processes: cores, Cores: cores, Memory: memory}}
	return j
}

// Who passes whom is by the policy: three of four cores are held for ten minutes, the head
// of the queue needs all four, and behind it stand a long and a short job of one core.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for policy, passes := range map[string][]string{
		"fcfs": nil, "firstfit": {"long"}, "firstfit:1": {"long"}, "easy": {"short"}, "easy:2": {"short"},
		"easysjbf": {"short"}, "cons-rebuild": {"short"}, "cons-compress": {"short"},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _ := siteWith(t, dir, policy, plan.Node{Name: "n1", Cores: 4})
			holder := asking(dir, "A", waitForGo, 3, 0, 10*grid.Minute)
			head := asking(dir, "B", "exit 0", 4, 0, grid.Minute)
			behind := map[string]grid.Submission{
				"long":  asking(dir, "C", waitForGo, 1, 0, grid.Hour),
				"short": asking(dir, "D", waitForGo, 1, 0, grid.Minute),
			}
			submit(t, s, holder)
			during(t, s, func() {
				awaitPath(t, filepath.Join(holder.Work, "stdout"))
				submit(t, s, head, behind["long"], behind["short"])
				for _, name := range passes {
					awaitPath(t, filepath.Join(behind[name].Work, "stdout"))
				}
			})
			for _, name := range slices.Sorted(maps.Keys(behind)) {
				p, err := s.Progress(context.Background(), behind[name].ID, behind[name].Control)
				if err != nil || p.Phase == grid.Waiting == slices.Contains(passes, name) {
					t.Errorf("the %s job is %s, %v", name, p.Phase, err)
				}
			}
			for _, j := range []grid.Submission{holder, behind["long"], behind["short"]} {
				if err := os.WriteFile(filepath.Join(j.Work, "go"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s, changed := siteWith(t, dir, policy, plan.Node{Name: "n1", Cores: 4}) // Run runs once
			awaitEnds(t, s, changed, holder, head, behind["long"], behind["short"])
		})
	}
}

// Declared memory is counted: two jobs that need more than half of it do not run at once,
// though there are cores for both, and a small one does beside.
func TestMemoryIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := siteWith(t, dir, "firstfit", plan.Node{Name: "n1", Cores: 4, Memory: 1 << 30})
	first := asking(dir, "A", waitForGo, 1, 600<<20, grid.Hour)
	second := asking(dir, "B", "exit 0", 1, 600<<20, grid.Hour)
	small := asking(dir, "C", "exit 0", 1, 400<<20, grid.Hour)
	submit(t, s, first, second, small)
	during(t, s, func() {
		awaitPath(t, filepath.Join(first.Work, "stdout"))
		awaitPath(t, filepath.Join(small.Control, "end.1.0.1"))
	})
	if p, err := s.Progress(context.Background(), second.ID, second.Control); err != nil || p.Phase != grid.Waiting {
		t.Errorf("the second job is %s, %v", p.Phase, err)
	}
	if err := os.WriteFile(filepath.Join(first.Work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, changed := siteWith(t, dir, "firstfit", plan.Node{Name: "n1", Cores: 4, Memory: 1 << 30})
	ends := awaitEnds(t, s, changed, first, second)
	if ends[1].Started < ends[0].Finished {
		t.Errorf("the second started at %d, the first ended at %d", ends[1].Started, ends[0].Finished)
	}
	over := asking(dir, "D", "exit 0", 1, 2<<30, grid.Hour)
	if _, err := s.Submit(context.Background(), over); err == nil {
		t.Error("a job of twice the memory of the node was taken")
	}
}

// Jobs of several users stand in one queue, by their age.
func TestUsersInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, changed := siteWith(t, dir, "fcfs", plan.Node{Name: "n1", Cores: 1})
	order := filepath.Join(dir, "order")
	var jobs []grid.Submission
	for i, user := range []string{"ann", "ben", "ann", "eve", "ben", "ann"} {
		j := shellJob(dir, string(rune('A'+i)), "echo "+user+" >> "+order)
		j.Job.User, j.Age = grid.User{Name: user, Home: "here"}, grid.Tick(i/2)*grid.Hour
		jobs = append(jobs, j)
	}
	submit(t, s, jobs...)
	awaitEnds(t, s, changed, jobs...)
	if got, err := os.ReadFile(order); err != nil || string(got) != "ben\nann\nann\neve\nann\nben\n" {
		t.Errorf("they ran in the order %q, %v", got, err)
	}
}
