package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// start makes a waiting job run.
func (s *System) start(j *Job, parts []Part, now time.Time) {
	s.take(parts)
	j.Parts, j.State = parts, Running
	j.Started, j.Modified, j.Finished = now, now, time.Time{}
	j.Starts++
	j.By = ""
	cmd, files, err := s.command(j)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		exit := 254 // a shell that cannot be started
		j.Comment = err.Error()
		s.over(j, Itself, &exit, now)
		return
	}
	j.Session = cmd.Process.Pid
	s.running.Add(1)
	go s.attend(j, cmd, j.stop)
}

// command is the job's shell with its streams, folder and environment.
func (s *System) command(j *Job) (*exec.Cmd, []*os.File, error) {
	script, nodes := s.path("script", j.ID), s.path("nodes", j.ID)
	for path, text := range map[string][]byte{script: j.Script, nodes: []byte(s.nodeFile(j))} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, nil, fmt.Errorf("writing what job %s starts with: %w", j.ID, err)
		}
	}
	out, err := os.OpenFile(s.path("out", j.ID), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the output of job %s: %w", j.ID, err)
	}
	files := []*os.File{out}
	bad := out
	if j.Join != "oe" && j.Join != "eo" {
		if bad, err = os.OpenFile(s.path("err", j.ID), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o666); err != nil {
			return nil, files, fmt.Errorf("opening the errors of job %s: %w", j.ID, err)
		}
		files = append(files, bad)
	}
	shell := "sh"
	if j.Shell != "" {
		shell = j.Shell
	}
	cmd := exec.Command(shell, script)
	cmd.Dir = first(j.Start, j.Home, "/")
	cmd.Stdout, cmd.Stderr = out, bad
	cmd.Env = s.environment(j, nodes)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.credential(j.User)}
	return cmd, files, nil
}

