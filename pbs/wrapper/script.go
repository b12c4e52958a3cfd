package wrapper

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/dialect"
)

// Spec is what a wrapper script is made of.
type Spec struct {
	ID   grid.AttemptID
	Site grid.SiteName
	// Work and Control are absolute folders as the nodes see them. Control is "" where
	// they do not see it: there is no start token on the node then, and no end file.
	Work, Control string
	Program       grid.Program
	Warning       grid.Warning
	Processes     int       // 0 counts as 1
	Limit         grid.Tick // the limit that the batch system enforces
	Grace         time.Duration
	// Environment, NAME=VALUE, is under the program's own; Path is where starters of
	// parallel programs are sought.
	Environment []string
	Path        string
	// Starters are the site's own ways to start parallel programs, by what documents call
	// the kind, in lower case: words of a command, of which {n} is the number of processes,
	// {hosts} the host file and {program} the program; its arguments follow. Kinds that are
	// not named are sought on Path.
	Starters map[string][]string
	// Part is not nil of a part of a co-allocated job; Ports are then those of which one is offered
	// for programs to meet at, from the first to the last.
	Part  *grid.Part
	Ports grid.Ports
	// Reached tells that the nodes of this site and those of all others of the part reach each other, every port in Ports
	// and those that MPI takes: over them a program of MPICH or Open MPI is one.
	Reached bool
}

// maxScript bounds a script, in bytes: Slurm takes no more than 4 MiB.
const maxScript = 4 << 20

// maxString is the longest single argument or variable that Linux takes.
const maxString = 128 << 10

//go:embed body.sh
var body string

//go:embed barrier.sh
var barrier string

// Script is the wrapper of an attempt. What no shell could be given, and no script can hold,
// wraps grid.ErrInvalid; what only shows that the program cannot run is left to the script,
// which ends the attempt with grid.NeverRan.
func Script(s Spec) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%w: the wrapper of %s: %w", grid.ErrInvalid, s.ID, err)
	}
	q := &quoter{}
	values := s.values(q)
	script := "#!/bin/sh\ntold= ; trap 'told=1' TERM\n" +
		"# " + s.ID.String() + "\n" +
		"LC_ALL=C; export LC_ALL\nnl='\n'\n" + q.bytes() + values + "\n" + barrier + body
	if len(script) > maxScript {
		return nil, fmt.Errorf("%w: the wrapper of %s takes %d bytes with the program's arguments and environment: at most %d",
			grid.ErrInvalid, s.ID, len(script), maxScript)
	}
	return []byte(script), nil
}

func (s Spec) check() error {
	if _, err := grid.ParseJobID(string(s.ID.Job)); err != nil {
		return err
	}
	if !path.IsAbs(s.Work) || s.Control != "" && !path.IsAbs(s.Control) {
		return fmt.Errorf("sandbox %q and control directory %q must be absolute paths", s.Work, s.Control)
	}
	if s.Part != nil {
		if err := s.checkPart(); err != nil {
			return err
		}
	}
	p := &s.Program
	for _, v := range p.Environment {
		if v.Name == "" || strings.Contains(v.Name, "=") {
			return fmt.Errorf("%.80q cannot name an environment variable", v.Name)
		}
	}
	for what, values := range map[string][]string{
		"an argument": p.Arguments, "the environment": append(s.environment(), s.Environment...),
		"a path": {s.Work, s.Control, s.Path, p.Executable, p.Directory, p.Input, p.Output, p.Error, p.Parallel},
	} {
		if slices.ContainsFunc(values, func(v string) bool { return strings.IndexByte(v, 0) >= 0 }) {
			return fmt.Errorf("%s has a zero byte, which no program can be given", what)
		}
	}
	return nil
}

// environment is the program's own and what gbroker says, all but what is found on the node.
func (s Spec) environment() []string {
	env := slices.Clone(s.Environment)
	for _, v := range s.Program.Environment {
		env = append(env, v.Name+"="+v.Value)
	}
	if s.Part != nil {
		env = append(env, s.Part.Environment()...)
	}
	return lastOfEach(append(env,
		"GBROKER_JOB="+string(s.ID.Job),
		"GBROKER_SITE="+string(s.Site),
		"GBROKER_PROCESSES="+strconv.Itoa(max(s.Processes, 1)),
		"GBROKER_ATTEMPT="+s.ID.String()))
}

