// Package pbstest is the behavioural suite of batch systems: what every
// implementation of pbs.System must do, shown with real processes. It needs a
// POSIX shell.
package pbstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// Setup is what a test wants of a system.
type Setup struct {
	Site    grid.Site
	Nodes   []plan.Node
	Spool   string // the same folder again is a restart
	Grace   time.Duration
	Changed func(grid.AttemptID)
}

// Open makes a system; it is not yet running.
type Open func(t testing.TB, s Setup) pbs.System

// patience bounds every wait of the suite.
const patience = 30 * time.Second

// site is a system under test with what its tests need around it.
type site struct {
	testing.TB
	pbs.System
	open  Open
	setup Setup
	dir   string
	stop  func()

	mu      sync.Mutex
	changed chan struct{} // closed at each change
	jobs    []grid.Submission
}

var ulids atomic.Uint64

func newSite(t testing.TB, open Open, nodes ...plan.Node) *site {
	if len(nodes) == 0 {
		nodes = []plan.Node{{Name: "n1", Cores: 8}}
	}
	s := &site{TB: t, open: open, dir: t.TempDir(), changed: make(chan struct{})}
	s.setup = Setup{
		Site:  grid.Site{Name: "here", Speed: 1, Architecture: "x86_64", System: "LINUX"},
		Nodes: nodes, Spool: filepath.Join(s.dir, "spool"), Grace: 300 * time.Millisecond, Changed: s.note,
	}
	for _, n := range nodes {
		s.setup.Site.Processes += n.Cores
	}
	s.start()
	t.Cleanup(s.clean)
	return s
}

func (s *site) note(grid.AttemptID) {
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

func (s *site) start() {
	s.System = s.open(s, s.setup)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func(system pbs.System) { done <- system.Run(ctx) }(s.System)
	s.stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				s.Errorf("Run ended with %v", err)
			}
		case <-time.After(patience):
			s.Fatal("Run does not return after its context is done")
		}
		s.stop = func() {}
	}
}

func (s *site) restart() {
	s.stop()
	s.start()
}

// clean leaves no process behind.
func (s *site) clean() {
	for _, j := range s.jobs {
		s.Kill(context.Background(), j.ID, j.Control)
		if p, err := s.Progress(context.Background(), j.ID, j.Control); err == nil && p.Phase == grid.Started {
			s.await(j, grid.Ended)
		}
	}
	s.stop()
}

// job is a submission of a program with a sandbox and a control directory of its own.
func (s *site) job(p grid.Program) grid.Submission {
	s.Helper()
	id := grid.NewJobID("here", fmt.Sprintf("01%024d", ulids.Add(1)))
	j := grid.Submission{
		ID:   grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 1},
		Work: filepath.Join(s.dir, string(id), "work"), Control: filepath.Join(s.dir, string(id), "ctl"),
		Limit: grid.Hour, Expected: grid.Hour,
	}
	j.Job = grid.Job{ID: id, Program: p, Walltime: grid.Hour, Demand: cores(1)}
	for _, d := range []string{j.Work, j.Control} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			s.Fatal(err)
		}
	}
	return j
}

func (s *site) shell(script string) grid.Submission {
	s.Helper()
	return s.job(grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}})
}

func cores(n int) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}
}

func (s *site) submit(j grid.Submission) grid.Submission {
	s.Helper()
	s.jobs = append(s.jobs, j)
	local, err := s.Submit(context.Background(), j)
	if err != nil || local == "" {
		s.Fatalf("Submit: %q, %v", local, err)
	}
	return j
}

func (s *site) progress(j grid.Submission) grid.Progress {
	s.Helper()
	p, err := s.Progress(context.Background(), j.ID, j.Control)
	if err != nil {
		s.Fatalf("Progress: %v", err)
	}
	return p
}

// await waits for a phase, or a later one, looking only when the system says that something changed.
func (s *site) await(j grid.Submission, phase grid.Phase) grid.Progress {
	s.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		p := s.progress(j)
		if p.Phase >= phase {
			return p
		}
		select {
		case <-changed:
		case <-deadline:
			s.Fatalf("%s is %s and does not become %s", j.ID, p.Phase, phase)
		}
	}
}

// end waits for the end.
func (s *site) end(j grid.Submission) grid.Progress {
	s.Helper()
	return s.await(j, grid.Ended)
}

// until waits for a condition that no event tells.
func (s *site) until(what string, is func() bool) {
	s.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			s.Fatalf("it never comes that %s", what)
		}
	}
}

func (s *site) write(j grid.Submission, name, content string, mode os.FileMode) {
	s.Helper()
	name = filepath.Join(j.Work, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), mode)); err != nil {
		s.Fatal(err)
	}
}

func (s *site) read(j grid.Submission, name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(j.Work, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

func exists(j grid.Submission, name string) bool {
	_, err := os.Lstat(filepath.Join(j.Work, name))
	return err == nil
}

// awaitFile waits for a file that the program makes.
func (s *site) awaitFile(j grid.Submission, name string) {
	s.Helper()
	s.until("the program writes "+name, func() bool { return exists(j, name) })
}

// processes names the processes whose numbers the program wrote, while they live.
func (s *site) processes(j grid.Submission, name string) (all []control.Process) {
	s.Helper()
	for _, f := range strings.Fields(s.read(j, name)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			s.Fatal(err)
		}
		p, err := control.Describe(pid)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// allDead checks that processes are no more.
func (s *site) allDead(all []control.Process) {
	s.Helper()
	for _, p := range all {
		if alive, err := p.Alive(); alive || err != nil {
			s.Errorf("process %d of the job still lives (%v)", p.PID, err)
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}
