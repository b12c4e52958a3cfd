package external

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// stranger puts a job of somebody into the queue.
func (b *bench) stranger(id grid.LocalID, user string, cores int) {
	b.Helper()
	b.far.set(func() {
		b.far.jobs = append(b.far.jobs, &Job{
			Local: id, User: user, State: Queued, NeverStarted: true, Submitted: control.Now(), Limit: grid.Hour, Priority: 100,
			Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: cores, Cores: cores}}},
		})
	})
	b.later(time.Minute)
}

func (b *bench) starts(ids ...grid.LocalID) {
	for _, id := range ids {
		b.far.change(id, func(k *Job) {
			k.State, k.Started, k.NeverStarted, k.Places = Running, control.Now(), false, []Place{{Node: "n", Cores: k.Demand.Cores()}}
		})
	}
	b.later(time.Minute)
}

// startsAtOnce puts a job of somebody there that nobody sees wait.
func (b *bench) startsAtOnce(id grid.LocalID, user string) {
	b.far.set(func() {
		j := *b.far.jobs[len(b.far.jobs)-1]
		j.Local, j.User, j.Submitted, j.Started = id, user, control.Now(), control.Now()
		j.State, j.NeverStarted, j.Places = Running, false, []Place{{Node: "n", Cores: 1}}
		b.far.jobs = append(b.far.jobs, &j)
	})
	b.later(time.Minute)
}

func (b *bench) shot() plan.Snapshot {
	b.Helper()
	s, err := b.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// What runs of a user is taken to be his limit when jobs of others that came later were started before his,
// and asked for the same.
func TestPassedOver(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.ranked = true })
		b.stranger("a1", "alice", 1)
		b.starts("a1")
		b.stranger("a2", "alice", 1)
		for _, id := range []grid.LocalID{"b1", "b2"} {
			if caps := b.shot().Caps; len(caps) > 0 {
				t.Errorf("before %s has started: %+v", id, caps)
			}
			b.startsAtOnce(id, "bob")
		}
		s := b.shot()
		if len(s.Caps) != 1 || s.Caps[0].Most != 1 || !strings.Contains(s.Caps[0].Why, "not told of user alice") {
			t.Fatalf("learned: %+v", s.Caps)
		}
		if w := s.Waiting[0]; w.Ineligible || len(w.Caps) != 1 {
			t.Errorf("the job that was passed over: %+v", w)
		}
		b.far.change("a1", func(k *Job) { k.State, k.Finished, k.End = Done, control.Now(), &End{} })
		b.starts("a2")
		b.stranger("a3", "alice", 1)
		if w := b.shot().Waiting[0]; len(w.Caps) != 1 {
			t.Errorf("the next of the same user: %+v", w)
		}
		b.later(2 * time.Hour)
		if s := b.shot(); len(s.Caps) != 0 {
			t.Errorf("nobody has been passed over for two hours: %+v", s.Caps)
		}
	})
}

// A job that is passed over though nothing of its user runs is not considered by the scheduler.
func TestPassedOverAlone(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.ranked = true })
		b.stranger("a1", "alice", 1)
		b.stranger("b1", "bob", 1)
		b.stranger("b2", "bob", 1)
		b.starts("b1")
		if w := b.shot().Waiting[0]; w.Ineligible {
			t.Errorf("passed over once: %+v", w)
		}
		b.starts("b2")
		if w := b.shot().Waiting[0]; !w.Ineligible || w.Why != passedOver {
			t.Errorf("passed over twice: %+v", w)
		}
		b.later(2 * time.Hour)
		if w := b.shot().Waiting[0]; w.Ineligible {
			t.Errorf("two hours after it was passed over: %+v", w)
		}
		b.starts("a1")
		if s := b.shot(); len(s.Waiting) != 0 || len(s.Caps) != 0 {
			t.Errorf("it runs: %+v %+v", s.Waiting, s.Caps)
		}
		if len(b.poller.passed.over) != 0 {
			t.Error("it is kept in mind")
		}
	})
}

