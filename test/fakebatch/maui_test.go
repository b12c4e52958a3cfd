package fakebatch

import (
	"strings"
	"testing"

	"gbroker/test/fakebatch/batch"
)

// TestMauiKeepsNodes: a reservation keeps its nodes from others, is open to its users, and binds by -W alone.
func TestMauiKeepsNodes(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque", Schedulers: []string{"broker"}})
	want(t, s, 1, "alice", "", "setres", "-u", "alice", "-n", "ours", "-d", "3600", "node01")
	want(t, s, 0, "broker", "", "setres", "-u", "alice", "-n", "ours", "-d", "3600", "node01")
	wide := submit(t, s, "bob", "sleep 1000", "-l", "nodes=1:ppn=4,walltime=600")
	if j := s.Await(wide, running); j.Parts[0].Node != "node02" {
		t.Errorf("bob's job runs on %s", j.Parts[0].Node)
	}
	out := submit(t, s, "bob", "sleep 1000", "-l", "nodes=1:ppn=1,walltime=600")
	bound := submit(t, s, "bob", "true", "-l", "nodes=1:ppn=1,walltime=600", "-W", "x=FLAGS:ADVRES:ours.0")
	wrong := submit(t, s, "alice", "true", "-l", "nodes=1:ppn=1,walltime=600", "-W", "x=FLAGS:ADVRES:nosuch.0")
	inside := submit(t, s, "alice", "true", "-l", "nodes=1:ppn=4,walltime=600", "-W", "x=FLAGS:ADVRES:ours.0")
	s.Await(inside, over)
	for _, id := range []string{out, bound, wrong} {
		if j, _ := s.Job(id); j.State != batch.Queued {
			t.Errorf("job %s of %s is in state %c", id, j.User, j.State)
		}
	}
	want(t, s, 1, "bob", "", "showstart", strings.TrimSuffix(bound, ".pbs1"))
	// Host lists overlap without a word; tasks do not.
	want(t, s, 0, "broker", "", "setres", "-u", "bob", "-n", "theirs", "-d", "3600", "node01")
	want(t, s, 1, "broker", "", "setres", "-u", "bob", "-n", "tasks", "-d", "3600", "-r", "PROCS=1", "TASKS==4")
	// Who may not does not release, with 0.
	want(t, s, 0, "bob", "", "releaseres", "ours.0")
	want(t, s, 0, "alice", "", "releaseres", "ours.0")
	s.Await(out, running)
	if j, _ := s.Job(wrong); j.State != batch.Queued {
		t.Error("a job that is bound to nothing has started")
	}
}

// TestMauiByAccount: -x BYNAME has no effect, so that any job of its user runs in a reservation; one of an account is
// open to jobs of that account alone, and a job that is bound to it needs the account too.
func TestMauiByAccount(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque", Nodes: Nodes("torque", 1, 4)})
	want(t, s, 0, "", "", "setres", "-u", "alice", "-n", "r", "-x", "BYNAME", "-d", "3600", "node01")
	s.Await(submit(t, s, "alice", "true", "-l", "walltime=60"), over)
	want(t, s, 0, "alice", "", "releaseres", "r.0")
	want(t, s, 0, "", "", "setres", "-a", "grid77", "-n", "r", "-d", "3600", "node01")
	unbound := submit(t, s, "alice", "true", "-l", "walltime=60")
	bound := submit(t, s, "alice", "true", "-l", "walltime=60", "-W", "x=FLAGS:ADVRES:r.0")
	for _, id := range []string{
		submit(t, s, "alice", "true", "-l", "walltime=60", "-W", "x=FLAGS:ADVRES:r.0", "-A", "grid77"),
		submit(t, s, "bob", "true", "-l", "walltime=60", "-A", "grid77"),
	} {
		s.Await(id, over)
	}
	for _, id := range []string{unbound, bound} {
		if j, _ := s.Job(id); j.State != batch.Queued {
			t.Errorf("job %s is in state %c", id, j.State)
		}
	}
	want(t, s, 0, "", "", "releaseres", "r.0")
	s.Await(unbound, over)
}

// TestMauiSizes: under EXACTNODE pieces of one size get a node each, and those of another size share one where there is none.
func TestMauiSizes(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque", Nodes: Nodes("torque", 3, 4), NodeCount: 100, MultiReq: true, ExactNodes: true})
	for nodes, of := range map[string]int{"1:ppn=2+1:ppn=1": 2, "1:ppn=2+3:ppn=1": 3} {
		id := submit(t, s, "alice", "sleep 1000", "-l", "nodes="+nodes+",walltime=60")
		names := make(map[string]int)
		for _, p := range s.Await(id, running).Parts {
			names[p.Node]++
		}
		if len(names) != of {
			t.Errorf("%s lies on %v", nodes, names)
		}
		want(t, s, 0, "alice", "", "qdel", id)
		s.Await(id, over)
	}
}

// TestMauiLeak: a reservation of single tasks leaks when its user has a job on the node; one of whole nodes does not.
func TestMauiLeak(t *testing.T) {
	t.Parallel()
	for each, state := range map[string]byte{"1": batch.Running, "4": batch.Queued} {
		t.Run("procs"+each, func(t *testing.T) {
			t.Parallel()
			s := Start(t, batch.Config{Face: "torque", Nodes: Nodes("torque", 1, 4)})
			tasks := map[string]string{"1": "4", "4": "1"}[each]
			want(t, s, 0, "", "", "setres", "-u", "alice", "-n", "r", "-d", "3600", "-r", "PROCS="+each, "TASKS=="+tasks)
			want(t, s, 0, "alice", "sleep 1000", "qsub", "-l", "nodes=1:ppn=1,walltime=600", "-W", "x=FLAGS:ADVRES:r.0")
			s.Await("1.pbs1", running)
			id := submit(t, s, "bob", "sleep 1000", "-l", "nodes=1:ppn=1,walltime=600")
			marker := submit(t, s, "alice", "true", "-l", "nodes=1:ppn=1,walltime=600") // looked at after it
			s.Await(marker, over)
			if j, _ := s.Job(id); j.State != state {
				t.Errorf("bob's job is in state %c, not %c", j.State, state)
			}
		})
	}
}

// TestOrder: first come, first served, and what goes before moves nobody.
func TestOrder(t *testing.T) {
	t.Parallel()
	for face, ask := range map[string]func(nodes string) string{
		"torque":  func(n string) string { return "nodes=" + n + ":ppn=4" },
		"openpbs": func(n string) string { return "select=" + n + ":ncpus=4" },
	} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			s := Start(t, batch.Config{Face: face, Nodes: Nodes(face, 2, 4)})
			first := submit(t, s, "alice", "sleep 1000", "-l", ask("1"), "-l", "walltime=1000")
			s.Await(first, running)
			wide := submit(t, s, "alice", "true", "-l", ask("2"), "-l", "walltime=100")
			long := submit(t, s, "bob", "true", "-l", ask("1"), "-l", "walltime=2000")
			short := submit(t, s, "bob", "true", "-l", ask("1"), "-l", "walltime=500")
			s.Await(short, over)
			for _, id := range []string{wide, long} {
				if j, _ := s.Job(id); j.State != batch.Queued {
					t.Errorf("job %s is in state %c", id, j.State)
				}
			}
			want(t, s, 0, "alice", "", "qdel", first)
			a, b := s.Await(wide, over), s.Await(long, over)
			if b.Started.Before(a.Started) {
				t.Error("a later job was started before the first")
			}
		})
	}
}
