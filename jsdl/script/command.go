package script

import (
	"path"
	"slices"
	"strings"
)

// Command is a command without a script as a job: a program and its arguments, with directives in the
// words of sbatch. A program of several processes is started as many times, by the mpirun of the site,
// unless once says that it is started once.
func Command(words []string, once bool, o Options) (*Script, error) {
	j := &reading{reporter: &reporter{file: beside}, options: o, dialect: slurm}
	j.slurm(nil)
	j.apply()
	j.base = path.Base(words[0])
	j.name()
	j.base = ""
	j.demand()
	j.notices()
	p := &j.job.Program
	p.Executable, p.Arguments = words[0], words[1:]
	if !strings.Contains(words[0], "/") { // the site finds it, as a shell would
		p.Executable, p.Arguments = "/usr/bin/env", words
	}
	if tasks := j.job.Demand.Processes(); tasks > 1 && !once {
		p.Parallel = "MPI"
	}
	j.job.Bring, j.job.Terms.Fee = o.Bring, o.Fee
	if len(j.mistakes) > 0 {
		return nil, sorted(j.mistakes)
	}
	return &Script{File: beside, Job: j.job, Warnings: sorted(j.warnings)}, nil
}

// Flag is a directive of sbatch as an option of a command of ours.
type Flag struct {
	Long, Short string // without dashes; Short is "" or a letter
	Form        string // of its value; "" takes none
	Lacks       bool   // the value may be left out
	Does        string
}

// Flags are the directives of sbatch that do something for a command.
func Flags() []Flag {
	var list []Flag
	for _, d := range sbatch {
		if d.set == nil || slices.Contains([]string{"--output", "--error", "--array", "--comment"}, d.names[0]) {
			continue
		}
		f := Flag{Long: strings.TrimPrefix(d.names[0], "--"), Form: d.form, Lacks: d.lacks, Does: d.does}
		for _, n := range d.names {
			if len(n) == 2 {
				f.Short = n[1:]
			}
		}
		list = append(list, f)
	}
	return list
}

// Quoted is a value as one word of a directive.
func Quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