// Jobs of one user that pass another of his own show no limit of his.
func TestPassedOverByItsOwn(t *testing.T) {
	inBubble(t, func(b *bench) {
		for _, id := range []grid.LocalID{"a1", "a2", "a3", "a4"} {
			b.stranger(id, "alice", 1)
		}
		b.starts("a1", "a3")
		b.starts("a4")
		if s := b.shot(); !s.Waiting[0].Ineligible || len(s.Caps) != 0 {
			t.Errorf("%+v %+v", s.Waiting[0], s.Caps)
		}
	})
}

// A limit that was learned so is believed as long as jobs are passed over.
func TestPassedOverAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.ranked = true })
		b.stranger("a1", "alice", 1)
		b.starts("a1")
		b.stranger("a2", "alice", 1)
		for i, id := range []grid.LocalID{"b1", "b2", "b3", "b4"} {
			b.stranger(id, "bob", 1)
			b.starts(id)
			b.later(40 * time.Minute)
			if s := b.shot(); (len(s.Caps) == 1) != (i > 0) {
				t.Errorf("40 minutes after the start of %s: %+v", id, s.Caps)
			}
		}
	})
}

// Where what each user has used lately may count, the start of a fresh user's jobs says nothing of who has used much.
func TestPassedOverByFairshare(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stranger("a1", "alice", 1)
		b.starts("a1")
		b.stranger("a2", "alice", 1)
		for _, id := range []grid.LocalID{"b1", "b2"} {
			b.startsAtOnce(id, "bob")
			b.stranger(id+"later", "bob", 1)
			b.starts(id + "later")
		}
		if s := b.shot(); len(s.Caps) != 0 || s.Waiting[0].Ineligible {
			t.Errorf("learned from a fresh user: %+v, %+v", s.Caps, s.Waiting[0])
		}
	})
}

// A job that goes on being passed over is not considered all that time; an hour after the last start it is, and one start more is
// not enough then.
func TestPassedOverAllTheTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.far.set(func() { b.far.ranked = true })
		b.stranger("a1", "alice", 1)
		pass := func() {
			b.startsAtOnce("b", "bob")
			b.far.set(func() { b.far.jobs = b.far.jobs[:1] })
			b.later(time.Minute)
		}
		pass()
		pass()
		for n := range 100 {
			if w := b.shot().Waiting[0]; !w.Ineligible || w.Why != passedOver {
				t.Fatalf("passed over %d times: %+v", n+2, w)
			}
			pass()
		}
		b.later(2 * time.Hour)
		pass()
		if w := b.shot().Waiting[0]; w.Ineligible {
			t.Errorf("passed over once in two hours: %+v", w)
		}
		pass()
		if w := b.shot().Waiting[0]; !w.Ineligible {
			t.Errorf("passed over twice again: %+v", w)
		}
	})
}

// Limits that are told count from the first listing after a start.
func TestNotPassedOverAfterAStart(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.stranger("a1", "alice", 1)
		b.stranger("b1", "bob", 1)
		b.stranger("b2", "bob", 1)
		b.far.set(func() { b.far.ranked, b.far.caps, b.far.jobs[0].Caps = true, []plan.Cap{{Most: 0}}, []int{0} })
		b.restart()
		b.later(time.Second)
		b.starts("b1", "b2")
		if w := b.shot().Waiting[0]; w.Ineligible {
			t.Errorf("a job at a limit that is told: %+v", w)
		}
	})
}

