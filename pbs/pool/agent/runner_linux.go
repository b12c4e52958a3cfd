package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/embedded/sweep"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// Linux runs programs under the supervisor of the embedded batch system.
type Linux struct {
	// Supervisor is the command before the SPECFILE; nil is this program and "supervise".
	Supervisor []string
	// Account runs the programs, where this process may choose; "" is its own.
	Account string
	// Apart gives programs that do not ask for the network none.
	Apart bool
	// Idle lets programs have only the processor time that nobody else wants (SCHED_IDLE, nice 19).
	Idle bool
	// Grouped puts each job into a control group of its own, where the system has those of version 2.
	Grouped bool
	// Inside keeps programs from writing outside their folders, and from the key of the computer, where the system has Landlock.
	Inside bool
	Logger *zap.Logger // nil: silent

	groups   groups
	landlock int // its version; 0 is none
	forks    chan func()
}

// NewRunner is how programs are run on this system. The thread that starts them lives as long as the process:
// by its end they end.
func NewRunner(l Linux) (Runner, error) {
	if len(l.Supervisor) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program, which is to supervise jobs: %w", err)
		}
		l.Supervisor = []string{self, supervise.Command}
	}
	if l.Logger == nil {
		l.Logger = zap.NewNop()
	}
	if l.Grouped {
		own, err := cgroup.Own()
		if err == nil {
			l.groups, err = openGroups(own)
		}
		if err != nil {
			l.Logger.Info("jobs have no control groups of their own", zap.Error(err))
		}
	}
	if l.Inside {
		if l.landlock = landlock(); l.landlock == 0 {
			l.Logger.Info("jobs can write wherever their account may: Landlock is not there, which Linux has from 6.2 on")
		}
	}
	l.forks = make(chan func())
	go func() {
		runtime.LockOSThread()
		for fork := range l.forks {
			fork()
		}
	}()
	return &l, nil
}

func (f Folder) work() string { return filepath.Join(string(f), "work") }
func (f Folder) ctl() string  { return filepath.Join(string(f), "ctl") }

// account is the one that runs programs; nil is this process's own.
func (l *Linux) account() (*syscall.Credential, *user.User, error) {
	if l.Account == "" {
		return nil, nil, nil
	}
	u, err := user.Lookup(l.Account)
	if err != nil {
		return nil, nil, fmt.Errorf("the account that runs jobs: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, u, errors.Join(err1, err2)
}

// Prepare gives the folders of a job to the account that runs it.
func (l *Linux) Prepare(f Folder) error {
	c, _, err := l.account()
	if c == nil || err != nil {
		return err
	}
	if err := os.Chmod(string(f), 0o711); err != nil { // of its name nobody else knows
		return err
	}
	var names []string
	for _, top := range []string{f.work(), f.ctl()} {
		err := filepath.WalkDir(top, func(name string, _ os.DirEntry, err error) error {
			names = append(names, name)
			return err
		})
		if err != nil {
			return fmt.Errorf("giving the folder of a job to account %s: %w", l.Account, err)
		}
	}
	for _, name := range slices.Backward(names) { // what is inside first: a folder that is given away may be another by then
		if err := os.Lchown(name, int(c.Uid), int(c.Gid)); err != nil {
			return fmt.Errorf("giving the folder of a job to account %s: %w", l.Account, err)
		}
	}
	return nil
}

// spec is the job as its supervisor gets it.
func (l *Linux) spec(f Folder, j Job) *supervise.Spec {
	s := &supervise.Spec{
		ID: j.ID(), Work: f.work(), Control: f.ctl(), Limit: grid.Tick(j.Limit), Grace: grid.Tick(j.Grace), Site: grid.SiteName(j.Site),
		Path: searchPath, Base: []string{"PATH=" + searchPath, "HOME=" + f.work(), "TMPDIR=" + f.work(), "LANG=C.UTF-8"},
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: j.Processes, Cores: j.Cores, Memory: j.Memory}}},
		Program: grid.Program{
			Executable: string(j.Executable), Input: string(j.Input), Output: string(j.Output), Error: string(j.Error),
			Directory: string(j.Directory), Parallel: j.Parallel, Dialect: grid.Dialect(j.Dialect),
		},
		Warning: grid.Warning{Signal: j.Warning.Signal, Before: grid.Tick(j.Warning.Before), Leader: j.Warning.Leader},
		Shares:  []supervise.Share{{Node: grid.NodeName(j.Node), Processes: j.Processes, Cores: j.Cores, Memory: j.Memory}},
		Ports:   grid.DefaultPorts,
	}
	for _, a := range j.Arguments {
		s.Program.Arguments = append(s.Program.Arguments, string(a))
	}
	for _, v := range j.Environment {
		name, value, _ := strings.Cut(string(v), "=")
		s.Program.Environment = append(s.Program.Environment, grid.Variable{Name: name, Value: value})
	}
	for _, l := range j.Limits {
		s.Program.SetLimit(grid.LimitName(l.Name), l.Value)
	}
	return s
}

