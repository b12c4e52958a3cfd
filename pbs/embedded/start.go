package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// maxFailures bounds how often a supervisor is started that ends before it takes
// the token; the pauses between grow from firstPause.
const (
	maxFailures = 4
	firstPause  = 200 * time.Millisecond
)

// While the disk has less than fullDisk bytes left nothing can be started, through
// no fault of any job: such trials do not count, and are fullPause apart.
const (
	fullDisk  = 64 << 10
	fullPause = time.Second
)

// pass starts the jobs whose turn it is, and gives how long it is until the next
// reservation begins or ends; 0 where there is none.
func (s *System) pass(ctx context.Context) (next grid.Tick) {
	chosen, next := s.choose()
	for _, e := range chosen {
		child, err := s.launch(e)
		if errors.Is(err, errLost) {
			s.log.Error("a waiting job is gone from the spool; the broker will submit it again", zap.Stringer("attempt", e.spec.ID), zap.Error(err))
			s.drop(e.spec.ID)
			s.config.Changed(e.spec.ID)
			continue
		}
		if err != nil {
			s.log.Error("a job's supervisor cannot be started", zap.Stringer("attempt", e.spec.ID), zap.Error(err))
			s.again(e, err)
			continue
		}
		s.watch(ctx, e, child)
	}
	return next
}

// lookAtRoom is after how long a full disk is looked at again.
const lookAtRoom = grid.Second

// choose takes out of the queue what starts now.
func (s *System) choose() (chosen []*entry, next grid.Tick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.expire(); at > 0 {
		next = max(at-control.Now(), 1)
	}
	if len(s.queue) == 0 {
		return nil, next
	}
	if s.config.Full != nil && s.config.Full() {
		if next == 0 || next > lookAtRoom {
			next = lookAtRoom
		}
		return nil, next
	}
	now := time.Now()
	ready := slices.DeleteFunc(slices.Clone(s.queue), func(e *entry) bool { return e.pause.After(now) })
	placements := plan.Pass(s.snapshot(ready))
	if len(placements) == 0 {
		return nil, next
	}
	held := s.heldGPUs()
	for _, p := range placements {
		e := ready[p.Index]
		numbers, enough := s.gpusFor(p.Shares, held)
		if !enough {
			continue
		}
		e.waiting, e.started, e.spec.GPUs = false, grid.InstantOf(now), numbers
		s.place(e, p.Shares)
		chosen = append(chosen, e)
	}
	starts := 0
	for _, e := range slices.Backward(ready) {
		if e.waiting && s.barred(e) {
			continue // it gave way to nobody
		}
		if e.waiting {
			e.overtaken += starts
		} else {
			starts++
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(e *entry) bool { return !e.waiting })
	s.busy = append(s.busy, chosen...)
	return chosen, next
}

// child is a supervisor started by this process.
type child struct {
	pid    int
	pidfd  int // -1 where the kernel gives none
	status *os.File
}

// launch starts the supervisor of e in a session of its own.
func (s *System) launch(e *entry) (c *child, err error) {
	group, err := s.groups.forJob(e.spec.ID.Tag(), e.shares)
	if err != nil {
		return nil, fmt.Errorf("making a control group: %w", err)
	}
	if err := s.respool(e, group); err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	c = &child{pidfd: -1, status: r}
	argv := append(slices.Clone(s.config.Supervisor), s.jobs.File(e.spec.ID))
	c.pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir:   filepath.Dir(s.jobs.Path),
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=" + strconv.Itoa(32<<20), supervise.StatusVariable + "=1"},
		Files: []uintptr{null.Fd(), null.Fd(), s.errors.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &c.pidfd},
	})
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	return c, nil
}

// respool writes the specification with its place, unless the job was withdrawn meanwhile.
func (s *System) respool(e *entry, group string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.spec.Group = group
	if s.known[e.spec.ID] != e {
		if group != "" {
			return cgroup.Clear(group)
		}
		return nil // the supervisor will find no file, and nothing is lost by that
	}
	return s.spool(e)
}

// again puts a job back into the queue whose supervisor did not get as far as the
// token; after a few times it is given up, but not for a full disk.
func (s *System) again(e *entry, why error) {
	s.mu.Lock()
	if s.known[e.spec.ID] != e {
		s.mu.Unlock()
		return
	}
	pause := fullPause
	if !s.diskFull() {
		pause = firstPause << (2 * e.failures)
		e.failures++
	}
	if e.failures < maxFailures {
		e.pause = time.Now().Add(pause)
		s.busy = slices.DeleteFunc(s.busy, func(o *entry) bool { return o == e })
		s.enqueue(e)
		s.mu.Unlock()
		time.AfterFunc(pause, s.kick)
		s.kick()
		return
	}
	s.mu.Unlock()
	s.giveUp(e, why)
}

// diskFull tells of the disk of the spool, on which the control directories are too.
func (s *System) diskFull() bool {
	var st unix.Statfs_t
	return unix.Statfs(s.jobs.Path, &st) == nil && int64(st.Bavail)*st.Bsize < fullDisk
}

// giveUp ends an attempt that cannot be started.
func (s *System) giveUp(e *entry, why error) {
	at, dir := e.spec.ID, e.spec.Control
	taken, _, err := control.Take(dir, at, control.Supervisor, control.Process{}) // no process stands behind it
	if taken && err == nil {
		err = control.WriteEnd(dir, at, control.End{
			At: control.Now(), Cause: grid.NeverRan, Detail: fmt.Sprintf("its supervisor could not start it: %v", why),
		})
	}
	if err != nil {
		s.log.Error("a job that cannot be started is dropped; the broker will find it unknown",
			zap.Stringer("attempt", at), zap.Error(err))
	}
	s.drop(at)
	s.config.Changed(at)
}
