package script

import (
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
)

// Reasons that several directives share.
const (
	topology    = "brokers count whole cores, not sockets and threads: write --cpus-per-task and --ntasks-per-node"
	oneSite     = "it names nodes of one site, and the brokers choose the site: ask for a property that they have, or leave it out"
	oneCluster  = "it is a matter of one cluster's own configuration: leave it out"
	terminal    = "it is for the terminal at which sbatch runs"
	placement   = "the site places processes as it likes"
	affinity    = "it concerns steps of srun, to which you can give it"
	privileged  = "a job runs under the account that the site chooses: leave it out"
	noCountdown = "the batch system is not told"
)

// sbatch are the directives of sbatch 22.05 and later.
var sbatch = []directive{
	// how much
	{names: []string{"--nodes", "-N"}, form: "N", does: "so many nodes, each piece of the job on a node of its own; of a range N-M the least", set: setNodes},
	{names: []string{"--ntasks", "-n"}, form: "N", does: "processes; without --nodes they may lie on any nodes", set: number(func(j *reading) *int64 { return &j.shape.tasks }, 1, grid.MaxProcesses)},
	{names: []string{"--ntasks-per-node", "--tasks-per-node"}, form: "N", does: "processes on each node, or at most so many where --ntasks is given too", set: number(func(j *reading) *int64 { return &j.shape.perNode }, 1, grid.MaxProcesses)},
	{names: []string{"--cpus-per-task", "-c"}, form: "N", does: "cores for each process", set: number(func(j *reading) *int64 { return &j.shape.cores }, 1, grid.MaxProcesses)},
	{names: []string{"--mem"}, form: "SIZE[K|M|G|T]", does: "memory on each node; without --nodes all processes then lie on one node. 0 is all of a node, with --exclusive alone", set: setMem},
	{names: []string{"--mem-per-cpu"}, form: "SIZE[K|M|G|T]", does: "memory for each core", set: bytes(func(j *reading) *int64 { return &j.shape.memoryPerCore }, slurmSize)},
	{names: []string{"--mem-per-gpu"}, form: "SIZE[K|M|G|T]", does: "memory for each GPU", set: bytes(func(j *reading) *int64 { return &j.shape.memoryPerGPU }, slurmSize)},
	{names: []string{"--tmp"}, form: "SIZE[K|M|G|T]", does: "disk on each node", set: bytes(func(j *reading) *int64 { return &j.job.Demand.Disk }, slurmSize)},
	{names: []string{"--gres"}, form: "NAME[:TYPE][:N],…", does: "named resources of each node, such as gpu or gpu:a100, in the words of the sites; without --nodes all processes then lie on one node", set: setGres},
	{names: []string{"--gpus-per-node"}, form: "[TYPE:]N", does: "GPUs of each node, as --gres=gpu", set: setGPUs(func(s *shape) *gpus { return &s.gpusPerNode })},
	{names: []string{"--gpus", "-G"}, form: "[TYPE:]N", does: "GPUs of the whole job, which its nodes or processes share evenly", set: setGPUs(func(s *shape) *gpus { return &s.gpus })},
	{names: []string{"--gpus-per-task"}, form: "[TYPE:]N", does: "GPUs for each process", set: setGPUs(func(s *shape) *gpus { return &s.gpusPerTask })},
	{names: []string{"--cpus-per-gpu"}, form: "N", does: "cores for each GPU", set: number(func(j *reading) *int64 { return &j.shape.coresPerGPU }, 1, grid.MaxProcesses)},
	{names: []string{"--exclusive"}, form: "[user|mcs|topo]", lacks: true, does: "whole nodes, on which nobody else runs meanwhile", set: setExclusive},
	{names: []string{"--constraint", "-C"}, form: "FEATURE[&FEATURE…]", does: "properties that every node must have", set: setConstraint},
	// how long, when
	{names: []string{"--time", "-t"}, form: "TIME", does: "walltime: MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or DAYS-HOURS:MINUTES:SECONDS", set: setTime},
	{names: []string{"--begin", "-b"}, form: "TIME", does: "the job waits at its home until then: now+COUNT[UNIT], a day, a time of day or both, in your zone", set: setBegin},
	{names: []string{"--deadline"}, form: "TIME", does: "by then the job must have ended, or it is cancelled", set: setDeadline},
	{names: []string{"--signal"}, form: "[B:]SIGNAL[@SECONDS]", does: "the signal before the limit, 60 seconds before it if no time is given; all processes on the first node get it", set: setSignal},
	{names: []string{"--dependency", "-d"}, form: "TYPE:ID[:ID…],…", does: "waits at its home: after, afterok, afternotok, afterany, aftercorr of the identifiers of jobs and groups here; singleton", set: setSlurmDependency},
	{names: []string{"--hold", "-H"}, does: "waits at its home until it is released", set: setHold},
	{names: []string{"--nice"}, form: "[N]", lacks: true, does: "the priority among your own jobs becomes -N (100 if no number is given), from -1000 to 1000", set: setNice},
	{names: []string{"--requeue"}, does: "the job may be started again after a loss", set: func(j *reading, _ value) error { j.job.Rerunnable = true; return nil }},
	{names: []string{"--no-requeue"}, key: "--requeue", does: "the job is never started again, which also holds where a script says nothing", set: func(j *reading, _ value) error { j.job.Rerunnable = false; return nil }},
	// where, for whom
	{names: []string{"--partition", "-p"}, form: "NAME", does: "the queue that the site must have, and into which the job goes there", set: setQueue},
	{names: []string{"--clusters", "-M"}, form: "SITE,…", does: "only these sites may run it, by their names among the brokers", set: setSites},
	{names: []string{"--account", "-A"}, form: "NAME", does: "the account of the batch system that is charged", set: setAccount},
	{names: []string{"--mail-user"}, form: "NAME@HOST,…", does: "where word of the job goes", set: func(j *reading, v value) error { j.mail.to = v; return nil }},
	{names: []string{"--mail-type"}, form: "TYPE,…", does: "when: BEGIN, END, FAIL, ALL or NONE; needs --mail-user", set: setMailType},
	// names and files
	{names: []string{"--job-name", "-J"}, form: "NAME", does: "the job's name; without it that of the script", set: setName},
	{names: []string{"--comment"}, form: "TEXT", does: "is kept and shown", set: func(j *reading, v value) error {
		j.job.About.Annotations = append(j.job.About.Annotations, v.text)
		return nil
	}},
	{names: []string{"--output", "-o"}, form: "FILE", does: "standard output, and standard error where that has no file of its own; without it slurm-%j.out, of an array slurm-%A_%a.out. %j is the job's identifier, %A that of its group, %a the index, %x the name, %u you; %N is refused", set: setStream(func(s *streams) *stream { return &s.output })},
	{names: []string{"--error", "-e"}, form: "FILE", does: "standard error", set: setStream(func(s *streams) *stream { return &s.errors })},
	{names: []string{"--input", "-i"}, form: "FILE", does: "standard input, a file beside the script", set: setInput},
	{names: []string{"--chdir", "-D"}, form: "FOLDER", does: "working directory inside the sandbox; an absolute one is refused", set: setFolder},
	{names: []string{"--export"}, form: "NAME[=VALUE],…", does: "variables; a name alone takes your value. NONE is what a job here always gets; ALL has a warning, as your environment does not travel", set: setExport},
	{names: []string{"--array", "-a"}, form: "INDEXES[%N]", does: "a group of jobs, one for each index, at most N at once: 0-15, 1,3,5-7, 1-7:2", set: setArray(slurmArray)},
	// without effect here, and harmless
	{names: []string{"--get-user-env"}, form: "[SECONDS]", lacks: true, idle: "a job gets the environment of the site, and the variables that the script names"},
	{names: []string{"--open-mode"}, form: "append|truncate", idle: "files are new in each run's own sandbox"},
	{names: []string{"--time-min"}, form: "TIME", idle: "the walltime is not shortened"},
	{names: []string{"--no-kill", "-k"}, form: "[off]", lacks: true, idle: noCountdown},
	{names: []string{"--kill-on-invalid-dep"}, form: "yes|no", idle: "a job whose dependency cannot come true ends"},
	{names: []string{"--oversubscribe", "-s", "--share"}, idle: "a job that may share its cores runs on cores of its own too"},
	{names: []string{"--spread-job"}, idle: placement},
	{names: []string{"--use-min-nodes"}, idle: placement},
	{names: []string{"--contiguous"}, idle: placement},
	{names: []string{"--switches"}, form: "N[@TIME]", idle: placement},
	{names: []string{"--distribution", "-m"}, form: "METHOD", idle: placement},
	{names: []string{"--mem-bind"}, form: "METHOD", idle: affinity},
	{names: []string{"--gpu-bind"}, form: "METHOD", idle: affinity},
	{names: []string{"--gres-flags"}, form: "FLAG", idle: placement},
	{names: []string{"--hint"}, form: "compute_bound|memory_bound|nomultithread|multithread", does: "nomultithread is how cores are counted here anyway; the others have a warning", set: setHint},
	{names: []string{"--threads-per-core"}, form: "1", does: "how cores are counted here anyway; more is refused", set: one(topology)},
	{names: []string{"--ntasks-per-core"}, form: "1", does: "how cores are counted here anyway; more is refused", set: one(topology)},
	{names: []string{"--acctg-freq"}, form: "TEXT", idle: noCountdown},
	{names: []string{"--profile"}, form: "TEXT", idle: noCountdown},
	{names: []string{"--propagate"}, form: "[LIMITS]", lacks: true, idle: "limits of your terminal do not travel"},
	{names: []string{"--wait-all-nodes"}, form: "0|1", idle: "a job starts when all its nodes are there"},
	{names: []string{"--delay-boot"}, form: "TIME", idle: noCountdown},
	{names: []string{"--cpu-freq"}, form: "TEXT", idle: noCountdown},
	{names: []string{"--gpu-freq"}, form: "TEXT", idle: noCountdown},
	{names: []string{"--parsable"}, idle: terminal},
	{names: []string{"--quiet", "-Q"}, idle: terminal},
	{names: []string{"--verbose", "-v"}, idle: terminal},
	{names: []string{"--wait", "-W"}, idle: terminal + ": 'gclient submit --wait' waits"},
	{names: []string{"--ignore-pbs"}, idle: "#PBS lines are never read where there are #SBATCH lines"},
	// refused
	{names: []string{"--licenses", "-L"}, form: "NAME", refused: "brokers do not count licenses: leave it out, and name sites with --clusters that have them"},
	{names: []string{"--reservation"}, form: "NAME", refused: "a reservation belongs to one site, and the brokers choose: submit there by sbatch, or leave it out"},
	{names: []string{"--qos", "-q"}, form: "NAME", refused: oneCluster + "; --partition and --account are carried over"},
	{names: []string{"--wckey"}, form: "NAME", refused: oneCluster + "; --account is carried over"},
	{names: []string{"--nodelist", "-w"}, form: "NODES", refused: oneSite},
	{names: []string{"--exclude", "-x"}, form: "NODES", refused: oneSite},
	{names: []string{"--nodefile", "-F"}, form: "FILE", refused: oneSite},
	{names: []string{"--prefer"}, form: "FEATURES", refused: "a property is needed or not: write --constraint, or leave it out"},
	{names: []string{"--cluster-constraint"}, form: "FEATURES", refused: "write --clusters with the names of sites, or --constraint"},
	{names: []string{"--batch"}, form: "FEATURES", refused: "the first node is like the others: write --constraint"},
	{names: []string{"--priority"}, form: "N", refused: "only an operator may set a job's place in a queue: --nice orders your own jobs"},
	{names: []string{"--overcommit", "-O"}, refused: "each process has a core of its own: write the --ntasks that you need cores for"},
	{names: []string{"--mincpus"}, form: "N", refused: topology},
	{names: []string{"--sockets-per-node"}, form: "N", refused: topology},
	{names: []string{"--cores-per-socket"}, form: "N", refused: topology},
	{names: []string{"--ntasks-per-socket"}, form: "N", refused: topology},
	{names: []string{"--ntasks-per-gpu"}, form: "N", refused: "write --ntasks and --gpus-per-task"},
	{names: []string{"--gpus-per-socket"}, form: "N", refused: "write --gpus-per-node"},
	{names: []string{"--extra-node-info", "-B"}, form: "S[:C[:T]]", refused: topology},
	{names: []string{"--core-spec", "-S"}, form: "N", refused: oneCluster},
	{names: []string{"--thread-spec"}, form: "N", refused: oneCluster},
	{names: []string{"--network"}, form: "TYPE", refused: oneCluster},
	{names: []string{"--power"}, form: "FLAGS", refused: oneCluster},
	{names: []string{"--mcs-label"}, form: "NAME", refused: oneCluster},
	{names: []string{"--bb"}, form: "SPEC", refused: oneCluster},
	{names: []string{"--bbf"}, form: "FILE", refused: oneCluster},
	{names: []string{"--container"}, form: "PATH", refused: "start the container in the script, as by apptainer exec"},
	{names: []string{"--reboot"}, refused: oneCluster},
	{names: []string{"--uid"}, form: "USER", refused: privileged},
	{names: []string{"--gid"}, form: "GROUP", refused: privileged},
	{names: []string{"--export-file"}, form: "FILE", refused: "write the variables behind --export, or read the file in the script"},
	{names: []string{"--wrap"}, form: "COMMAND", refused: "a script is handed in already: 'gclient run' takes a command without one"},
	{names: []string{"--test-only"}, refused: "'gclient where' tells when and where it would run"},
	{names: []string{"--help", "-h", "--usage", "--version", "-V"}, refused: terminal + ": leave it out"},
}

