// Package cluster runs real sites on this machine's loopback for tests, the demo
// and measurements: the built programs, in folders of their own, on ports that are
// chosen at run time. Nothing here knows the inside of a broker: it works by the
// same commands as people do, and asks what gclient asks (see [Site.View]).
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Programs are the built programs.
type Programs struct{ Gbroker, Gclient, Gsim, Agent string }

// built names a folder in which the programs are already; make test says it, so that each package need not link them.
const built = "GBROKER_PROGRAMS"

// Build builds the programs of the module at root into dir, unless somebody has built them.
func Build(ctx context.Context, root, dir string) (Programs, error) {
	if there := os.Getenv(built); there != "" {
		return In(there), touch(there)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return In(dir), nil
}

// touch opens the programs: a result of go test is not taken for that of other programs than these.
func touch(dir string) error {
	p := In(dir)
	for _, name := range []string{p.Gbroker, p.Gclient, p.Gsim, p.Agent} {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%s names a folder without the programs: %w", built, err)
		}
		f.Close()
	}
	return nil
}

// In names the programs of a folder.
func In(dir string) Programs {
	return Programs{
		Gbroker: filepath.Join(dir, "gbroker"), Gclient: filepath.Join(dir, "gclient"), Gsim: filepath.Join(dir, "gsim"),
		Agent: filepath.Join(dir, "gbroker-agent"),
	}
}

// Site is one site: its folder, and its daemon while it runs.
type Site struct {
	Name     string
	Dir      string
	programs Programs
	cmd      *exec.Cmd
	done     chan struct{} // closed when the daemon has ended
	Log      string        // file of its stderr, of all its lives
	Env      []string      // added to the environment of the daemon
	Detached bool          // the daemon outlives this process
	OwnClock bool          // its wall clock can be set by SetClock
	Ahead    time.Duration // of such a clock at the start

	clockCell int64 // where its daemon has what its clock is ahead, once it runs
}

// Options of a new site; zero values take what `gbroker init` takes.
type Options struct {
	Nodes, Cores int
	Speed        float64
	Listen       string // the multiaddress for other brokers; "" takes any port of loopback
	More         string // appended to gbroker.yaml
	// Batch is the batch system that init is to find, with Env added to its environment;
	// "" is the embedded one.
	Batch string
	Env   []string
	// Agents is where those of a pool of desktops call; Batch is "pool" then.
	Agents string
}

