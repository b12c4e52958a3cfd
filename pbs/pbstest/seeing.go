package pbstest

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// testSnapshot looks at a site as the planner does.
func testSnapshot(t *testing.T, k Kind) {
	s, holder := blocked(t, k)
	j := s.shell("exit 0")
	j.Limit = 5 * minute
	s.submit(j)
	s.until("both jobs are seen", func() bool {
		shot := s.snapshot()
		return len(shot.Running) == 1 && len(shot.Waiting) == 1
	})
	shot := s.snapshot()
	if shot.Site.Name != "here" || shot.At == 0 || len(shot.Nodes) != len(s.nodes) {
		t.Errorf("snapshot %+v", shot)
	}
	for _, n := range s.nodes {
		i := slices.IndexFunc(shot.Nodes, func(m plan.Node) bool { return m.Name == n.Name })
		if i < 0 || shot.Nodes[i].Cores != n.Cores || shot.Nodes[i].Down {
			t.Errorf("node %s is shown as %+v", n.Name, shot.Nodes)
		}
	}
	if r := shot.Running[0]; r.Job != holder.ID.Job || r.Start == 0 || r.Start > shot.At+s.fuzz() || len(r.Shares) != len(s.nodes) {
		t.Errorf("running %+v", r)
	}
	if w := shot.Waiting[0]; w.Job != j.ID.Job || !s.spans(w.Limit, j.Limit) || w.Demand.Cores() != 1 || w.Ineligible {
		t.Errorf("waiting %+v", w)
	}
	if start, ok := plan.Build(shot).Start(j.ID.Job); !ok || start < shot.At+50*minute {
		t.Errorf("the plan starts the job at %d, %v: the one before it has an hour from %d", start, ok, shot.At)
	}
	s.release(holder)
	s.end(j)
	s.until("its cores are free", func() bool {
		shot := s.snapshot()
		return len(shot.Running)+len(shot.Waiting) == 0
	})
}

// Jobs of others count in the plan as ours do, and are nobody's.
func testSnapshotOfOthers(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Submit != nil, "no jobs of others can be submitted")
	running := s.foreign(Foreign{Other: true, Name: "theirs", Nodes: len(s.nodes), Limit: grid.Hour})
	s.until("their job runs", func() bool { return running.exists("up") })
	waiting := s.foreign(Foreign{Other: true, Name: "theirs2", Nodes: 1, Limit: 10 * minute})
	s.until("both are seen", func() bool {
		shot := s.snapshot()
		return len(shot.Running) == 1 && len(shot.Waiting) == 1
	})
	shot := s.snapshot()
	if r := shot.Running[0]; r.Job != "" || len(r.Shares) != len(s.nodes) || !s.spans(r.End-r.Start, grid.Hour) {
		t.Errorf("their running job: %+v", r)
	}
	if w := shot.Waiting[0]; w.Job != "" || !s.spans(w.Limit, 10*minute) || w.Demand.Cores() != s.nodes[0].Cores {
		t.Errorf("their waiting job: %+v", w)
	}
	running.release()
	s.until("their second job runs too", func() bool { return waiting.exists("up") })
	waiting.release()
	waiting.await()
	running.await()
}

// A node that takes no more jobs is down in the plan, and its job goes on.
func testNodeDrained(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(s.hand.Drain != nil && s.hand.Undrain != nil, "no node can be drained")
	name := s.nodes[len(s.nodes)-1].Name
	down := func() bool {
		return slices.ContainsFunc(s.snapshot().Nodes, func(n plan.Node) bool { return n.Name == name && n.Down })
	}
	holder := s.submit(s.wholly(s.shell(untilGo)))
	s.awaitFile(holder, "up")
	s.did("draining a node", s.hand.Drain(name))
	s.until("the node is shown as down", down)
	if p := s.progress(holder); p.Phase != grid.Started {
		t.Errorf("the job on it is %s", p.Phase)
	}
	s.did("undraining a node", s.hand.Undrain(name))
	s.until("the node is shown as up", func() bool { return !down() })
	s.release(holder)
	if p := s.end(holder); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("ended %+v", p)
	}
}