func setMem(j *reading, v value) error {
	n, err := slurmSize(v.text)
	if err == nil && n == 0 {
		j.shape.wholeMemory = v.word
	}
	j.shape.memory, j.shape.memoryBy = n, v.word
	return err
}

func setGres(j *reading, v value) error {
	if v.text == "none" {
		return nil
	}
	for _, part := range strings.Split(v.text, ",") {
		name, amount := strings.TrimPrefix(part, "gres:"), int64(1)
		name = strings.TrimPrefix(name, "gres/")
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			if n, err := size(name[i+1:], 1, ""); err == nil {
				name, amount = name[:i], n
			}
		}
		r := grid.Resource{Name: name, Amount: amount}
		if amount == 0 {
			continue
		}
		if err := grid.CheckResource(r); err != nil {
			return err
		}
		j.shape.each = append(j.shape.each, r)
	}
	j.shape.eachBy = v.word
	return nil
}

// gpus is how many GPUs, of a type or any.
type gpus struct {
	grid.Resource
	by word
}

// setGPUs reads [TYPE:]N.
func setGPUs(to func(*shape) *gpus) func(*reading, value) error {
	return func(j *reading, v value) error {
		if strings.Contains(v.text, ",") {
			return errors.New("it asks for several types: write --gres with each of them")
		}
		name, number := "gpu", v.text
		if i := strings.LastIndexByte(v.text, ':'); i >= 0 {
			name, number = "gpu:"+v.text[:i], v.text[i+1:]
		} else if _, err := count(number, 0, grid.MaxAmount); err != nil {
			name, number = "gpu:"+v.text, "1"
		}
		n, err := count(number, 1, grid.MaxAmount)
		if err != nil {
			return err
		}
		r := grid.Resource{Name: name, Amount: n}
		*to(&j.shape) = gpus{r, v.word}
		return grid.CheckResource(r)
	}
}

