package core

import (
	"errors"
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What started where, and when, is what the accounts say, before and after a restart.
func TestEstimatesAreKeptWithTheirOutcomes(t *testing.T) {
	t.Parallel()
	moved, waited := 0, 0
	for seed := range uint64(20) {
		w := newWorld(t, seed, faults{delay: 20}, 1, 1)
		w.boot()
		var ids []grid.JobID
		for n := range 10 {
			ids = append(ids, w.submit(grid.Tick(w.rnd.Int64N(20000)), w.sites[0], n+1, 1, grid.Tick(5000+w.rnd.Int64N(20000)), n%3 == 0))
		}
		if !w.run(w.now+grid.Hour, func() bool { return w.allEnded(ids) }) {
			t.Fatalf("seed %d: not all ended", seed)
		}
		w.run(w.now+grid.Minute, nil)
		for _, s := range w.sites {
			started := 0
			for _, l := range s.local {
				r := s.journal[l.s.ID.Job]
				if l.started == 0 {
					continue
				}
				started++
				if r.Queued == 0 || r.Queued > l.started || r.ExpectedStart < r.Queued || r.Started != l.started {
					t.Errorf("seed %d: %s started at %s at %d, but its record says queued %d, expected %d, started %d",
						seed, r.Job.ID, s.name, l.started, r.Queued, r.ExpectedStart, r.Started)
				}
			}
			var records []grid.Record
			for _, r := range s.journal {
				records = append(records, r)
				if r.Role == grid.Owning && r.Owner == s.peer {
					continue
				}
				if r.Owner != s.peer && r.Queued != 0 {
					t.Errorf("seed %d: %s has %s queued since %d, but it is elsewhere", seed, s.name, r.Job.ID, r.Queued)
				}
			}
			again := New(s.config(), s.members, records)
			if len(s.host.core.estimator.outcomes) != started || !reflect.DeepEqual(again.estimator.outcomes, s.host.core.estimator.outcomes) {
				t.Errorf("seed %d: %d jobs started at %s; its account is\n%v\nand after a restart\n%v", seed, started, s.name, s.host.core.estimator.outcomes, again.estimator.outcomes)
			}
			if !reflect.DeepEqual(again.estimator.runTimes, s.host.core.estimator.runTimes) {
				t.Errorf("seed %d: %s learned %+v, and after a restart %+v", seed, s.name, s.host.core.estimator.runTimes, again.estimator.runTimes)
			}
			shown := shownAccuracy(again.Step(w.now, Boot{}))
			if shown == nil || shown.Started != started {
				t.Errorf("seed %d: %s shows %+v of %d starts", seed, s.name, shown, started)
			} else {
				waited += shown.Waited
			}
		}
		moved += len(w.sites[1].host.core.estimator.outcomes)
	}
	if moved < 20 || waited < 60 {
		t.Errorf("%d jobs moved and %d waited: the histories test little", moved, waited)
	}
}

func shownAccuracy(effects []Effect) *Accuracy {
	var last *Accuracy
	for _, e := range effects {
		if s, ok := e.(ShowAccuracy); ok {
			last = &s.Accuracy
		}
	}
	return last
}

func accountant() *Core {
	return New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 2}}, nil, nil)
}

func TestExpectation(t *testing.T) {
	t.Parallel()
	const now = 10 * grid.Minute
	for _, c := range []struct{ now, estimate, want grid.Tick }{
		{now, 0, 0},
		{grid.Second, 0, 0},
		{now, now + 5, now + 5},
		{now, now - 1, now},
		{now, now - stale, now},
		{now, now - stale - 1, 0},
	} {
		core := accountant()
		core.now = c.now
		j := &job{rec: grid.Record{EstimateNow: c.estimate, Run: grid.Run{ExpectedStart: 7}}}
		core.estimator.expect(j)
		if j.rec.Queued != c.now || j.rec.ExpectedStart != c.want {
			t.Errorf("at %d with the estimate %d: queued %d, expected %d; want %d", c.now, c.estimate, j.rec.Queued, j.rec.ExpectedStart, c.want)
		}
	}
}

