// Package pbstest is the behavioural suite of batch systems: what every
// implementation of pbs.System must do, shown with real processes. It needs a
// POSIX shell, and that the folder for temporary files is seen by the nodes.
//
// A batch system brings a Kind: what differs between batch systems, how a test gets one
// for itself, and the Hand that does there what operators, other users and accidents do.
package pbstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// site is a system under test with what its tests need around it.
type site struct {
	testing.TB
	pbs.System
	kind     Kind
	bench    Bench
	hand     Hand
	nodes    []plan.Node
	setup    Setup
	dir      string
	stop     func()
	patience time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed at each change
	jobs    []grid.Submission
}

const minute = grid.Minute

var ulids atomic.Uint64

// began makes jobs differ between test binaries that run at once on this machine, where
// processes of a job are found, and killed, by its attempt.
var began = time.Now().UnixNano()

// standard are the nodes of a supervised kind where a test asks for none.
var standard = []plan.Node{
	{Name: "n1", Cores: 2},
	{Name: "n2", Cores: 2, Properties: []string{"fast"}},
	{Name: "n3", Cores: 2, Resources: []grid.Resource{{Name: "gpu", Amount: 2}}},
}

// narrow is the same for a kind of which no job has several nodes.
var narrow = []plan.Node{{Name: "n1", Cores: 4, Properties: []string{"fast"}, Resources: []grid.Resource{{Name: "gpu", Amount: 2}}}}

// newSite opens a system of the kind and runs it; only supervised kinds heed nodes.
func newSite(t testing.TB, k Kind, nodes ...plan.Node) *site {
	switch {
	case k.Narrow && len(nodes) == 0:
		nodes = narrow
	case k.Supervised && len(nodes) == 0:
		nodes = standard
	}
	bench := k.Take(t, nodes)
	s := &site{
		TB: t, kind: k, bench: bench, hand: bench.Hand, nodes: bench.Nodes, dir: folder(t),
		changed: make(chan struct{}), patience: k.patience(),
	}
	s.setup = Setup{
		Site:  grid.Site{Name: "here", Speed: 1, Architecture: "x86_64", System: "LINUX"},
		Spool: filepath.Join(s.dir, "spool"), Owner: "suite", Grace: 300 * time.Millisecond, Changed: s.note,
	}
	for _, n := range s.nodes {
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
	s.System = s.bench.Open(s, s.setup)
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
		case <-time.After(s.patience):
			s.Fatal("Run does not return after its context is done")
		}
		s.stop = func() {}
	}
	if s.bench.Ready != nil {
		s.until("it takes jobs", s.bench.Ready)
	}
}

func (s *site) restart() {
	s.stop()
	s.start()
}

// clean leaves no process and no local job behind.
func (s *site) clean() {
	var gone []grid.AttemptID
	for _, j := range s.jobs {
		if s.Kill(context.Background(), j.ID, j.Control) == nil {
			gone = append(gone, j.ID)
		}
	}
	s.until("all jobs have ended", func() bool {
		left, err := s.Attempts(context.Background())
		return err == nil && !slices.ContainsFunc(left, func(at grid.AttemptID) bool { return slices.Contains(gone, at) })
	})
	s.stop()
}

// job is a submission of a program with a sandbox and a control directory of its own.
func (s *site) job(p grid.Program) grid.Submission {
	s.Helper()
	id := grid.NewJobID("here", fmt.Sprintf("%07d%019d", ulids.Add(1), began))
	j := grid.Submission{
		ID:   grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 1},
		Work: filepath.Join(s.dir, string(id), "work"), Control: filepath.Join(s.dir, string(id), "ctl"),
		Limit: grid.Hour, Expected: grid.Hour,
	}
	j.Job = grid.Job{ID: id, User: grid.User{Name: "anna"}, Program: p, Walltime: grid.Hour, Demand: cores(1)}
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

// cores asks for processes of one core each, wherever they lie.
func cores(n int) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}
}

// whole asks for all cores of n nodes.
func (s *site) whole(n int) grid.Demand {
	c := s.nodes[0].Cores
	return grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: c, Cores: c}}}
}

// wholly makes a job take all of the site.
func (s *site) wholly(j grid.Submission) grid.Submission {
	j.Job.Demand = s.whole(len(s.nodes))
	return j
}

// need skips the test where the kind or its hand lacks something.
func (s *site) need(has bool, what string) {
	s.Helper()
	if !has {
		s.Skipf("%s here: %s", s.kind.Name, what)
	}
}

// did fails the test where what is done by hand fails.
func (s *site) did(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// local is what the batch system calls the job.
func (s *site) local(j grid.Submission) grid.LocalID {
	s.Helper()
	return s.progress(j).Local
}

// fuzz is by how much an instant may be told too early or too late.
func (s *site) fuzz() grid.Tick {
	switch {
	case s.kind.Whole:
		return grid.Second
	case s.kind.Told:
		return grid.Second / 2
	}
	return 0
}

func (s *site) snapshot() plan.Snapshot {
	s.Helper()
	shot, err := s.Snapshot(context.Background())
	if err != nil {
		s.Fatalf("Snapshot: %v", err)
	}
	return shot
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
	deadline := time.After(s.patience)
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
	begun, deadline := time.Now(), time.After(s.patience)
	pause := 2 * time.Millisecond
	if !s.kind.Supervised {
		pause = 50 * time.Millisecond // each look may be a command
	}
	for !is() {
		select {
		case <-time.After(min(max(pause, time.Since(begun)/10), 150*time.Millisecond)): // what is long in coming is looked for more seldom
		case <-deadline:
			s.Fatalf("it never comes that %s", what)
		}
	}
}

func (s *site) write(j grid.Submission, name, content string, mode os.FileMode) {
	s.Helper()
	name = s.path(j, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), WriteFile(name, []byte(content), mode)); err != nil {
		s.Fatal(err)
	}
}

// WriteFile writes a file that may be executed next. A process that is forked meanwhile
// would have it open for writing, until its own exec, and to execute it would be refused (ETXTBSY).
func WriteFile(name string, content []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, content, mode)
}

func (s *site) read(j grid.Submission, name string) string {
	s.Helper()
	data, err := os.ReadFile(s.path(j, name))
	if errors.Is(err, os.ErrNotExist) { // it was brought back meanwhile
		data, err = os.ReadFile(filepath.Join(j.Work, name))
	}
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

// home is the folder in which its program runs.
func (s *site) home(j grid.Submission) string {
	if s.bench.Private != nil {
		return s.bench.Private(j.ID)
	}
	return j.Work
}

// path is where a file of a job lies now.
func (s *site) path(j grid.Submission, name string) string {
	if _, err := os.Stat(s.home(j)); err == nil {
		return filepath.Join(s.home(j), name)
	}
	return filepath.Join(j.Work, name)
}

func (s *site) exists(j grid.Submission, name string) bool {
	_, err := os.Lstat(s.path(j, name))
	if err != nil {
		_, err = os.Lstat(filepath.Join(j.Work, name))
	}
	return err == nil
}

// awaitFile waits for a file that the program makes.
func (s *site) awaitFile(j grid.Submission, name string) {
	s.Helper()
	s.until("the program writes "+name, func() bool { return s.exists(j, name) })
}

// count is how many lines a file of the sandbox has; 0 where it is not there.
func (s *site) count(j grid.Submission, name string) int {
	data, err := os.ReadFile(s.path(j, name))
	if err != nil { // it may have been brought back just now
		data, _ = os.ReadFile(filepath.Join(j.Work, name))
	}
	return strings.Count(string(data), "\n")
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
