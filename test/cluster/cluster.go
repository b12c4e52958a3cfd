// Package cluster runs real sites on this machine's loopback for tests, the demo
// and measurements: the built programs, in folders of their own, on ports that are
// chosen at run time. Nothing here knows the inside of a broker: it works by the
// same commands as people do.
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Programs are the built programs.
type Programs struct{ Gbroker, Gclient, Gsim string }

// Build builds the programs of the module at root into dir.
func Build(ctx context.Context, root, dir string) (Programs, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return In(dir), nil
}

// In names the programs of a folder.
func In(dir string) Programs {
	return Programs{
		Gbroker: filepath.Join(dir, "gbroker"), Gclient: filepath.Join(dir, "gclient"), Gsim: filepath.Join(dir, "gsim"),
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
}

// Init makes a site by `gbroker init` in a folder of dir.
func Init(ctx context.Context, p Programs, dir, name string, o Options) (*Site, error) {
	s := &Site{Name: name, Dir: filepath.Join(dir, name), programs: p, Log: filepath.Join(dir, name+".log")}
	args := []string{"init", "--batch", cmp.Or(o.Batch, "embedded"), "--dir", s.Dir, "--site", name, "--listen", cmp.Or(o.Listen, "/ip4/127.0.0.1/tcp/0")}
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
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting the daemon of %s: %w", s.Name, err)
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

// process is one of those that run on this machine.
type process struct {
	pid  int
	line []byte // its command line, words ended by zeros
}

func (p process) supervisor() bool { return bytes.Contains(p.line, []byte("supervise")) }

// processesIn finds the processes that work in dir or name a file of it on their
// command line: those of its sites' daemons, their supervisors and programs.
func processesIn(dir string) []process {
	var list []process
	for _, pid := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(line) == 0 || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if bytes.Contains(line, []byte(dir+"/")) || strings.HasPrefix(cwd, dir+"/") {
			list = append(list, process{pid, line})
		}
	}
	return list
}

func processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Leftovers lists the processes that belong to dir; see processesIn.
func Leftovers(dir string) []string {
	var list []string
	for _, p := range processesIn(dir) {
		list = append(list, fmt.Sprintf("%d %s", p.pid, bytes.ReplaceAll(p.line, []byte{0}, []byte{' '})))
	}
	return list
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

// run runs a program; a code of -1 means that it could not be started or was killed.
func run(ctx context.Context, dir string, env []string, name string, args ...string) Result {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		code = -1
		errs.WriteString(err.Error())
	}
	return Result{out.String(), errs.String(), code}
}

// Know makes other a member of s, by the two commands an administrator uses.
// Options are flags of `gbroker neighbour add`.
func (s *Site) Know(ctx context.Context, other *Site, options ...string) error {
	id := other.Admin(ctx, "id", "--config", other.Config())
	if id.Code != 0 {
		return fmt.Errorf("gbroker id at %s: %s", other.Name, id.Stderr)
	}
	args := append([]string{"neighbour", "add", "--config", s.Config()}, options...)
	add := s.Admin(ctx, append(args, strings.TrimSpace(id.Stdout))...)
	if add.Code != 0 {
		return fmt.Errorf("gbroker neighbour add at %s: %s", s.Name, add.Stderr)
	}
	return nil
}

// ErrTimeout is what Until gives when its condition does not come true.
var ErrTimeout = errors.New("it did not come true in time")

// Until polls ok until it holds.
func Until(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%s)", ErrTimeout, limit)
		case <-tick.C:
		}
	}
	return nil
}

// Status is what is read of `gclient status --json`.
type Status struct {
	State     string  `json:"state"`
	Owner     string  `json:"owner"`
	Reason    string  `json:"reason"`
	Exit      *int    `json:"exit_code"`
	Predicted *string `json:"start_estimate_at_submit"`
	Started   *string `json:"started"`
	Processes int     `json:"processes"`
}

// Status asks for the status of a job.
func (s *Site) Status(ctx context.Context, id string) (Status, error) {
	var st Status
	r := s.Client(ctx, "status", id, "--json")
	if r.Code != 0 {
		return st, fmt.Errorf("gclient status %s: exit code %d: %s", id, r.Code, r.Stderr)
	}
	return st, json.Unmarshal([]byte(r.Stdout), &st)
}

// SiteView is a line of `gclient sites --json`.
type SiteView struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	RTT       *float64 `json:"rtt_s"`
	Processes int      `json:"processes"`
	Bandwidth []struct {
		Size     int64    `json:"size_bytes"`
		Rate     *float64 `json:"bytes_per_s"`
		Measured bool     `json:"measured"`
	} `json:"bandwidth"`
}

// Sites is what the site says of its neighbourhood.
func (s *Site) Sites(ctx context.Context) ([]SiteView, error) {
	var list []SiteView
	r := s.Client(ctx, "sites", "--json")
	if r.Code != 0 {
		return nil, fmt.Errorf("gclient sites: %s", r.Stderr)
	}
	return list, json.Unmarshal([]byte(r.Stdout), &list)
}

// Sees waits until the site sees all the named others alive.
func (s *Site) Sees(ctx context.Context, limit time.Duration, names ...string) error {
	return s.sites(ctx, limit, "alive", names, func(v SiteView) bool { return v.State == "alive" })
}

// Measured waits until the bandwidth to all the named others is measured for a size.
func (s *Site) Measured(ctx context.Context, limit time.Duration, size int64, names ...string) error {
	return s.sites(ctx, limit, "measured", names, func(v SiteView) bool {
		for _, b := range v.Bandwidth {
			if b.Size >= size {
				return b.Measured
			}
		}
		return false
	})
}

func (s *Site) sites(ctx context.Context, limit time.Duration, what string, names []string, ok func(SiteView) bool) error {
	var last []SiteView
	err := Until(ctx, limit, func() bool {
		last, _ = s.Sites(ctx)
		n := 0
		for _, v := range last {
			for _, name := range names {
				if v.Name == name && ok(v) {
					n++
				}
			}
		}
		return n == len(names)
	})
	if err != nil {
		return fmt.Errorf("%s: not all of %v are %s: %w: %+v", s.Name, names, what, err, last)
	}
	return nil
}

// Mesh makes every site a member of every other.
func Mesh(ctx context.Context, sites ...*Site) error {
	for _, a := range sites {
		for _, b := range sites {
			if a != b {
				if err := a.Know(ctx, b); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Exists reports that a file is there.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
