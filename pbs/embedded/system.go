package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/spool"
	"gbroker/plan"

	"go.uber.org/zap"
)

// System is the embedded batch system.
type System struct {
	config Config
	base   []string // environment of all programs
	jobs   spool.Folder
	groups groups
	gpus   map[gpuKind]gpuRange
	log    *zap.Logger
	errors *os.File // what supervisors say

	wake    chan struct{} // something changed: run a pass
	watches sync.WaitGroup

	mu       sync.Mutex
	known    map[grid.AttemptID]*entry
	byID     map[string]pbs.Reservation
	queue    []*entry // waiting, in order
	busy     []*entry // launching or running, in the order of their start
	sequence uint64
}

var _ pbs.System = (*System)(nil)

// entry is a job that waits or runs.
type entry struct {
	spec    *supervise.Spec // once it is spooled, without what its program is given (spool.go)
	spooled bool
	waiting bool
	// overtaken is how many that stood behind it were started while it waited.
	overtaken int
	started   grid.Tick
	began     grid.Tick // when its program was seen to have been started; 0 is not
	shares    []plan.Share
	failures  int       // starts that did not get as far as the token
	pause     time.Time // not started before
}

// limit is how long it may have its place: that of its program, and of a part of a co-allocated
// job the time at the barrier besides.
func (e *entry) limit() grid.Tick { return e.spec.Limit + e.spec.Part.AtBarrier() }

// rank orders the queue: older first.
func (e *entry) rank(o *entry) int {
	return cmp.Or(
		cmp.Compare(e.spec.Arrived-e.spec.Age, o.spec.Arrived-o.spec.Age),
		cmp.Compare(e.spec.Sequence, o.spec.Sequence))
}

// New opens the system over its spool and takes up what is there. Nothing starts
// before Run.
func New(config Config) (*System, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &System{
		config: config, base: config.baseEnvironment(), jobs: spool.Folder{Path: filepath.Join(config.Spool, "jobs"), Suffix: spoolSuffix, Log: config.Logger},
		log: config.Logger, wake: make(chan struct{}, 1), known: make(map[grid.AttemptID]*entry),
		byID: make(map[string]pbs.Reservation), gpus: numberGPUs(config.Nodes),
	}
	if config.Confine {
		if s.groups = openGroups(cgroup.Controllers); s.groups.why != nil {
			s.log.Warn("jobs are not confined", zap.Error(s.groups.why))
		}
	}
	if err := os.MkdirAll(s.jobs.Path, 0o700); err != nil {
		return nil, fmt.Errorf("making the spool of the embedded batch system: %w", err)
	}
	return s, errors.Join(s.loadReservations(), s.load())
}

// openErrors opens the log of supervisors; an old one of more than 1 MiB becomes NAME.old.
func openErrors(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > 1<<20 {
		if err := os.Rename(name, name+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Run starts jobs and watches over them until ctx is done. It is called once.
func (s *System) Run(ctx context.Context) (err error) {
	if s.errors, err = openErrors(filepath.Join(s.config.Spool, "supervise.log")); err != nil {
		return fmt.Errorf("opening the log of the supervisors: %w", err)
	}
	defer s.errors.Close()
	s.mu.Lock()
	found := slices.Clone(s.busy)
	s.mu.Unlock()
	for _, e := range found {
		s.watch(ctx, e, nil)
	}
	s.kick()
	defer s.watches.Wait()
	alarm := time.NewTimer(0) // a reservation begins or ends
	defer alarm.Stop()
	for {
		select {
		case <-s.wake:
		case <-alarm.C:
		case <-ctx.Done():
			return nil
		}
		if next := s.pass(ctx); next > 0 {
			alarm.Reset(min(next.Duration(), longestNap))
		}
	}
}

// longestNap is after how long the clock is looked at again, which may have been set.
const longestNap = time.Minute

// kick asks for a pass; many become one.
func (s *System) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Snapshot is what the system holds now.
func (s *System) Snapshot(context.Context) (plan.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.snapshot(s.queue), nil
}

// Attempts lists what waits and runs, in that order.
func (s *System) Attempts(context.Context) ([]grid.AttemptID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]grid.AttemptID, 0, len(s.queue)+len(s.busy))
	for _, e := range slices.Concat(s.queue, s.busy) {
		ids = append(ids, e.spec.ID)
	}
	return ids, nil
}

func (s *System) snapshot(queue []*entry) plan.Snapshot {
	shot := plan.Snapshot{
		At: control.Now(), Site: s.config.Site, Policy: s.config.Policy, Nodes: s.config.Nodes, Queues: s.config.Queues,
		Running: make([]plan.Running, 0, len(s.busy)), Waiting: make([]plan.Waiting, 0, len(queue)),
	}
	for _, e := range s.busy {
		shot.Running = append(shot.Running, plan.Running{
			Job: e.spec.ID.Job, Shares: e.shares, Start: e.started, End: e.started + e.limit(),
		})
	}
	for _, e := range queue {
		shot.Waiting = append(shot.Waiting, plan.Waiting{
			Job: e.spec.ID.Job, Demand: e.spec.Demand, Queue: e.spec.Queue, Limit: e.limit(), Overtaken: e.overtaken,
			Ineligible: s.barred(e),
		})
	}
	shot.Reservations = s.kept()
	return shot
}

// enqueue puts a waiting job in its place; s.mu is held.
func (s *System) enqueue(e *entry) {
	e.waiting, e.shares, e.spec.Shares = true, nil, nil
	at, _ := slices.BinarySearchFunc(s.queue, e, (*entry).rank)
	s.queue = slices.Insert(s.queue, at, e)
}

// leave ends the reservation of a job that has ended in it; s.mu is held. One whose
// attempt was withdrawn may be tried again.
func (s *System) leave(e *entry) {
	if e.waiting || e.spec.Reservation == "" {
		return
	}
	if _, ended, err := control.ReadEnd(e.spec.Control, e.spec.ID); !ended || err != nil {
		return
	}
	if err := s.strike(e.spec.Reservation); err != nil {
		s.log.Warn("the reservation of a job that has ended stays until its end", zap.Stringer("attempt", e.spec.ID), zap.Error(err))
	}
}

// drop forgets an attempt whose control directory now says all.
func (s *System) drop(at grid.AttemptID) {
	group := ""
	s.mu.Lock()
	e := s.known[at]
	if e != nil {
		group = e.spec.Group
		delete(s.known, at)
		is := func(o *entry) bool { return o == e }
		s.queue = slices.DeleteFunc(s.queue, is)
		s.busy = slices.DeleteFunc(s.busy, is)
		s.jobs.Remove(at)
		s.leave(e)
	}
	s.mu.Unlock()
	if e == nil {
		return
	}
	if group != "" { // it is there yet where the attempt was withdrawn at its start
		if err := cgroup.Clear(group); err != nil {
			s.log.Warn("the control group of a job stays", zap.Stringer("attempt", at), zap.Error(err))
		}
	}
	s.kick()
}
