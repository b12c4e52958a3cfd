package external

import (
	"slices"
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
			Local: id, User: user, State: Queued, NeverStarted: true, Submitted: control.Now(), Limit: grid.Hour,
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
		if w := s.Waiting[0]; w.Held || len(w.Caps) != 1 {
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
		b.stranger("a1", "alice", 1)
		b.stranger("b1", "bob", 1)
		b.stranger("b2", "bob", 1)
		b.starts("b1")
		if w := b.shot().Waiting[0]; w.Held {
			t.Errorf("passed over once: %+v", w)
		}
		b.starts("b2")
		if w := b.shot().Waiting[0]; !w.Held || w.Why != passedOver {
			t.Errorf("passed over twice: %+v", w)
		}
		b.later(2 * time.Hour)
		if w := b.shot().Waiting[0]; w.Held {
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
		if s := b.shot(); !s.Waiting[0].Held || len(s.Caps) != 0 {
			t.Errorf("%+v %+v", s.Waiting[0], s.Caps)
		}
	})
}

// A limit that was learned so is believed as long as jobs are passed over.
func TestPassedOverAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
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
		{"its limit is full", func(b *bench, j *Job) { b.far.caps, j.Caps = []plan.Cap{{Most: 0}}, []int{0} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
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
