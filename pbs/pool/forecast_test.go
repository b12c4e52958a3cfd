package pool_test

import (
	"os"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// The broker is told when a job would end on the computers as they are expected to be: behind those that run and wait, and by how fast they are;
// what lacks everywhere is told in words.
func TestWhatThePoolForesees(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1, Speed: 0.5}, plan.Node{Name: "b", Cores: 2, Speed: 1, Properties: []string{"big"}})
	foresight := func() (plan.Foresight, grid.Tick) {
		shot, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return shot.Forecast.Foresee(shot.Waiting), shot.At
	}
	one := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	near := func(what string, got, want grid.Tick) {
		t.Helper()
		if d := got - want; d > grid.Minute || d < -grid.Minute {
			t.Errorf("%s after %v, not %v", what, got.Duration(), want.Duration())
		}
	}
	f, now := foresight()
	ask := func(d grid.Demand, want grid.Tick) {
		t.Helper()
		stay, refusal := f.Ask(plan.Question{Demand: d, Limit: grid.Hour, NotBefore: now})
		if refusal != nil {
			t.Fatal(refusal)
		}
		near("it ends", stay.End-now, want)
		if stay.Latest <= stay.End {
			t.Errorf("a pool that has seen no job end says for sure that it is at %v", stay.Latest)
		}
	}
	wide := one
	wide.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 2}}
	ask(wide, 2*grid.Hour) // on all of b, half of which is presumed
	ask(one, 4*grid.Hour)  // behind it, as soon as on the slower one
	only := one
	only.Properties = []string{"small"}
	if _, refusal := f.Ask(plan.Question{Demand: only, Limit: grid.Hour, NotBefore: now}); refusal == nil || refusal.Kind != grid.Permanent || !strings.HasPrefix(refusal.Reason, "no computer of this pool has") {
		t.Errorf("what no computer has: %+v", refusal)
	}
	j := s.submit(lives, func(j *grid.Submission) {
		by(20*grid.Hour, grid.Hour)(j)
		j.Job.Demand.Hosts = []string{"b"}
		j.Job.Demand.Exclusive = true
	})
	s.process(j, "pid")
	next := s.submit("exit 0", func(j *grid.Submission) {
		by(20*grid.Hour, grid.Hour)(j)
		j.Job.Demand.Hosts = []string{"b"}
		j.Job.Demand.Exclusive = true
	})
	f, now = foresight()
	if stay, ok := f.Waiting(0); !ok {
		t.Error("of the job that waits nothing is foreseen")
	} else {
		near("it starts", stay.Start-now, 2*grid.Hour)
		near("it ends", stay.End-now, 4*grid.Hour)
	}
	if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.end(j)
	s.end(next)
}
