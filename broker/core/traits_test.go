package core

import (
	"fmt"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func applicationOf(user, name, executable string) grid.Job {
	return grid.Job{
		ID: "i.01M7XVNVT1HF2GHP4JW23GK3FT", User: grid.User{Home: "i", Name: user}, Name: name,
		Program: grid.Program{Executable: executable}, Walltime: 100 * grid.Second,
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 3}}},
	}
}

func TestWho(t *testing.T) {
	t.Parallel()
	base := applicationOf("alice", "run-17", "/bin/a")
	for _, same := range []grid.Job{
		applicationOf("alice", "run-18", "/bin/a"),
		applicationOf("alice", "run-", "/bin/b"),
	} {
		if who(&same) != who(&base) {
			t.Errorf("%s %s is another application", same.Name, same.Program.Executable)
		}
	}
	elsewhere := base
	elsewhere.User.Home = "j"
	unnamed, numbered := applicationOf("alice", "", "/bin/a"), applicationOf("alice", "42", "/bin/a")
	if who(&unnamed) != who(&numbered) {
		t.Error("a number is taken for a name")
	}
	for _, other := range []grid.Job{
		applicationOf("alic", "erun-17", "/bin/a"), applicationOf("bob", "run-17", "/bin/a"), applicationOf("alice", "walk-17", "/bin/a"),
		unnamed, applicationOf("alice", "", "/bin/b"), elsewhere,
	} {
		if who(&other) == who(&base) {
			t.Errorf("%s %s %s is taken for the same", other.User, other.Name, other.Program.Executable)
		}
	}
}

// What ended here is believed, the latest most, whatever order the journal has.
func TestRunTimesAreLearned(t *testing.T) {
	t.Parallel()
	var records []grid.Record
	ended := func(n int, finished, run grid.Tick, change func(*grid.Record)) {
		r := grid.Record{
			Job:    applicationOf("alice", fmt.Sprint("run-", n), "/bin/a"),
			State:  grid.StageOut,
			Tenure: grid.Tenure{Role: grid.Tombstone},
			Run:    grid.Run{Queued: 1, Started: finished - run, Finished: finished, End: grid.Completed},
		}
		r.Job.ID = grid.NewJobID("i", fmt.Sprintf("%026d", n))
		change(&r)
		records = append(records, r)
	}
	keep := func(*grid.Record) {}
	ended(1, 3*grid.Hour, 30*grid.Second, keep) // the latest
	ended(2, 1*grid.Hour, 10*grid.Second, func(r *grid.Record) { r.End = grid.CancelledWalltime })
	ended(3, 2*grid.Hour, 20*grid.Second, func(r *grid.Record) { r.End = grid.Killed })
	for n, spoil := range []func(*grid.Record){
		func(r *grid.Record) { r.End = grid.Failed },
		func(r *grid.Record) { r.Queued = 0 },
		func(r *grid.Record) { r.Removed = true },
		func(r *grid.Record) { r.Finished = 0 },
	} {
		ended(4+n, 4*grid.Hour, 90*grid.Second, spoil)
	}
	core := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 8, Speed: 1}}, nil, records)
	job := applicationOf("alice", "run-99", "/bin/a")
	trait := core.estimator.trait(&job)
	// Weights 1, 0.8 and 0.64 from the latest: the median is 20 s.
	for elapsed, want := range map[grid.Tick]grid.Tick{0: 20, 10: 30, 25: 30, 30: 100, 200: 200} {
		got := expectedRun(core, trait, elapsed*grid.Second)
		if elapsed == 200 {
			got-- // the next instant
		}
		if got != want*grid.Second {
			t.Errorf("after %d s it is believed to run %v s, want %d", elapsed, got.Seconds(), want)
		}
	}
	later := core.jobs[records[0].Job.ID].rec
	later.Started, later.Finished = 5*grid.Hour, 5*grid.Hour+50*grid.Second
	core.estimator.learn(&later)
	core.estimator.learn(&later)
	if got := expectedRun(core, trait, 0); got != 50*grid.Second {
		t.Errorf("after two that ran 50 s it is believed to run %v s", got.Seconds())
	}
}

func TestTraitsOfASnapshot(t *testing.T) {
	t.Parallel()
	ours, offered := applicationOf("alice", "a", "/bin/a"), applicationOf("bob", "b", "/bin/b")
	ours.ID, offered.ID = grid.NewJobID("i", fmt.Sprintf("%026d", 1)), grid.NewJobID("i", fmt.Sprintf("%026d", 2))
	core := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 8, Speed: 0.5}}, nil, []grid.Record{{Job: ours, State: grid.Running}})
	core.accepted[offered.ID] = &acceptance{}
	core.accepted[offered.ID].offer.Job = offered
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 4, Processes: 1, Cores: 1}}}
	said := plan.Trait{Who: 9, Cores: 8, Limit: 7}
	before := plan.Snapshot{
		Running: []plan.Running{
			{Job: ours.ID, End: 5},
			{Start: 1000, End: 4000, Shares: []plan.Share{{Cores: 2}, {Node: 1, Cores: 3}}},
			{Job: "x.01M7XVNVT1HF2GHP4JW23GK3FT", Trait: said},
		},
		Waiting: []plan.Waiting{{Job: offered.ID, Demand: demand, Limit: 5}, {Demand: demand, Limit: 50}, {Demand: demand, Limit: 50, Trait: said}},
	}
	s := core.estimator.withTraits(before)
	trait := func(j grid.Job) plan.Trait { return plan.Trait{Who: who(&j), Cores: 6, Limit: 200 * grid.Second} }
	for i, want := range []plan.Trait{trait(ours), {Cores: 5, Limit: 3000}, said} {
		if got := s.Running[i].Trait; got != want {
			t.Errorf("running %d: %+v, want %+v", i, got, want)
		}
	}
	for i, want := range []plan.Trait{trait(offered), {Cores: 4, Limit: 50}, said} {
		if got := s.Waiting[i].Trait; got != want {
			t.Errorf("waiting %d: %+v, want %+v", i, got, want)
		}
	}
	if before.Running[0].Trait != (plan.Trait{}) || before.Waiting[0].Trait != (plan.Trait{}) {
		t.Error("the snapshot that was given is changed")
	}
}

// Where it is known how long jobs run, that counts, and they run on beyond it by a moment at a time.
func TestRunTimesThatAreKnown(t *testing.T) {
	t.Parallel()
	c := bare()
	c.estimator.cfg.Known = func(*grid.Job) grid.Tick { return 30 * grid.Second }
	j := applicationOf("alice", "", "/bin/a")
	if got := c.estimator.trait(&j).Known; got != 30*grid.Second {
		t.Errorf("it is known to run %d", got)
	}
	for _, k := range [][3]grid.Tick{{30_000, 0, 30_000}, {30_000, 40_000, 40_001}, {30_000, 30_000, 30_001}, {1, 0, 1}} {
		if got := expectedRun(c, plan.Trait{Known: k[0], Limit: grid.Hour}, k[1]); got != k[2] {
			t.Errorf("of %d known, after %d, it is believed to run %d, want %d", k[0], k[1], got, k[2])
		}
	}
}

// expectedRun is how long a job is believed to run in all, alone at a site.
func expectedRun(c *Core, t plan.Trait, elapsed grid.Tick) grid.Tick {
	s := plan.Snapshot{Running: []plan.Running{{Start: -elapsed, Trait: t}}}
	return c.estimator.beliefs(&plan.Snapshot{}).Draw(&s, 1)[0].Running[0]
}