// values are the job's values, as assignments and functions of the shell.
func (s Spec) values(q *quoter) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s=%s\n", name, q.word(value)) }
	number := func(name string, n int64) { fmt.Fprintf(&b, "%s=%d\n", name, n) }
	suffix := s.ID.Epoch.String() + "." + strconv.FormatUint(uint64(s.ID.Attempt), 10)
	set("attempt", s.ID.String())
	set("suffix", suffix)
	set("site", string(s.Site))
	set("ctl", s.Control)
	set("work", s.Work)
	set("hosts", s.Control+"/hosts."+suffix)
	number("processes", int64(max(s.Processes, 1)))
	// TERM of the batch system may come a little before the limit counts as reached here.
	number("limit", int64(s.Limit-min(5*grid.Second, s.Limit/2)))
	set("limit_words", s.Limit.Duration().String())
	number("grace", max(1, int64(s.Grace/(100*time.Millisecond))))
	set("search", s.Path)
	number("warning", int64(s.Warning.Signal))
	number("warn_after", int64(max(s.Limit-s.Warning.Before, 0)/grid.Second))
	set("warn_whom", s.warned())
	s.files(q, &b, set)
	s.parallel(q, &b, set)
	s.part(set, number)
	set("dialect", string(s.Program.Dialect))
	fmt.Fprintf(&b, "started() { \"$@\"%s \"$program\"; }\n", q.words(dialect.Words(s.Program.Dialect)))
	set("executable", s.Program.Executable)
	set("label", strconv.Quote(s.Program.Executable))
	memory, _ := s.Program.Limit(grid.LimitMemory)
	number("memory", memory/1024)
	set("limits", s.limits())
	fmt.Fprintf(&b, "arguments() { \"$@\"%s; }\n", q.words(s.Program.Arguments))
	found := s.found()
	env := slices.DeleteFunc(s.environment(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, is := found[name]
		return is
	})
	fmt.Fprintf(&b, "variables() { before=$1; shift; \"$before\"%s", q.words(env))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, " \"%s=$%s\"", name, found[name])
	}
	b.WriteString(" \"$@\"; }\n")
	return b.String()
}

// limitOptions are what prlimit(1) calls limits, in the order in which they are set: the last ones
// may keep a process from starting others.
var limitOptions = []struct {
	name   grid.LimitName
	option string
}{
	{grid.LimitCore, "core"}, {grid.LimitFile, "fsize"}, {grid.LimitLocked, "memlock"}, {grid.LimitStack, "stack"}, {grid.LimitCPU, "cpu"},
	{grid.LimitFiles, "nofile"}, {grid.LimitData, "data"}, {grid.LimitThreads, "nproc"}, {grid.LimitVirtual, "as"},
}

// limits are those of the program besides that of memory, as words for prlimit.
func (s Spec) limits() string {
	var words []string
	memory, limited := s.Program.Limit(grid.LimitMemory)
	for _, l := range limitOptions {
		n, has := s.Program.Limit(l.name)
		if l.name == grid.LimitData && limited { // which is set in the same place
			n = min(n, memory)
		}
		if has {
			words = append(words, fmt.Sprintf("--%s=%d:%d", l.option, n, n))
		}
	}
	return strings.Join(words, " ")
}

// warned is which processes are warned: the first, all, or those that a script has started.
func (s Spec) warned() string {
	switch {
	case s.Warning.Leader:
		return "leader"
	case s.Program.Dialect == "":
		return "all"
	}
	return "others"
}

// files sets where the program works, reads and writes, or why it cannot.
func (s Spec) files(q *quoter, b *strings.Builder, set func(name, value string)) {
	p := &s.Program
	refused := s.tooLong()
	place := func(variable, what, name, unnamed string) {
		set("what_"+variable, fmt.Sprintf("the %s %q", what, name))
		clean, err := unnamed, error(nil)
		switch {
		case variable == "directory":
			clean, err = inside(what, name)
		case name != "":
			clean, err = inside(what, p.Directory, name)
		}
		set(variable, clean)
		if refused == nil {
			refused = err
		}
	}
	if p.Executable == "" {
		refused = errors.New("the job names no executable")
	}
	place("directory", "working directory", p.Directory, ".")
	place("input", "input file", p.Input, "")
	place("output", "output file", p.Output, grid.DefaultOutput)
	place("error", "error file", p.Error, grid.DefaultError)
	if word := strings.ToLower(p.Parallel); refused == nil && word != "" && kinds[word] == "" && len(s.Starters[word]) == 0 {
		refused = fmt.Errorf("site %s cannot run %q programs: it knows MPI, OpenMPI, MPICH and IntelMPI", s.Site, p.Parallel)
	}
	if refused == nil {
		b.WriteString("refused() { false; }\n")
		return
	}
	fmt.Fprintf(b, "refused() { why=%s; }\n", q.word(refused.Error()))
}

func (s Spec) tooLong() error {
	for _, v := range append(s.environment(), s.Program.Arguments...) {
		if len(v) >= maxString {
			return fmt.Errorf("the arguments and environment of %q are longer than the system takes", s.Program.Executable)
		}
	}
	return nil
}

// inside is a path below the sandbox's top, cleaned; an error tells of one that would leave it.
func inside(what string, parts ...string) (name string, err error) {
	for _, p := range parts {
		if path.IsAbs(p) {
			return ".", fmt.Errorf("the %s %q is absolute: it must be inside the sandbox, so a relative path", what, p)
		}
	}
	name = path.Join(append([]string{"."}, parts...)...)
	if name == ".." || strings.HasPrefix(name, "../") {
		return ".", fmt.Errorf("the %s %q leads out of the job's sandbox", what, parts[len(parts)-1])
	}
	return name, nil
}
