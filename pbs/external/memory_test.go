package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// batch is a small batch system that lives in memory and misbehaves as it is told.
type batch struct {
	mu           sync.Mutex
	jobs         []*Job
	reservations []Reservation
	next         int
	listings     int
	ranked       bool
	removals     []grid.LocalID
	orders       []Order

	down       error         // all commands fail
	slow       time.Duration // how long a listing takes
	deaf       bool          // submissions take effect, their answers are lost
	stalled    bool          // submissions have no effect before late is called
	late       []Order
	refuse     bool        // submissions are refused for good
	lookless   bool        // looks by identifier fail
	quick      bool        // what is to be held starts
	witness    func(Order) // sees what is submitted
	stubborn   bool        // removals are heard, and have no effect
	misreserve func(*Reservation)
	forgetful  bool // ended jobs are not listed
	silent     []grid.NodeName
	shapes     plan.Shapes
	looks      grid.Tick
	caps       []plan.Cap
	dead       bool  // removals get no answer of the job's node
	clings     error // releases from a hold fail
}

func (b *batch) Traits() Traits {
	return Traits{Kind: "memory", Least: grid.Second, Slack: grid.Second, Early: 2 * grid.Second}
}

func (b *batch) Listing(ctx context.Context) (Listing, error) {
	b.mu.Lock()
	b.listings++
	slow := b.slow
	b.mu.Unlock()
	at := control.Now()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return Listing{}, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Listing{At: at, Nodes: []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}, {Name: "n3", Cores: 4, Down: true}}}
	if b.down != nil {
		return l, b.down // an empty list with an error
	}
	for _, j := range b.jobs {
		if !b.forgetful || j.State != Done {
			l.Jobs = append(l.Jobs, *j)
		}
	}
	l.Reservations, l.Silent, l.Shapes, l.Looks = slices.Clone(b.reservations), b.silent, b.shapes, b.looks
	l.Caps, l.Ranked = slices.Clone(b.caps), b.ranked
	return l, nil
}

func (b *batch) Look(_ context.Context, ids ...grid.LocalID) (list []Job, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if slices.Contains(ids, j.Local) && (!b.forgetful || j.State != Done) {
			list = append(list, *j)
		}
	}
	if b.lookless {
		return nil, errDown
	}
	return list, b.down
}

func (b *batch) Submit(ctx context.Context, o Order) (grid.LocalID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.witness != nil {
		b.witness(o)
	}
	if b.down != nil {
		return "", b.down
	}
	if b.refuse {
		return "", grid.ErrInvalid
	}
	b.orders = append(b.orders, o)
	if b.stalled {
		b.late = append(b.late, o)
		return "", grid.ErrUnavailable
	}
	id := b.take(o)
	if b.deaf {
		return "", grid.ErrUnavailable
	}
	return id, nil
}

func (b *batch) take(o Order) grid.LocalID {
	b.next++
	id := grid.LocalID(fmt.Sprint(b.next))
	user := "me"
	if o.As != "" {
		user = o.As
	}
	j := &Job{Local: id, Name: o.Tag, Mark: o.Mark, User: user, State: Queued, Demand: o.Demand, Limit: o.Limit, Submitted: control.Now(), NeverStarted: true, Reservation: o.Reservation}
	if o.Held {
		j.State, j.OurHold = Held, true
	}
	b.jobs = append(b.jobs, j)
	return id
}

func (b *batch) Hold(_ context.Context, _ string, id grid.LocalID) error {
	return b.change(id, func(j *Job) {
		j.OurHold = true
		if b.quick {
			j.State = Running
		} else if j.State == Queued {
			j.State = Held
		}
	})
}

func (b *batch) Release(_ context.Context, _ string, id grid.LocalID) error {
	if b.clings != nil {
		return b.clings
	}
	return b.change(id, func(j *Job) {
		j.OurHold = false
		if j.State == Held {
			j.State = Queued
		}
	})
}

func (b *batch) Remove(_ context.Context, as string, id grid.LocalID) error {
	b.mu.Lock()
	if b.down == nil {
		b.removals = append(b.removals, id)
	}
	stubborn, dead := b.stubborn, b.dead
	b.mu.Unlock()
	if dead {
		return fmt.Errorf("%w: qdel ended with 224", grid.ErrUnavailable)
	}
	return b.change(id, func(j *Job) {
		if as != j.User && (as != "" || j.User != "me") {
			panic("removed as " + as)
		}
		if !stubborn {
			j.State, j.Finished, j.End = Done, control.Now(), &End{Cause: grid.ByRequest, Signal: 15, ExitCode: 143, Detail: "cancelled"}
		}
	})
}

func (b *batch) change(id grid.LocalID, how func(*Job)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return b.down
	}
	for _, j := range b.jobs {
		if j.Local == id {
			how(j)
		}
	}
	return nil
}

