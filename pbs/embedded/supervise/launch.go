package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/dialect"
)

// launch starts the program; its error is the reason, for people.
func (s *Spec) launch() (leader int, err error) {
	if s.Program.Executable == "" {
		return 0, errors.New("the job names no executable")
	}
	root, err := os.OpenRoot(s.Work)
	if err != nil {
		return 0, fmt.Errorf("the job's sandbox cannot be opened: %w", err)
	}
	defer root.Close()
	if err := s.enter(root); err != nil {
		return 0, err
	}
	files, err := s.openFiles(root)
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err := s.writeHostFile(); err != nil {
		return 0, fmt.Errorf("the host file cannot be written: %w", err)
	}
	name, argv, err := s.command()
	if err != nil {
		return 0, err
	}
	return s.start(name, argv, files)
}

// enter makes the working directory, if it is not there, and goes to it.
func (s *Spec) enter(root *os.Root) error {
	name, err := inside("working directory", s.Program.Directory)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return refused("working directory", s.Program.Directory, err)
	}
	d, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return refused("working directory", s.Program.Directory, err)
	}
	defer d.Close()
	if err := syscall.Fchdir(int(d.Fd())); err != nil {
		return refused("working directory", s.Program.Directory, err)
	}
	return nil
}

// inside is a path below the sandbox's top, cleaned; one that would leave is refused.
func inside(what string, parts ...string) (string, error) {
	for _, p := range parts {
		if path.IsAbs(p) {
			return "", fmt.Errorf("the %s %q is absolute: it must be inside the sandbox, so a relative path", what, p)
		}
	}
	name := path.Join(append([]string{"."}, parts...)...)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("the %s %q leads out of the job's sandbox", what, parts[len(parts)-1])
	}
	return name, nil
}

func refused(what, name string, err error) error {
	// Package os gives this error no name. Those around it have the user's own names in their texts.
	cause := err
	for next := err; next != nil; next = errors.Unwrap(next) {
		cause = next
	}
	if cause.Error() == "path escapes from parent" {
		return fmt.Errorf("the %s %q leads out of the job's sandbox by a symbolic link", what, name)
	}
	return fmt.Errorf("the %s %q: %w", what, name, err)
}

// openFiles opens standard input, output and error.
func (s *Spec) openFiles(root *os.Root) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
		}
	}()
	in, err := s.openInput(root)
	if err != nil {
		return files, err
	}
	files = append(files, in)
	p := &s.Program
	outName, err := sandboxName("output file", p.Directory, p.Output, grid.DefaultOutput)
	if err != nil {
		return files, err
	}
	errName, err := sandboxName("error file", p.Directory, p.Error, grid.DefaultError)
	if err != nil {
		return files, err
	}
	out, err := createFile(root, "output file", outName)
	if err != nil {
		return files, err
	}
	files = append(files, out)
	if errName == outName {
		return append(files, out), nil
	}
	e, err := createFile(root, "error file", errName)
	if err != nil {
		return files, err
	}
	return append(files, e), nil
}

// sandboxName is the path of a file from the sandbox's top; an unnamed one is there.
func sandboxName(what, directory, name, unnamed string) (string, error) {
	if name == "" {
		return unnamed, nil
	}
	return inside(what, directory, name)
}

func (s *Spec) openInput(root *os.Root) (*os.File, error) {
	if s.Program.Input == "" {
		return os.Open(os.DevNull)
	}
	name, err := inside("input file", s.Program.Directory, s.Program.Input)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, refused("input file", s.Program.Input, err)
	}
	return regular(f, "input file", s.Program.Input)
}

func createFile(root *os.Root, what, name string) (*os.File, error) {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return nil, refused(what, name, err)
		}
	}
	// Not blocking: the name could be that of a pipe nobody reads.
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, refused(what, name, err)
	}
	return regular(f, what, name)
}

func regular(f *os.File, what, name string) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file")
	}
	if err == nil {
		err = syscall.SetNonblock(int(f.Fd()), false)
	}
	if err != nil {
		f.Close()
		return nil, refused(what, name, err)
	}
	return f, nil
}

func (s *Spec) hostFile() string { return control.HostFile(s.Control, s.ID) }

// writeHostFile writes one line for each process: the node it is to run on.
func (s *Spec) writeHostFile() error {
	var b strings.Builder
	for _, h := range s.Shares {
		for range h.Processes {
			b.WriteString(string(h.Node))
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(s.hostFile(), []byte(b.String()), 0o644)
}

// command is what is executed: the program, or what starts it many times.
func (s *Spec) command() (name string, argv []string, err error) {
	p := &s.Program
	name = p.Executable
	if !path.IsAbs(name) {
		name = "./" + name // in the working directory; PATH is never searched
	}
	if p.Parallel == "" && p.Dialect == "" {
		return name, append([]string{p.Executable}, p.Arguments...), nil
	}
	if err := executable(name); err != nil {
		return "", nil, s.explain(name, err)
	}
	if p.Parallel == "" {
		words := dialect.Words(p.Dialect)
		return words[0], slices.Concat(words, []string{name}, p.Arguments), nil
	}
	starter, err := s.starter()
	if err != nil {
		return "", nil, err
	}
	return starter[0], append(append(starter, name), p.Arguments...), nil
}

// executable tells why a file cannot be executed, as execve would.
func executable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EACCES
	}
	const executeOK = 1
	return syscall.Access(name, executeOK)
}