// A pair of listings costs what they hold, not how many jobs wait times how many run: compare the time for each job.
func BenchmarkPassed(b *testing.B) {
	for _, c := range []struct{ waiting, free int }{{5_000, 0}, {20_000, 0}, {40_000, 0}, {5_000, 1}, {20_000, 1}, {40_000, 1}} {
		b.Run(fmt.Sprintf("%d waiting, limits with %d free", c.waiting, c.free), func(b *testing.B) {
			before, now := crowd(c.waiting, 4_000, c.free)
			for b.Loop() {
				var p passed
				p.see(nil, before, time.Now())
				p.see(before, now, time.Now())
				for _, l := range []*Listing{before, now} {
					l.Caps = l.Caps[:2]
					for i := range l.Jobs {
						l.Jobs[i].Caps = l.Jobs[i].Caps[:2]
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.waiting), "ns/job")
		})
	}
}

// crowd is a queue of many users under two limits, and the same after as many as ran have ended and others have started at once.
func crowd(waiting, running, free int) (before, now *Listing) {
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	job := func(n int, id string, s State) Job {
		return Job{Local: grid.LocalID(id + strconv.Itoa(n)), User: "u" + strconv.Itoa(n%100), State: s, Demand: demand, Limit: grid.Hour, Priority: 1,
			NeverStarted: s == Queued, Submitted: grid.Tick(n), Caps: []int{0, 1}, Places: []Place{{Node: "n", Cores: 1}}}
	}
	before, now = &Listing{Ranked: true}, &Listing{Ranked: true}
	for n := range running {
		before.Jobs = append(before.Jobs, job(n, "old", Running))
		fresh := job(waiting+n, "new", Running)
		fresh.Started = 1
		now.Jobs = append(now.Jobs, fresh)
	}
	for n := range waiting {
		before.Jobs, now.Jobs = append(before.Jobs, job(n, "w", Queued)), append(now.Jobs, job(n, "w", Queued))
	}
	before.Caps = []plan.Cap{{Most: int64(running + free)}, {Most: int64(running + free), Cores: true}}
	now.Caps = slices.Clone(before.Caps)
	return before, now
}

// What comes later may go first where it asks for less, is held dearer, or a limit that is told keeps the other back.
func TestNotPassedOver(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *bench, first *Job)
	}{
		{"it is wider", func(_ *bench, j *Job) { j.Demand.Chunks[0].Cores = 2 }},
		{"it is longer", func(_ *bench, j *Job) { j.Limit *= 2 }},
		{"it is less dear", func(_ *bench, j *Job) { j.Priority = -1 }},
		{"it is of another queue", func(_ *bench, j *Job) { j.Queue = "night" }},
		{"it is for a reservation", func(_ *bench, j *Job) { j.Reservation = "R1" }},
		{"it has run", func(_ *bench, j *Job) { j.NeverStarted = false }},
		{"it came later", func(_ *bench, j *Job) { j.Submitted += grid.Hour }},
		{"it is held", func(_ *bench, j *Job) { j.State = Held }},
		{"the others have a reservation", func(b *bench, _ *Job) {
			b.far.jobs = b.far.jobs[:1]
			for _, id := range []grid.LocalID{"b1", "b2"} {
				b.far.jobs = append(b.far.jobs, &Job{Local: id, User: "bob", State: Done, Started: control.Now() + 1, Reservation: "R1",
					Submitted: control.Now(), Limit: grid.Hour, Demand: b.far.jobs[0].Demand, End: &End{}})
			}
		}},
		{"who goes first is not known", func(b *bench, _ *Job) { b.far.ranked = false }},
		{"its priority is not told any more", func(b *bench, j *Job) { j.Priority = 0 }},
		{"that of the others is not told", func(b *bench, _ *Job) { b.far.jobs[1].Priority, b.far.jobs[2].Priority = 0, 0 }},
		{"it was held, and the others are of its user too", func(b *bench, j *Job) {
			j.Eligible = control.Now() + grid.Minute
			b.far.ranked, b.far.jobs[1].User, b.far.jobs[2].User = false, "alice", "alice"
		}},
		{"its user's others are charged to another account", func(b *bench, j *Job) {
			b.far.ranked, j.Account, b.far.jobs[1].User, b.far.jobs[2].User = false, "ice", "alice", "alice"
		}},
		{"its limit is full", func(b *bench, j *Job) { b.far.caps, j.Caps = []plan.Cap{{Most: 0}}, []int{0} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.far.set(func() { b.far.ranked = true })
				b.stranger("a1", "alice", 1)
				b.stranger("b1", "bob", 1)
				b.stranger("b2", "bob", 1)
				b.far.set(func() { c.change(b, b.far.jobs[0]) })
				b.later(time.Minute)
				for _, id := range []grid.LocalID{"b1", "b2"} {
					if slices.ContainsFunc(b.far.live(), func(j Job) bool { return j.Local == id }) {
						b.starts(id)
					}
				}
				s := b.shot()
				if w := s.Waiting[0]; w.Why != "" && w.Why == passedOver || len(s.Caps) > len(b.far.caps) {
					t.Errorf("%+v %+v", w, s.Caps)
				}
			})
		})
	}
}