// Init makes a site by `gbroker init` in a folder of dir.
func Init(ctx context.Context, p Programs, dir, name string, o Options) (*Site, error) {
	s := &Site{Name: name, Dir: filepath.Join(dir, name), programs: p, Log: filepath.Join(dir, name+".log")}
	args := []string{"init", "--batch", cmp.Or(o.Batch, "embedded"), "--dir", s.Dir, "--site", name, "--listen", cmp.Or(o.Listen, "/ip4/127.0.0.1/tcp/0")}
	if o.Agents != "" {
		args = append(args, "--agents", o.Agents)
	}
	if o.Nodes > 0 {
		args = append(args, "--nodes", fmt.Sprint(o.Nodes))
	}
	if o.Cores > 0 {
		args = append(args, "--cores", fmt.Sprint(o.Cores))
	}
	if o.Speed > 0 {
		args = append(args, "--speed", fmt.Sprint(o.Speed))
	}
	if r := run(ctx, "", o.Env, p.Gbroker, args...); r.Code != 0 {
		return nil, fmt.Errorf("gbroker %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	if o.More != "" {
		f, err := os.OpenFile(s.Config(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if _, err := f.WriteString(o.More); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Config is the path of the site's gbroker.yaml.
func (s *Site) Config() string { return filepath.Join(s.Dir, "gbroker.yaml") }

// Address is what gclient takes as --broker.
func (s *Site) Address() string { return "unix://" + filepath.Join(s.Dir, "gbroker.sock") }

// Ready is the ready file of a running daemon.
type Ready struct {
	PID       int      `json:"pid"`
	Peer      string   `json:"peer"`
	Addresses []string `json:"addresses"`
	Socket    string   `json:"socket"`
	API       string   `json:"api"`
}

// Start starts the daemon and waits until it serves.
func (s *Site) Start(ctx context.Context) error {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.programs.Gbroker, "run", "--config", s.Config())
	s.cmd.Stderr, s.cmd.Stdout = log, log
	s.cmd.Env = append(os.Environ(), s.Env...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !s.Detached {
		s.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if s.OwnClock {
		runtime.LockOSThread() // one thread traces it
		defer runtime.UnlockOSThread()
		s.cmd.SysProcAttr.Ptrace = true
	}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting the daemon of %s: %w", s.Name, err)
	}
	if s.OwnClock {
		if s.clockCell, err = giveClock(s.cmd.Process.Pid, s.Ahead); err != nil {
			return errors.Join(fmt.Errorf("giving %s a clock of its own: %w", s.Name, err), s.cmd.Process.Kill(), s.cmd.Wait())
		}
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	return s.awaitReady(ctx)
}

// awaitReady polls for the ready file of this very process.
func (s *Site) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := s.Ready(); err == nil && r.PID == s.cmd.Process.Pid {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.done:
			log, _ := os.ReadFile(s.Log)
			return fmt.Errorf("the daemon of %s ended before it served; its log:\n%s", s.Name, tail(log, 4000))
		case <-ctx.Done():
			log, _ := os.ReadFile(s.Log)
			return fmt.Errorf("the daemon of %s does not serve: %w; its log:\n%s", s.Name, ctx.Err(), tail(log, 4000))
		}
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// Ready reads the ready file.
func (s *Site) Ready() (Ready, error) {
	var r Ready
	b, err := os.ReadFile(filepath.Join(s.Dir, "ready"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// PID of the daemon, 0 if it was never started, or killed.
func (s *Site) PID() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Running reports that the daemon was started and has not ended.
func (s *Site) Running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the daemon.
func (s *Site) Signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Kill ends the daemon as a power cut would: kill -9. Its jobs go on.
func (s *Site) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.done
		s.cmd = nil // it is no fault, then, that it did not end by itself
	}
}

// Stop ends the daemon as an operator would, and says what it had to be told twice.
func (s *Site) Stop() error {
	if s.cmd == nil {
		return nil
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("the daemon of %s ended with %d", s.Name, code)
		}
		return nil
	case <-time.After(30 * time.Second):
		s.cmd.Process.Signal(syscall.SIGQUIT) // what it waits for comes into its log
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
		}
		s.Kill()
		return fmt.Errorf("the daemon of %s did not stop within 30 s", s.Name)
	}
}

// EndJobs kills what the site's jobs have left running: after a test whose daemons
// are gone. The supervisors go first, so that none of them notes an end.
func (s *Site) EndJobs() int {
	ended := 0
	for _, mine := range []func(process) bool{process.supervisor, func(process) bool { return true }} {
		for _, p := range processesIn(s.Dir) {
			if mine(p) {
				syscall.Kill(-p.pid, syscall.SIGKILL)
				syscall.Kill(p.pid, syscall.SIGKILL)
				ended++
			}
		}
	}
	return ended
}

// Result is what a command said.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Client runs gclient against this site.
func (s *Site) Client(ctx context.Context, args ...string) Result {
	return run(ctx, "", []string{"GBROKER=" + s.Address()}, s.programs.Gclient, args...)
}

// Command is gclient against this site, to be started by the caller.
func (s *Site) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.programs.Gclient, args...)
	cmd.Env = append(os.Environ(), "GBROKER="+s.Address())
	return cmd
}

// Admin runs gbroker.
func (s *Site) Admin(ctx context.Context, args ...string) Result {
	return run(ctx, "", nil, s.programs.Gbroker, args...)
}

// longest is what a program may take whose caller has no limit: a test that hangs fails, and the others go on.
const longest = 5 * time.Minute

// run runs a program; a code of -1 means that it could not be started or was killed.
func run(ctx context.Context, dir string, env []string, name string, args ...string) Result {
	var out, errs bytes.Buffer
	if _, limited := ctx.Deadline(); !limited {
		limit, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it did not end in %v", longest))
		defer cancel()
		ctx = limit
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
		if ctx.Err() != nil {
			fmt.Fprintf(&errs, "killed: %v", context.Cause(ctx))
		}
	case err != nil:
		code = -1
		errs.WriteString(err.Error())
	}
	return Result{out.String(), errs.String(), code}
}

// Know makes other a member of s, by the two commands an administrator uses.
// Options are flags of `gbroker neighbour add`.
func (s *Site) Know(ctx context.Context, other *Site, options ...string) error {
	id, err := other.id(ctx)
	if err != nil {
		return err
	}
	return s.add(ctx, id, options)
}

// id is the line by which others add this site.
func (s *Site) id(ctx context.Context) (string, error) {
	id := s.Admin(ctx, "id", "--config", s.Config())
	if id.Code != 0 {
		return "", fmt.Errorf("gbroker id at %s: %s", s.Name, id.Stderr)
	}
	return strings.TrimSpace(id.Stdout), nil
}

func (s *Site) add(ctx context.Context, line string, options []string) error {
	args := append([]string{"neighbour", "add", "--config", s.Config()}, options...)
	if r := s.Admin(ctx, append(args, line)...); r.Code != 0 {
		return fmt.Errorf("gbroker neighbour add at %s: %s", s.Name, r.Stderr)
	}
	return nil
}
