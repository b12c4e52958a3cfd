package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// setExport reads NAME[=VALUE],….
func setExport(j *reading, v value) error {
	for _, part := range strings.Split(v.text, ",") {
		name, text, is := strings.Cut(strings.TrimSpace(part), "=")
		upper := strings.ToUpper(name)
		switch {
		case j.dialect == slurm && !is && upper == "ALL":
			j.warn(v.word, "does not take ALL: %s; name the variables that the job needs", noEnvironment)
			continue
		case j.dialect == slurm && !is && (upper == "NONE" || upper == "NIL"):
			continue
		case !variableName(name):
			return fmt.Errorf("%s names no variable: use letters, digits and _, first no digit", short(name))
		case grid.IsReserved(name):
			return fmt.Errorf("names that start with %s are the broker's", grid.ReservedPrefix)
		}
		if !is {
			if j.options.Environ != nil {
				text, is = j.options.Environ(name)
			}
			if !is {
				j.warn(v.word, "does not give %s, which is not set where you stand", name)
				continue
			}
		}
		if len(name)+len(text) >= grid.MaxText-1 || strings.IndexByte(text, 0) >= 0 {
			return errors.New("the value is longer than Linux takes, or has a zero byte")
		}
		j.give(name, text)
	}
	return nil
}

func variableName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// give sets a variable of the program, in the place of one of that name.
func (j *reading) give(name, text string) {
	env := &j.job.Program.Environment
	*env = slices.DeleteFunc(*env, func(v grid.Variable) bool { return v.Name == name })
	*env = append(*env, grid.Variable{Name: name, Value: text})
}

// environment gives the program the variables of its batch system that follow from the script; what the
// script exports itself stands. Those of the place where it runs come with it.
func (j *reading) environment() {
	var list []grid.Variable
	add := func(name string, text string) {
		if text != "" && text != "0" {
			list = append(list, grid.Variable{Name: name, Value: text})
		}
	}
	switch j.dialect {
	case slurm:
		j.slurmEnvironment(add)
	case torque, openPBS:
		j.pbsEnvironment(add)
	}
	if a := j.array; a != nil {
		first := strconv.Itoa(a.Indexes[0])
		for _, name := range indexNames(j.dialect) {
			list = append(list, grid.Variable{Name: name, Value: first})
		}
		if j.dialect == slurm {
			list = append(list, a.environment()...)
		}
	}
	own := j.job.Program.Environment
	for _, v := range list {
		if !slices.ContainsFunc(own, func(o grid.Variable) bool { return o.Name == v.Name }) {
			j.job.Program.Environment = append(j.job.Program.Environment, v)
		}
	}
}

// indexNames are the variables that hold the index of a job of an array.
func indexNames(d grid.Dialect) []string {
	if d == slurm {
		return []string{"SLURM_ARRAY_TASK_ID"}
	}
	return []string{"PBS_ARRAYID", "PBS_ARRAY_INDEX"}
}

func (j *reading) slurmEnvironment(add func(name, text string)) {
	s, n := &j.shape, func(n int64) string { return strconv.FormatInt(n, 10) }
	tasks := n(int64(j.job.Demand.Processes()))
	add("SLURM_JOB_NAME", j.job.Name)
	add("SLURM_NTASKS", tasks)
	add("SLURM_NPROCS", tasks)
	if s.cores > 1 {
		add("SLURM_CPUS_PER_TASK", n(s.cores))
	}
	add("SLURM_NTASKS_PER_NODE", n(s.perNode))
	add("SLURM_MEM_PER_NODE", n(s.memory>>20))
	add("SLURM_MEM_PER_CPU", n(s.memoryPerCore>>20))
	add("SLURM_JOB_PARTITION", string(j.job.Queue))
	add("SLURM_JOB_ACCOUNT", j.job.Account)
}

func (j *reading) pbsEnvironment(add func(name, text string)) {
	d := &j.job.Demand
	add("PBS_JOBNAME", j.job.Name)
	add("PBS_QUEUE", string(j.job.Queue))
	add("PBS_O_QUEUE", string(j.job.Queue))
	if len(d.Chunks) == 0 {
		return
	}
	first := d.Chunks[0]
	if j.dialect == torque {
		nodes := 0
		for _, c := range d.Chunks {
			nodes += c.Count
		}
		add("PBS_NUM_NODES", strconv.Itoa(nodes))
		add("PBS_NUM_PPN", strconv.Itoa(first.Processes))
		add("PBS_NP", strconv.Itoa(d.Cores()))
		add("PBS_WALLTIME", strconv.FormatInt(int64(j.job.Walltime/grid.Second), 10))
		return
	}
	part := j.shape.parts[0] // before pieces are packed together
	threads := int64(part.Cores)
	if part.threads > 0 {
		threads = part.threads
	}
	add("NCPUS", strconv.FormatInt(threads, 10))
	add("OMP_NUM_THREADS", strconv.FormatInt(threads, 10))
}