// credential is that of another account, where jobs run as accounts of this machine and this process may take it; else nil.
func (s *System) credential(name string) *syscall.Credential {
	if !s.Accounts || os.Geteuid() != 0 || name == "root" {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// nodeFile has a line for each process that may be started.
func (s *System) nodeFile(j *Job) string {
	var b strings.Builder
	for _, p := range j.Parts {
		for range p.Lines {
			b.WriteString(map[bool]string{true: "localhost", false: p.Node}[s.Loopback] + "\n")
		}
	}
	return b.String()
}

func (s *System) environment(j *Job, nodes string) []string {
	cores := 0
	for _, p := range j.Parts {
		cores += len(p.Cores)
	}
	env := append([]string{}, j.Environ...)
	env = append(env, j.Variables...)
	env = append(env,
		"PBS_JOBID="+j.ID, "PBS_JOBNAME="+j.Name, "PBS_NODEFILE="+nodes, "PBS_QUEUE="+j.Queue,
		"PBS_ENVIRONMENT=PBS_BATCH", "PBS_NODENUM=0", "PBS_TASKNUM=1", "PBS_JOBCOOKIE=00000000000000000000000000000000",
		"HOME="+j.Home, "USER="+j.User, "LOGNAME="+j.User, "SHELL=/bin/sh", "ENVIRONMENT=BATCH",
		"PATH="+first(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"))
	if s.Face == "torque" {
		return append(env, fmt.Sprintf("PBS_NUM_NODES=%d", len(Gather(j.Parts))), fmt.Sprintf("PBS_NP=%d", cores),
			"PBS_VNODENUM=0", "PBS_VERSION=TORQUE-6.1.3")
	}
	return append(env, fmt.Sprintf("NCPUS=%d", len(j.Parts[0].Cores)), fmt.Sprintf("OMP_NUM_THREADS=%d", len(j.Parts[0].Cores)),
		"PBS_JOBDIR="+j.Home, "TMPDIR="+os.TempDir())
}

// attend waits for a job's shell, and stops it by TERM, a time of grace, and KILL where it is to be stopped.
func (s *System) attend(j *Job, cmd *exec.Cmd, stop <-chan Why) {
	defer s.running.Done()
	session := cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Not reaped yet: until all of its session is killed, nobody else may get its number.
		for unix.Waitid(unix.P_PID, session, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	why := s.untilStop(j, ended, stop)
	if why != Itself && why != NodeLost {
		signal(session, syscall.SIGTERM)
		grace := time.NewTimer(s.Grace)
		select {
		case <-ended:
		case <-grace.C:
		}
		grace.Stop()
	}
	signal(session, syscall.SIGKILL) // also what the shell has left behind
	<-ended
	cmd.Wait() // its error is in the state that is read below
	s.finish(j, cmd.ProcessState, why)
}

// untilStop waits until a job ends by itself or is to be stopped. The limit may be changed while it runs.
func (s *System) untilStop(j *Job, ended <-chan struct{}, stop <-chan Why) Why {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return Itself
		case why := <-stop:
			return why
		case now := <-tick.C:
			s.Lock()
			wall, used, copied := j.Wall, j.Used(now), *j
			s.Unlock()
			if wall > 0 && used >= wall {
				s.sayOverWall(&copied, used, wall)
				return OverWall
			}
		}
	}
}

// sayOverWall writes what the real ones write into the job's errors.
func (s *System) sayOverWall(j *Job, used, wall time.Duration) {
	name := "err"
	if j.Join == "oe" || j.Join == "eo" {
		name = "out"
	}
	f, err := os.OpenFile(s.path(name, j.ID), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "=>> PBS: job killed: walltime %d exceeded limit %d\n", int(used/time.Second), int(wall/time.Second))
}

// finish makes a job that has stopped history, or puts it back into the queue.
func (s *System) finish(j *Job, state *os.ProcessState, why Why) {
	s.Lock()
	copied := *j
	s.Unlock()
	s.deliver(&copied)
	now := time.Now()
	s.Lock()
	defer s.Unlock()
	j.CPU = state.UserTime() + state.SystemTime()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		j.Memory = r.Maxrss
	}
	if why == Rerunning && j.By == "" {
		j.State, j.Parts, j.Modified = Queued, nil, now
		j.Settle(now)
		s.Wake()
		return
	}
	if why == NodeLost && s.Face == "torque" {
		j.Lost = true // the server says that it runs, until its nodes are back
		s.Wake()
		return
	}
	exit := s.exitStatus(state, why)
	s.over(j, why, &exit, now)
	s.Wake()
}

// exitStatus is a job's end in the words of the face.
func (s *System) exitStatus(state *os.ProcessState, why Why) int {
	switch why {
	case OverWall:
		if s.Face == "torque" {
			return -11
		}
		return -29
	case Deleted:
		return 256 + int(syscall.SIGTERM)
	case NodeLost:
		if s.Face == "openpbs" {
			return -20
		}
		return -1
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}

// deliver copies a job's streams to where they were asked for; what cannot be written is lost without a trace.
func (s *System) deliver(j *Job) {
	for kind, to := range map[string]string{"out": j.Out, "err": j.Err} {
		if kind == "err" && (j.Join == "oe" || j.Join == "eo") {
			continue
		}
		to = local(to)
		if fi, err := os.Stat(to); err == nil && fi.IsDir() {
			suffix := map[string]string{"out": ".OU", "err": ".ER"}[kind]
			to = filepath.Join(to, j.ID+suffix)
		}
		deliver(s.path(kind, j.ID), to, s.credential(j.User))
	}
}

// deliver copies one file, as its owner.
func deliver(from, to string, as *syscall.Credential) {
	if to == os.DevNull {
		return
	}
	in, err := os.Open(from)
	if err != nil {
		return
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return
	}
	defer out.Close()
	if as != nil && out.Chown(int(as.Uid), int(as.Gid)) != nil {
		return
	}
	io.Copy(out, in) // a disk that is full is the job's loss, as with the real ones
}

// local is a path without the host before it.
func local(path string) string {
	if host, rest, ok := strings.Cut(path, ":"); ok && !strings.Contains(host, "/") {
		return rest
	}
	return path
}

// signal sends a signal to all processes of a session.
func signal(session int, sig syscall.Signal) {
	if session <= 1 {
		return
	}
	if err := syscall.Kill(-session, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		if sessionOf(pid) == session {
			syscall.Kill(pid, sig) // it may have ended by itself
		}
	}
}

// sessionOf reads the session of a process; 0 where there is none.
func sessionOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	f := bytes.Fields(rest)
	if !ok || len(f) < 4 {
		return 0
	}
	n, err := strconv.Atoi(string(f[3]))
	if err != nil {
		return 0
	}
	return n
}

// Signal sends a signal to a running job.
func (s *System) Signal(j *Job, sig syscall.Signal) { signal(j.Session, sig) }

// Crash takes a node away, with all that runs there.
func (s *System) Crash(n *Node, now time.Time) {
	n.Down, n.Since = true, now
	for _, j := range s.On(n.Name) {
		j.tell(NodeLost)
	}
}

// turnLost ends the jobs whose nodes were away and are back. TORQUE's nodes find no process, and tell an exit code of 0.
func (s *System) turnLost(now time.Time) {
	for _, j := range s.Jobs {
		away := func(p Part) bool { n := s.Node(p.Node); return n != nil && n.Down }
		if j.Lost && j.Runs() && !slices.ContainsFunc(j.Parts, away) {
			exit := 0
			j.CPU, j.Memory, j.Lost = 0, 0, false
			s.over(j, NodeLost, &exit, now)
		}
	}
}

// endAll stops every job; nothing is left behind.
func (s *System) endAll() {
	s.Lock()
	defer s.Unlock()
	for _, j := range s.Jobs {
		if j.Runs() {
			j.By = "root"
			j.tell(NodeLost)
		}
	}
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
