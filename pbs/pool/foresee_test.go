package pool

import (
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// quiet is a pool that does not run, of some computers that take jobs.
func quiet(t testing.TB, site grid.Site, computers map[string]line.Computer) *System {
	t.Helper()
	site.Name = "p"
	s, err := New(Config{Site: site, Spool: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	for name, facts := range computers {
		facts.Cores, facts.Memory, facts.Disk = max(facts.Cores, 1), 1<<34, 1<<40
		c := s.computerOf(name)
		c.facts, c.registered, c.session, c.seen = &facts, true, "s", time.Now()
		c.status.Availability = line.Free
		c.forecast = s.foresee(name, &facts, control.Now())
	}
	return s
}

// foresight is what the pool foresees now, and when that is.
func (s *System) foresight(t *testing.T, coming ...plan.Waiting) (plan.Foresight, grid.Tick) {
	t.Helper()
	shot, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return shot.Forecast.Foresee(append(shot.Waiting, coming...)), shot.At
}

var single = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}

// A pool to which no computer is connected says that, and not what it has too little of: one may come.
func TestPoolOfNobody(t *testing.T) {
	t.Parallel()
	shot, err := quiet(t, grid.Site{Speed: 1}, nil).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := plan.Refuse(shot, plan.Question{Demand: single, Limit: grid.Hour})
	if r == nil || r.Kind != grid.Temporary || r.Reason != "no computer is connected to the pool" || r.Available != "" {
		t.Errorf("a job hears %+v", r)
	}
}

// Whom the owners of all computers leave out is refused for good; of whom nothing is known is not.
func TestForeseesForUsers(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1, Dedicated: true, Users: []string{"anna@x"}}})
	for user, admitted := range map[string]bool{"anna@x": true, "bert@x": false, "": true} {
		f, now := s.foresight(t, plan.Waiting{Demand: single, Limit: grid.Hour, User: user})
		if _, ok := f.Waiting(0); ok != admitted {
			t.Errorf("of a job of %q that comes something is foreseen: %v", user, ok)
		}
		_, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Hour, NotBefore: now, User: user})
		if admitted != (refusal == nil) || !admitted && refusal.Kind != grid.Permanent {
			t.Errorf("%q hears %+v", user, refusal)
		}
	}
}

// A job needs as long when it is asked about as when it is on its way and when it waits, however slow its site is: the limit that a slow site gives
// it is no more work.
func TestForeseesWorkAndNotLimits(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 0.5}, map[string]line.Computer{"a": {Cores: 3, Speed: 0.5, Dedicated: true}})
	r := record{Demand: single, Walltime: grid.Hour}
	r.Assignment = line.Assignment{Job: "p.1", Number: 1, Limit: int64(2 * grid.Hour)}
	s.queue = []*entry{newEntry(r)}
	f, now := s.foresight(t, plan.Waiting{Job: "p.2", Demand: single, Limit: 2 * grid.Hour, Walltime: grid.Hour})
	stays := map[string]plan.Stay{}
	stays["waits"], _ = f.Waiting(0)
	stays["comes"], _ = f.Waiting(1)
	stays["is asked about"], _ = f.Ask(plan.Question{Demand: single, Limit: 2 * grid.Hour, Walltime: grid.Hour, NotBefore: now})
	for what, stay := range stays {
		if run := stay.End - stay.Start; run != 2*grid.Hour {
			t.Errorf("a job that %s has %v for an hour of work", what, run.Duration())
		}
	}
}

// A job that comes behind others hears both when it would end there and when it would have ended without them.
func TestForeseesWithoutOthers(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1, Dedicated: true}})
	f, now := s.foresight(t, plan.Waiting{Demand: single, Limit: 5 * grid.Hour})
	for i := range grid.Tick(3) {
		stay, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Hour, NotBefore: now})
		if refusal != nil || stay.End != now+(6+i)*grid.Hour || stay.Alone != now+grid.Hour {
			t.Errorf("%+v, %+v", stay, refusal)
		}
	}
}

// Dedicated computers are for jobs that no other ends in time: a job hears of them if its deadline needs them.
func TestForeseesWithDedicatedComputers(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"desk": {Speed: 0.1}, "rack": {Speed: 1, Dedicated: true}})
	for deadline, want := range map[grid.Tick]grid.Tick{0: 20 * grid.Hour, 21 * grid.Hour: 20 * grid.Hour, 2 * grid.Hour: grid.Hour, grid.Minute: 20 * grid.Hour} {
		f, now := s.foresight(t)
		q := plan.Question{Demand: single, Limit: grid.Hour, NotBefore: now}
		if deadline != 0 {
			q.Deadline = now + deadline
		}
		if stay, refusal := f.Ask(q); refusal != nil || stay.End != now+want {
			t.Errorf("with %v left it ends after %v, not %v: %+v", deadline.Duration(), (stay.End - now).Duration(), want.Duration(), refusal)
		}
	}
}

// What one asks about is nothing to another: a forecast is planned once, and asked by several.
func TestForeseesForSeveral(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Cores: 2, Speed: 1, Dedicated: true}})
	r := record{Demand: single, Walltime: grid.Hour}
	r.Assignment = line.Assignment{Job: "p.1", Number: 1, Limit: int64(grid.Hour)}
	s.queue = []*entry{newEntry(r)}
	shot, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f := shot.Forecast.Foresee(append(shot.Waiting, plan.Waiting{Job: "p.2", Demand: single, Limit: grid.Hour}))
		for i := range 2 {
			if stay, ok := f.Waiting(i); !ok || stay.Start != shot.At {
				t.Errorf("of two jobs on two cores the one with index %d starts after %v (%v)", i, (stay.Start - shot.At).Duration(), ok)
			}
		}
		if stay, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Hour, NotBefore: shot.At}); refusal != nil || stay.Start != shot.At+grid.Hour {
			t.Errorf("the third starts at %+v, %+v", stay, refusal)
		}
	}
}
