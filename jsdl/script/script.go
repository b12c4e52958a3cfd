package script

import (
	"errors"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"gbroker/grid"
	"gbroker/jsdl"
)

// programs are what people call the dialects.
var programs = map[grid.Dialect]string{"": "no batch system", slurm: "Slurm", torque: "TORQUE", openPBS: "OpenPBS"}

const (
	slurm   = grid.DialectSlurm
	torque  = grid.DialectTORQUE
	openPBS = grid.DialectOpenPBS
)

// Options are what a script does not say itself.
type Options struct {
	Arguments []string // of the script
	// Directives are read after those of the script, as if they stood on the command line of its program.
	Directives []string
	Prefix     string    // of qsub's directives, its -C; "" is #PBS
	Now        time.Time // in the zone of the user
	User       string    // the user's name where the script is handed in; "" is not known
	// Environ is the user's environment, for variables that a script exports by their names alone; nil is
	// an empty one.
	Environ func(name string) (value string, set bool)
	// Bring is what comes back beside standard output and error.
	Bring []grid.Bring
	Fee   int64 // the most that its user pays for a core and hour; 0 is no bound
}

// Script is a batch script as a job.
type Script struct {
	File string // its name in messages
	// Job is that of the script. Of an array it is that of the first index, but for the names of its
	// files, in which %a stands for the index.
	Job      grid.Job
	Array    *Array      // nil is one job
	Warnings jsdl.Errors // what is not as the script says

	base string
}

// maxScript bounds a script, in bytes: Slurm takes no more than 4 MiB.
const maxScript = 4 << 20

// Looks tells that a file is a script: its first line names an interpreter, or it has directives.
func Looks(text []byte) bool {
	s := string(text[:min(len(text), 64<<10)])
	return strings.HasPrefix(s, "#!") || strings.HasPrefix(s, slurmPrefix) || strings.Contains(s, "\n"+slurmPrefix) ||
		len(pbsLines(s, pbsPrefix, &reporter{})) > 0
}

// reading is a script being read.
type reading struct {
	*reporter
	options  Options
	dialect  grid.Dialect
	base     string // the script's own name
	settings []setting
	job      grid.Job
	array    *Array
	shape    shape
	mail     mail
	streams  streams
	shell    string // that of -S
}

// Parse reads a script. file is its path, whose last part becomes the program. The error is a
// [jsdl.Errors] with every mistake found.
func Parse(file string, text []byte, o Options) (*Script, error) {
	j := &reading{reporter: &reporter{file: file}, options: o, base: path.Base(file)}
	if j.sound(text) {
		j.read(string(text))
		j.apply()
		j.finish(string(text))
	}
	if len(j.mistakes) > 0 {
		return nil, sorted(j.mistakes)
	}
	return &Script{base: j.base, File: file, Job: j.job, Array: j.array, Warnings: sorted(j.warnings)}, nil
}

// sound refuses what no batch system takes for a script.
func (j *reading) sound(text []byte) bool {
	first, _, _ := strings.Cut(string(text), "\n")
	start := word{first, place{1, 1}}
	switch {
	case len(text) == 0:
		j.wrong(word{"", place{1, 1}}, "the script is empty")
	case len(text) > maxScript:
		j.wrong(start, "the script has %d bytes: at most %d", len(text), maxScript)
	case strings.IndexByte(string(text), 0) >= 0:
		j.wrong(start, "the script has a zero byte: it is a program, not a script; 'gclient run -- ./%s' runs it", j.base)
	case !utf8.Valid(text):
		j.wrong(start, "the script is not UTF-8: iconv -f latin1 -t utf8 changes it")
	case strings.Contains(string(text), "\r\n"):
		j.wrong(start, "the script has Windows line ends: sed -i 's/\\r$//' %s takes them away", j.base)
	default:
		return true
	}
	return false
}

// read finds the directives, of one dialect.
func (j *reading) read(text string) {
	prefix := j.options.Prefix
	if prefix == "" {
		prefix = pbsPrefix
	}
	sbatch := slurmLines(text, j.reporter)
	pbs := pbsLines(text, prefix, &reporter{})
	switch {
	case len(sbatch) > 0 && j.options.Prefix == "":
		j.dialect = slurm
		for _, l := range pbs {
			j.warn(word{prefix, l.at}, "is not read: the script has #SBATCH lines, which count")
		}
		j.slurm(sbatch)
	case len(pbs) > 0:
		pbs = pbsLines(text, prefix, j.reporter)
		j.qsub(pbs)
	default:
		j.bare()
	}
}

// bare is a script without directives: what is given beside it is in the words of sbatch.
func (j *reading) bare() {
	if len(j.options.Directives) > 0 {
		j.dialect = slurm
		j.slurm(nil)
		return
	}
	j.warn(word{j.base, place{1, 1}}, "has neither #SBATCH nor #PBS lines: it is a job of one process, with the site's default walltime")
}

// given are the directives that stand beside the script, as words.
func (j *reading) given(comments bool) []line {
	var out []line
	for _, s := range j.options.Directives {
		out = append(out, line{words: split(s, place{0, 1}, comments, j.reporter)})
	}
	return out
}

func (j *reading) slurm(lines []line) {
	for _, l := range append(lines, j.given(true)...) {
		if len(l.words) > 0 && (strings.EqualFold(l.words[0].text, "hetjob") || strings.EqualFold(l.words[0].text, "packjob")) {
			j.wrong(l.words[0], "begins a second part of a heterogeneous job, of which a job here has none: hand the parts in as jobs of their own")
			return
		}
		j.getopt(sbatch, l.words, "sbatch")
	}
}

func (j *reading) qsub(lines []line) {
	j.dialect = torque
	for _, l := range append(lines, j.given(false)...) {
		j.getopt(qsub, l.words, "qsub")
	}
	for _, s := range j.settings {
		if s.directive.only == openPBS {
			j.dialect = openPBS
		}
	}
}

// finish puts together what several directives say.
func (j *reading) finish(text string) {
	j.program(text)
	j.name()
	j.demand()
	j.files()
	j.notices()
	if err := j.job.Terms.Check(); err != nil {
		j.wrong(word{j.base, place{1, 1}}, "%v", err)
	}
	j.environment()
	j.job.Bring, j.job.Terms.Fee = j.options.Bring, j.options.Fee
}

// program makes the script the program, under the shell that its first line or -S names.
func (j *reading) program(text string) {
	p := &j.job.Program
	p.Executable, p.Arguments, p.Dialect = j.base, j.options.Arguments, j.dialect
	shebang := strings.HasPrefix(text, "#!")
	if j.shell != "" || !shebang && (j.dialect == torque || j.dialect == openPBS) {
		p.Executable, p.Arguments = j.shell, append([]string{j.base}, p.Arguments...)
		if j.shell == "" {
			p.Executable = "/bin/sh"
		}
		return
	}
	if !shebang {
		first, _, _ := strings.Cut(text, "\n")
		j.wrong(word{first, place{1, 1}}, "the first line names no interpreter: write #!/bin/sh or #!/bin/bash there")
	}
}

var errNoValue = errors.New("it has no value")

// number makes the set of a directive that is a whole number.
func number(to func(*reading) *int64, least, most int64) func(*reading, value) error {
	return func(j *reading, v value) (err error) {
		*to(j), err = count(v.text, least, most)
		return err
	}
}