func setExclusive(j *reading, v value) error {
	if v.text != "" {
		return errors.New("nodes are shared with nobody, or with all: write --exclusive alone")
	}
	j.job.Demand.Exclusive = true
	return nil
}

func setConstraint(j *reading, v value) error {
	if strings.ContainsAny(v.text, "|[]()*") {
		return errors.New("properties are needed all, on every node: join them with &")
	}
	list := strings.FieldsFunc(v.text, func(r rune) bool { return r == '&' || r == ',' })
	j.job.Demand.Properties = list
	if len(list) == 0 {
		return errNoValue
	}
	return grid.CheckProperties(list)
}

func setTime(j *reading, v value) error {
	s, err := slurmSpan(v.text)
	switch {
	case err != nil:
		return err
	case s == 0:
		return errors.New("a job here has a limit: write how long it runs at most")
	}
	return j.limit(s)
}

func (j *reading) limit(seconds int64) error {
	j.job.Walltime = grid.Tick(seconds) * grid.Second
	if j.job.Walltime > grid.MaxWalltime {
		return fmt.Errorf("it is longer than a job may run, %d days", grid.MaxWalltime/grid.Day)
	}
	return nil
}

func setBegin(j *reading, v value) error {
	t, err := slurmInstant(v.text, j.options.Now)
	j.job.Terms.NotBefore = grid.InstantOf(t)
	return err
}

func setDeadline(j *reading, v value) error {
	t, err := slurmInstant(v.text, j.options.Now)
	if err == nil && !t.After(j.options.Now) {
		return errors.New("it is past")
	}
	j.job.Terms.Deadline = grid.InstantOf(t)
	return err
}

func setHint(j *reading, v value) error {
	if v.text != "nomultithread" {
		j.warn(v.word, "has no effect: %s", placement)
	}
	return nil
}

// one accepts the value 1 alone.
func one(why string) func(*reading, value) error {
	return func(_ *reading, v value) error {
		if v.text != "1" {
			return errors.New(why)
		}
		return nil
	}
}

func bytes(to func(*reading) *int64, read func(string) (int64, error)) func(*reading, value) error {
	return func(j *reading, v value) (err error) {
		*to(j), err = read(v.text)
		return err
	}
}