// set changes how the system behaves.
func (b *batch) set(how func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	how()
}

func (b *batch) Reservations(context.Context) ([]Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.reservations), b.down
}

func (b *batch) MakeReservation(_ context.Context, k Reservation) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return "", b.down
	}
	b.next++
	k.Native = fmt.Sprint("R", b.next)
	if b.misreserve != nil {
		b.misreserve(&k)
	}
	b.reservations = append(b.reservations, k)
	if b.deaf {
		return "", grid.ErrUnavailable
	}
	return k.Native, nil
}

func (b *batch) ChangeReservation(_ context.Context, k Reservation) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		defer func() { err = grid.ErrUnavailable }()
	}
	for i := range b.reservations {
		if b.reservations[i].Native == k.Native {
			b.reservations[i] = k
			if b.misreserve != nil {
				b.misreserve(&b.reservations[i])
			}
		}
	}
	return b.down
}

func (b *batch) EndReservation(_ context.Context, native string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return b.down
	}
	b.reservations = slices.DeleteFunc(b.reservations, func(k Reservation) bool { return k.Native == native })
	return nil
}

// The state as it is now.

func (b *batch) polled() int { b.mu.Lock(); defer b.mu.Unlock(); return b.listings }

func (b *batch) gone() []grid.LocalID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.removals)
}

func (b *batch) held() []Reservation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.reservations)
}

func (b *batch) handed() []Order { b.mu.Lock(); defer b.mu.Unlock(); return slices.Clone(b.orders) }

// live are the jobs that wait or run.
func (b *batch) live() (list []Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.State != Done {
			list = append(list, *j)
		}
	}
	return list
}

// bench is a System over such a batch system, in a bubble of virtual time.
type bench struct {
	*testing.T
	*System
	far     *batch
	config  Config
	stop    func()
	changes chan grid.AttemptID
}

// inBubble runs a test with virtual time.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, far: &batch{}, changes: make(chan grid.AttemptID, 1000)}
		b.config = Config{
			Client: b.far, Owner: "suite", Own: "me", Spool: filepath.Join(dir, "spool"),
			Site:    grid.Site{Name: "here", Speed: 1},
			Changed: func(at grid.AttemptID) { b.changes <- at },
		}
		b.start()
		defer func() { b.stop() }()
		test(b)
	})
}

func (b *bench) start() {
	b.Helper()
	s, err := New(b.config)
	if err != nil {
		b.Fatal(err)
	}
	b.System = s
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
		b.stop = func() {}
	}
}

func (b *bench) restart() {
	b.stop()
	b.start()
}

var ulids int
var ulidsLock sync.Mutex

func (b *bench) job() grid.Submission {
	b.Helper()
	ulidsLock.Lock()
	ulids++
	id := grid.NewJobID("here", fmt.Sprintf("01%024d", ulids))
	ulidsLock.Unlock()
	dir := b.TempDir()
	j := grid.Submission{
		ID: grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 1}, Work: dir, Control: b.TempDir(), Limit: grid.Hour,
	}
	j.Job = grid.Job{ID: id, Program: grid.Program{Executable: "/bin/true"}, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
	return j
}

func (b *bench) submit(j grid.Submission) grid.LocalID {
	b.Helper()
	id, err := b.Submit(b.Context(), j)
	if err != nil || id == "" {
		b.Fatalf("Submit: %q, %v", id, err)
	}
	return id
}

// begins lets a waiting job start: its wrapper takes the token.
func (b *bench) begins(j grid.Submission, id grid.LocalID) (started bool) {
	b.Helper()
	if said, err := control.Submitted(j.Control, j.ID); err != nil || !said {
		return false
	}
	taken, _, err := control.Take(j.Control, j.ID, control.Supervisor, control.Process{PID: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.far.change(id, func(k *Job) {
		k.State, k.Started, k.NeverStarted = Running, control.Now(), false
		k.Places = []Place{{Node: "n1", Processes: 1, Cores: 1}}
	})
	return taken
}

// discard throws the control directory away, and makes it again.
func (b *bench) discard(j grid.Submission) {
	b.Helper()
	if err := errors.Join(os.RemoveAll(j.Control), os.Mkdir(j.Control, 0o700)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) progress(j grid.Submission) grid.Progress {
	b.Helper()
	p, err := b.Progress(b.Context(), j.ID, j.Control)
	if err != nil {
		b.Fatalf("Progress: %v", err)
	}
	return p
}

// later lets virtual time pass.
func (b *bench) later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) removed(id grid.LocalID) bool { return slices.Contains(b.far.gone(), id) }

var errDown = errors.Join(grid.ErrUnavailable, errors.New("the controller does not answer"))