// A job that is handed on takes no expectation of this site along.
func TestNothingIsExpectedElsewhere(t *testing.T) {
	t.Parallel()
	core := New(Config{Self: "i", Site: grid.Site{Name: "i", Processes: 1, Speed: 1}}, []grid.Member{{Name: "j", Peer: "j", Send: true}}, nil)
	j := &job{rec: grid.Record{
		Job:    grid.Job{ID: "i.01M7XVNVT1HF2GHP4JW23GK3FT", Home: "i"},
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Owning, Handoff: grid.Handoff{Phase: grid.Withdrawing, To: "j"}},
		Run:    grid.Run{Queued: 5, ExpectedStart: 6},
	}}
	core.ownership.commit(j)
	if j.rec.Queued != 0 || j.rec.ExpectedStart != 0 {
		t.Errorf("queued %d, expected %d", j.rec.Queued, j.rec.ExpectedStart)
	}
}

func TestAccountOfStarts(t *testing.T) {
	t.Parallel()
	const queued = grid.Hour
	ran := func(expected, started grid.Tick, state grid.State) *grid.Record {
		return &grid.Record{State: state, Run: grid.Run{Queued: queued, ExpectedStart: expected, Started: started}}
	}
	core := accountant()
	for _, r := range []*grid.Record{
		ran(queued, queued+grid.Second, grid.Running),                           // at once
		ran(0, queued+grid.Minute, grid.Running),                                // waited, and nobody had an estimate
		ran(queued+1000, queued+3000, grid.Completed),                           // too early, by 2 s
		ran(queued+2*grid.Hour, queued+grid.Hour, grid.StageOut),                // an hour off
		ran(queued+1000, 0, grid.Running),                                       // has not started
		{State: grid.Running, Run: grid.Run{ExpectedStart: 1, Started: queued}}, // elsewhere
		ran(queued+1000, queued+3000, grid.Assigned),                            // started in an earlier attempt
		{State: grid.Completed, Run: grid.Run{Queued: queued, Started: queued}, AtHome: grid.AtHome{Removed: true}},
	} {
		core.estimator.began(r)
	}
	core.estimator.judge()
	want := Accuracy{4, plan.Accuracy{Waited: 2, Mean: 1801, Median: 2, P90: 3600, Within60: 0.5, Within600: 0.5, TooEarly: 0.5}}
	if got := shownAccuracy(core.out); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	core.out = nil
	if core.estimator.judge(); len(core.out) > 0 {
		t.Error("nothing new is told")
	}

	for n := range 2*keptStarts + 500 { // of these the last 1000 count: their errors are 1 s and up
		core.estimator.began(ran(queued+grid.Tick(n+1)*grid.Second, queued+2*grid.Second, grid.Running))
	}
	core.estimator.judge()
	got := shownAccuracy(core.out)
	if got == nil || got.Started != keptStarts || got.Waited != keptStarts || got.Median != 1998 {
		t.Errorf("%+v of the latest %d", got, keptStarts)
	}
	if len(core.estimator.outcomes) > 2*keptStarts {
		t.Errorf("%d outcomes are kept", len(core.estimator.outcomes))
	}
}

// A refresh tells what changed since the last.
func TestAccuracyIsToldWhenItChanges(t *testing.T) {
	t.Parallel()
	core := accountant()
	if shownAccuracy(core.Step(grid.Hour, Boot{})) == nil {
		t.Error("at the start nothing is told")
	}
	if got := shownAccuracy(core.Step(grid.Hour+core.cfg.Refresh, Tick{})); got != nil {
		t.Errorf("%+v is told again", got)
	}
	core.estimator.began(&grid.Record{State: grid.Running, Run: grid.Run{Queued: 1, Started: 1}})
	if got := shownAccuracy(core.Step(grid.Hour+2*core.cfg.Refresh, Tick{})); got == nil || got.Started != 1 {
		t.Errorf("%+v is told of one start", got)
	}
}

