package main

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// kind is what a job is made to do.
type kind string

const (
	plain     kind = "plain"     // ends with 0
	failing   kind = "failing"   // ends with failingCode
	withFiles kind = "files"     // brings a file and leaves its copy
	tooLong   kind = "too-long"  // is ended by its walltime
	neverRuns kind = "never"     // names a program that is not there
	cancelled kind = "cancelled" // its user cancels it at some time
)

const failingCode = 3

// work is one job of a run.
type work struct {
	Name       string // also the key of its submission
	Kind       kind
	Home       string        // the site it is handed to
	Arch       string        // the architecture it must have; "" takes any
	Rerunnable bool          // the submitter lets it be run again; nothing here makes that happen
	At         time.Duration // of its submission, from the start
	Lasts      time.Duration
	CancelIn   time.Duration // after it was accepted
	Size       int           // of its file
}

// architectures are those of the sites, in order: by them a job can be meant for one site alone.
var architectures = []string{"x86_64", "arm", "mips", "sparc", "powerpc"}

// loads are how many of ten jobs go to which site: some have more than they can run.
var loads = []int{4, 3, 1, 1, 1}

// planWork makes n jobs that come within span. pinned are, by site, the sites to
// which a job handed in there may be sent.
func planWork(r *rand.Rand, n int, span time.Duration, sites []string, next map[int][]int) []work {
	var list []work
	for i := range n {
		home := pick(r, loads)
		w := work{
			Name: fmt.Sprintf("job%03d", i), Home: sites[home], Kind: plain,
			At: time.Duration(r.Int64N(int64(span))), Lasts: between(r, 300*time.Millisecond, 5*time.Second),
			Rerunnable: r.IntN(4) == 0,
		}
		switch k := r.IntN(20); {
		case k < 2:
			w.Kind = failing
		case k < 8:
			w.Kind, w.Size = withFiles, 1+r.IntN(1_500_000)
		case k < 9:
			w.Kind, w.Lasts = tooLong, time.Minute
		case k < 10:
			w.Kind = neverRuns
		case k < 13:
			w.Kind, w.CancelIn = cancelled, between(r, 0, 5*time.Second)
		}
		if others := next[home]; len(others) > 0 && r.IntN(10) < 4 {
			w.Arch = architectures[others[r.IntN(len(others))]]
		}
		list = append(list, w)
	}
	return list
}

// pick draws an index with the given weights.
func pick(r *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	for k := r.IntN(sum); ; {
		for i, w := range weights {
			if k -= w; k < 0 {
				return i
			}
		}
	}
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// markVariable is in the environment of every program of a run, with the run's name.
const markVariable = "TORTURE_RUN"

// walltime of a job, in seconds on the reference machine.
func (w work) walltime() int {
	if w.Kind == tooLong {
		return 2
	}
	return 60
}

// script appends a line to the ledger when it starts and one when it ends:
// start or end, the job's name, its pid, the time in milliseconds.
func (w work) script(ledger string) string {
	line := func(what string) string {
		return fmt.Sprintf(`echo "%s %s $$ $(date +%%s%%3N)" >> %s`, what, w.Name, ledger)
	}
	code, do := 0, ""
	switch w.Kind {
	case failing:
		code = failingCode
	case withFiles:
		do = "until cat in.bin > out.bin; do sleep 0.2; done; " // its disk may be full
	}
	return fmt.Sprintf("%s; sleep %.3f; %s%s; exit %d", line("start"), w.Lasts.Seconds(), do, line("end"), code)
}

// document is the job in JSDL.
func (w work) document(ledger, mark string) string {
	program := []string{"/bin/sh", "-c", w.script(ledger)}
	if w.Kind == neverRuns {
		program = []string{"/there/is/none"}
	}
	var b strings.Builder
	b.WriteString(`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">` +
		"<JobDescription><JobIdentification>" + element("JobName", w.Name) + "</JobIdentification><Application><posix:POSIXApplication>" +
		element("posix:Executable", program[0]))
	for _, a := range program[1:] {
		b.WriteString(element("posix:Argument", a))
	}
	fmt.Fprintf(&b, `<posix:Environment name="%s">%s</posix:Environment>`, markVariable, mark)
	b.WriteString(element("posix:WallTimeLimit", fmt.Sprint(w.walltime())) + "</posix:POSIXApplication></Application>")
	if w.Arch != "" {
		b.WriteString("<Resources><CPUArchitecture>" + element("CPUArchitectureName", w.Arch) + "</CPUArchitecture></Resources>")
	}
	if w.Kind == withFiles {
		b.WriteString(staging("Source", "in.bin", w.Name+".bin") + staging("Target", "out.bin", "out.bin"))
	}
	b.WriteString("</JobDescription></JobDefinition>")
	return b.String()
}

func staging(end, file, uri string) string {
	return "<DataStaging>" + element("FileName", file) + element("CreationFlag", "overwrite") +
		"<" + end + ">" + element("URI", uri) + "</" + end + "></DataStaging>"
}

func element(name, value string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(value)) // a Builder takes all
	return "<" + name + ">" + b.String() + "</" + name + ">"
}

// content is the file that the job brings.
func (w work) content() []byte {
	b := make([]byte, w.Size)
	for i := range b {
		b[i] = byte(i*7 + len(w.Name)*13 + i>>8)
	}
	copy(b, w.Name)
	return b
}