// writeNew writes a file anew into a folder that others can write to: it follows no link that one of them has put there.
func writeNew(name string, data []byte) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Start starts the supervisor of a job; its start token at this computer lets it run once.
func (l *Linux) Start(f Folder, j Job) (Process, error) {
	data, err := l.spec(f, j).Encode()
	if err != nil {
		return nil, err
	}
	specFile := filepath.Join(f.ctl(), "spec")
	if err := writeNew(specFile, data); err != nil {
		return nil, fmt.Errorf("writing what is to be run: %w", err)
	}
	credential, _, err := l.account()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p := &linuxProcess{
		folder: f, job: j, status: r, began: make(chan struct{}), ended: make(chan struct{}), log: l.Logger, idle: l.Idle, group: l.groups.of(f), home: l.groups.home,
	}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM, Credential: credential}
	if l.Apart && !j.Network {
		apart(attr)
	}
	if p.supervisor, err = l.supervise(p, attr, specFile, w); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the supervisor of a job: %w", err), r.Close(), p.group.clear())
	}
	go p.listen()
	go p.reap()
	return p, nil
}

// supervise starts the process that supervises a program, in the program's control group.
func (l *Linux) supervise(p *linuxProcess, attr *syscall.SysProcAttr, specFile string, status *os.File) (s *os.Process, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if p.group != "" {
		folder, err := p.group.open(p.job)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(folder.Fd())
	}
	process := &os.ProcAttr{
		Dir: p.folder.work(), Env: []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=" + strconv.Itoa(32<<20), supervise.StatusVariable + "=1"},
		Files: []*os.File{null, null, os.Stderr, status}, Sys: attr,
	}
	start := func() (err error) {
		s, err = os.StartProcess(l.Supervisor[0], append(append([]string{}, l.Supervisor...), specFile), process)
		if err == nil && l.Idle {
			err = giveWay(s)
		}
		return err
	}
	if l.landlock > 0 {
		err = startInside(l.landlock, p.folder, start, p.ended)
		return s, err
	}
	done := make(chan error)
	l.forks <- func() { done <- start() }
	err = <-done
	return s, err
}

// apart puts a process into a network of its own, which reaches nothing.
func apart(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWNET
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// Settle ends what is left of a job and tells what became of it.
func (l *Linux) Settle(f Folder, j Job) (o Outcome, started bool, err error) {
	at := j.ID()
	token, taken, err := control.ReadToken(f.ctl(), at)
	if err != nil || !taken {
		return o, false, errors.Join(err, l.groups.of(f).clear())
	}
	dismiss(token.Process, grid.Tick(j.Grace).Duration()+lingering)
	run, ran, err := control.ReadRun(f.ctl(), at)
	if err != nil {
		return o, true, err
	}
	if err := l.groups.of(f).clear(); err != nil {
		return o, true, err
	}
	sweep.Marked(supervise.RunMark(f.ctl(), at), run.Leader, false)
	if o, err = outcome(f, at); err != nil || o.Cause != line.Killed {
		return o, true, err
	}
	o.Cause, o.Detail = line.CutOff, "the agent of its computer, or the computer itself, ended while it ran"
	if !ran {
		o.Began = 0
	}
	return o, true, nil
}

// lingering is how long after the grace time of its program a supervisor may take to end.
const lingering = 10 * time.Second

// dismiss waits until the supervisor of an agent that is no more has ended: were its program swept away first, that would seem to have ended
// by itself.
func dismiss(supervisor control.Process, patience time.Duration) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { //house:allow sleep: until a process that is no child has ended, within its patience
		if alive, err := supervisor.Alive(); !alive || err != nil {
			return
		}
		syscall.Kill(supervisor.PID, syscall.SIGTERM) // again: it had one when the agent ended
	}
}

var causes = map[grid.Cause]string{
	grid.ByItself: line.ByItself, grid.ByWalltime: line.ByWalltime, grid.ByRequest: line.ByRequest, grid.NeverRan: line.NeverRan,
	grid.Disappeared: line.Killed,
}

// outcome reads how a job ended that runs no more; without an end its supervisor was killed.
func outcome(f Folder, at grid.AttemptID) (o Outcome, err error) {
	run, ran, err := control.ReadRun(f.ctl(), at)
	if err != nil {
		return o, err
	}
	if ran {
		o.On = run.At
	}
	end, ended, err := control.ReadEnd(f.ctl(), at)
	if err != nil {
		return o, err
	}
	if !ended {
		o.Cause, o.Detail, o.At = line.Killed, "its supervisor ended without a word: it was killed", control.Now()
		return o, nil
	}
	used, err := control.ReadUsage(f.ctl(), at)
	if err != nil {
		return o, err
	}
	o.At, o.ExitCode, o.Signal, o.Cause, o.Detail = end.At, end.ExitCode, end.Signal, causes[end.Cause], end.Detail
	o.CPU, o.Memory = int64(used.CPU), used.Memory
	return o, nil
}