// What comes to a site is planned in its queue, and a later estimate replaces the
// one that an offer was taken on.
func TestComingJobsKeepTheirQueue(t *testing.T) {
	t.Parallel()
	core := accountant()
	offered := grid.Job{ID: "i.01M7XVNVT1HF2GHP4JW23GK3FT", User: grid.User{Home: "i", Name: "anna"}, Terms: grid.Terms{Deadline: 9}, Queue: "long", Walltime: grid.Hour, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
	core.accepted[offered.ID] = &acceptance{start: 5}
	core.accepted[offered.ID].offer.Job = offered
	q := core.estimator.question(&offered, 7)
	if q.Queue != "long" || q.Limit != grid.Hour || q.NotBefore != 7 || q.Trait != core.estimator.trait(&offered) || q.User != "anna@i" || q.Walltime != grid.Hour || q.Deadline != 9 {
		t.Errorf("%+v is asked", q)
	}
	asked := core.estimator.asked(wire.Question{Demand: offered.Demand, Queue: "long", Walltime: grid.Hour, Delivery: 3}, 7)
	if want := (plan.Trait{Cores: 1, Limit: grid.Hour}); asked.Queue != "long" || asked.NotBefore != 10 || asked.Limit != grid.Hour || asked.Trait != want || asked.User != "" || asked.Walltime != grid.Hour {
		t.Errorf("a neighbour asks %+v", asked)
	}
	s := core.estimator.withTraits(core.estimator.withComing(plan.Snapshot{At: 100, Nodes: []plan.Node{{Name: "n", Cores: 1}}, Queues: []plan.Queue{{Name: "long"}}}))
	if len(s.Waiting) != 1 || s.Waiting[0].Queue != "long" || s.Waiting[0].Trait != core.estimator.trait(&offered) || s.Waiting[0].User != "anna@i" || s.Waiting[0].Walltime != grid.Hour {
		t.Fatalf("%+v is coming", s.Waiting)
	}
	core.estimator.showEstimates(s, &forecast{likely: plan.Ensemble{plan.Build(s)}})
	if got := core.accepted[offered.ID].start; got != 100 {
		t.Errorf("expected at %d, want now", got)
	}
	delete(core.accepted, offered.ID)
	j := &job{rec: grid.Record{Job: offered, State: grid.Moving, EstimateNow: 5, Tenure: grid.Tenure{Role: grid.Prepared}}}
	core.jobs[offered.ID] = j
	if core.estimator.showEstimates(s, &forecast{likely: plan.Ensemble{plan.Build(s)}}); j.rec.EstimateNow != 100 || len(core.out) > 0 {
		t.Errorf("expected at %d with %v, want 100 and no word of it", j.rec.EstimateNow, core.out)
	}
}

// The same key for another queue is another job, and refused.
func TestAKeyStandsForItsQueue(t *testing.T) {
	t.Parallel()
	core := accountant()
	core.Step(1000, Boot{})
	submit := func(id string, queue grid.QueueName) Answer {
		j := grid.Job{ID: grid.JobID(id), Home: "j", User: grid.User{Home: "j", Name: "alice"}, Queue: queue, Walltime: grid.Hour}
		for _, e := range core.Step(1000, Submit{Token: 1, Job: j, Key: "k"}) {
			if a, ok := e.(Answer); ok {
				return a
			}
		}
		return Answer{}
	}
	submit("j.01M7XVNVT1HF2GHP4JW23GK3FT", "long")
	if a := submit("j.01M7XVNVT1HF2GHP4JW23GK3FV", "long"); !a.Again {
		t.Errorf("the same again: %+v", a)
	}
	if a := submit("j.01M7XVNVT1HF2GHP4JW23GK3FV", "short"); !errors.Is(a.Err, grid.ErrInvalid) {
		t.Errorf("another queue under the same key: %+v", a)
	}
}