// start executes name and gives the process, which leads a session of its own.
func (s *Spec) start(name string, argv []string, files []*os.File) (leader int, err error) {
	limits := s.limits()
	attr := &syscall.ProcAttr{
		Env:   s.environment(),
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Ptrace: len(limits) > 0},
	}
	group, err := s.openGroup()
	if err != nil {
		return 0, err
	}
	if group != nil {
		defer group.Close()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(group.Fd())
	}
	leader, err = syscall.ForkExec(name, argv, attr)
	if err != nil {
		return 0, s.explain(name, err)
	}
	if len(limits) > 0 {
		if err := setLimits(leader, limits); err != nil {
			syscall.Kill(leader, syscall.SIGKILL)
			reap(leader)
			return 0, err
		}
	}
	return leader, nil
}

// limit is one of a process, in the unit of setrlimit(2).
type limit struct {
	what     grid.LimitName
	resource uintptr
	value    int64
}

// Limits that package syscall does not name.
const (
	rlimitProcesses = 6
	rlimitLocked    = 8
)

// resources are the kernel's numbers of limits, in the order in which they are set.
var resources = []limit{
	{grid.LimitMemory, syscall.RLIMIT_DATA, 0}, {grid.LimitData, syscall.RLIMIT_DATA, 0}, {grid.LimitFile, syscall.RLIMIT_FSIZE, 0}, {grid.LimitCore, syscall.RLIMIT_CORE, 0},
	{grid.LimitCPU, syscall.RLIMIT_CPU, 0}, {grid.LimitFiles, syscall.RLIMIT_NOFILE, 0}, {grid.LimitStack, syscall.RLIMIT_STACK, 0},
	{grid.LimitVirtual, syscall.RLIMIT_AS, 0}, {grid.LimitThreads, rlimitProcesses, 0}, {grid.LimitLocked, rlimitLocked, 0},
}

// limits are those of the program and of the site: of two of one resource the lower holds.
func (s *Spec) limits() (all []limit) {
	for _, l := range resources {
		var has bool
		if l.value, has = s.Program.Limit(l.what); l.what == grid.LimitFile && s.FileLimit > 0 && (!has || s.FileLimit < l.value) {
			l.value, has = s.FileLimit, true
		}
		i := slices.IndexFunc(all, func(o limit) bool { return o.resource == l.resource })
		switch {
		case !has:
		case i >= 0:
			all[i].value = min(all[i].value, l.value)
		default:
			all = append(all, l)
		}
	}
	return all
}

// setLimits sets limits of a traced child, which is stopped by its execve, and lets it go.
func setLimits(pid int, limits []limit) error {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	if !status.Stopped() {
		return errors.New("the program ended before it began")
	}
	for _, l := range limits {
		var was syscall.Rlimit
		if err := prlimit(pid, l.resource, nil, &was); err != nil {
			return fmt.Errorf("the limit %s cannot be read: %w", l.what, err)
		}
		n := min(uint64(l.value), was.Max) // a lower one of the site holds already
		if err := prlimit(pid, l.resource, &syscall.Rlimit{Cur: n, Max: n}, nil); err != nil {
			return fmt.Errorf("the limit %s of %d cannot be set: %w", l.what, l.value, err)
		}
	}
	return syscall.PtraceDetach(pid)
}

// prlimit is the system call.
func prlimit(pid int, resource uintptr, set, was *syscall.Rlimit) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), resource,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// explain says why the program could not be executed.
func (s *Spec) explain(name string, err error) error {
	p := s.Program.Executable
	_, missing := os.Stat(name)
	switch {
	case errors.Is(err, syscall.ENOENT) && missing != nil && path.IsAbs(p):
		return fmt.Errorf("the executable %q does not exist at site %s", p, s.Site)
	case errors.Is(err, syscall.ENOENT) && missing != nil:
		return fmt.Errorf("the executable %q does not exist in the working directory: send it along by a DataStaging element, or give an absolute path (PATH is not searched)", p)
	case errors.Is(err, syscall.ENOENT):
		word := interpreter(name)
		if trimmed, windows := strings.CutSuffix(word, "\r"); windows {
			return fmt.Errorf("the executable %q has Windows line ends, so its first line names no interpreter %q: take them away (sed -i 's/\\r$//') before it is submitted", p, trimmed)
		}
		return fmt.Errorf("the executable %q cannot be run: its interpreter %q does not exist at site %s", p, word, s.Site)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("the executable %q is not executable: give the file its execute permission (chmod +x) before it is submitted", p)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("the executable %q is neither a program for this machine nor a script that begins with #!", p)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("the arguments and environment of %q are longer than the system takes", p)
	}
	return fmt.Errorf("the executable %q cannot be run: %w", p, err)
}

// interpreter is what the first line of a script names, or the loader of a binary.
func interpreter(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return "?"
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 256))
	line, _, _ := strings.Cut(string(head), "\n")
	if rest, script := strings.CutPrefix(line, "#!"); script {
		word, _, _ := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		return word
	}
	return "the dynamic loader"
}
