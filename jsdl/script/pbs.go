package script

import (
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
)

// qsub are the directives of TORQUE 6 and OpenPBS 23.
var qsub = []directive{
	{names: []string{"-l"}, form: "NAME=VALUE,…", many: true, does: "resources, see below"},
	{names: []string{"-W"}, form: "NAME=VALUE,…", many: true, does: "attributes, see below"},
	{names: []string{"-N"}, form: "NAME", does: "the job's name; without it that of the script", set: setName},
	{names: []string{"-q"}, form: "QUEUE", does: "the queue that the site must have, and into which the job goes there; QUEUE@SERVER is refused", set: setQueue},
	{names: []string{"-A"}, form: "NAME", does: "the account of the batch system that is charged", set: setAccount},
	{names: []string{"-P"}, form: "NAME", key: "-A", only: openPBS, does: "the project, taken as the account that is charged", set: setAccount},
	{names: []string{"-o"}, form: "FILE", does: "standard output; without it NAME.o. A host before it is dropped; $PBS_JOBID becomes the job's identifier, $PBS_JOBNAME the name, $PBS_ARRAYID, $PBS_ARRAY_INDEX and ^array_index^ the index", set: setStream(func(s *streams) *stream { return &s.output })},
	{names: []string{"-e"}, form: "FILE", does: "standard error; without it NAME.e", set: setStream(func(s *streams) *stream { return &s.errors })},
	{names: []string{"-j"}, form: "oe|eo|n", does: "oe: standard error goes where standard output does, eo: the other way", set: setJoin},
	{names: []string{"-v"}, form: "NAME[=VALUE],…", many: true, does: "variables; a name alone takes your value", set: setExport},
	{names: []string{"-V"}, idle: noEnvironment + ": write -v with the variables that the job needs"},
	{names: []string{"-S"}, form: "SHELL", does: "the shell that runs the script, by its absolute path; without it the one of the first line, else /bin/sh", set: setShell},
	{names: []string{"-J"}, form: "X-Y[:STEP][%N]", key: "array", only: openPBS, does: "a group of jobs, one for each index, at most N at once", set: setArray(pbsArray)},
	{names: []string{"-t"}, form: "INDEXES[%N]", key: "array", only: torque, does: "a group of jobs, one for each index, at most N at once: 0-15, 1,3,5-7", set: setArray(slurmArray)},
	{names: []string{"-r"}, form: "y|n", does: "y: the job may be started again after a loss. A script that does not say so is not", set: setRerun},
	{names: []string{"-h"}, does: "waits at its home until it is released", set: setHold},
	{names: []string{"-a"}, form: "[[[[CC]YY]MM]DD]hhmm[.SS]", does: "waits at its home until then, in your zone", set: setAfter},
	{names: []string{"-p"}, form: "N", does: "the priority among your own jobs; beyond 1000 it is 1000", set: setPriority},
	{names: []string{"-m"}, form: "abe|n", does: "word when the job fails (a), begins (b), ends (e); needs -M", set: setMailType},
	{names: []string{"-M"}, form: "NAME@HOST,…", does: "where word of the job goes", set: func(j *reading, v value) error { j.mail.to = v; return nil }},
	{names: []string{"-d", "-w"}, form: "FOLDER", only: torque, does: "working directory inside the sandbox; an absolute one is refused", set: setFolder},
	{names: []string{"-n"}, only: torque, does: "whole nodes, on which nobody else runs meanwhile", set: func(j *reading, _ value) error { j.job.Demand.Exclusive = true; return nil }},
	{names: []string{"-c"}, form: "WHEN", idle: "jobs are not checkpointed"},
	{names: []string{"-k"}, form: "oe", idle: "output comes back to you"},
	{names: []string{"-f"}, only: torque, idle: "a job is started again only where -r y says so"},
	{names: []string{"-R"}, form: "oe", only: openPBS, idle: "output is taken away when it has come home"},
	{names: []string{"-z"}, idle: "it is for the terminal at which qsub runs"},
	{names: []string{"-C"}, form: "PREFIX", idle: "a prefix counts on the command line alone"},
	{names: []string{"-b"}, form: "SECONDS", idle: "it is for the terminal at which qsub runs"},
	{names: []string{"-K"}, form: "SECONDS", only: torque, idle: "the site's grace time holds between TERM and KILL"},
	{names: []string{"-I"}, refused: "interactive jobs have a terminal at one site: submit there, or leave it out"},
	{names: []string{"-X", "-x"}, refused: "there is no display where the job runs: leave it out"},
	{names: []string{"-u"}, form: "USER", refused: privileged},
	{names: []string{"-D"}, form: "FOLDER", refused: privileged},
	{names: []string{"-T"}, form: "SCRIPT", refused: oneCluster},
	{names: []string{"-F"}, form: "ARGUMENTS", refused: "write the arguments behind the script, as in gclient submit job.sh A B"},
	{names: []string{"-L"}, form: "TASKS", refused: "write -l nodes=N:ppn=N"},
	{names: []string{"-E"}, refused: oneCluster},
	{names: []string{"-G"}, only: openPBS, refused: "interactive jobs have a display at one site: submit there, or leave it out"},
	{names: []string{"-i"}, form: "ID", refused: oneCluster},
}

// resources are the NAME=VALUE of -l; the last is any other.
var resources = []directive{
	{names: []string{"nodes"}, form: "N[:ppn=N][:gpus=N][:PROPERTY]…[+…]", key: "-l nodes", does: "pieces of N processes each on one node; parts joined by + may differ in size. gpus counts the resource gpu", set: setPBSNodes},
	{names: []string{"select"}, form: "[N:]ncpus=N[:mpiprocs=N][:mem=SIZE][:…][+…]", key: "-l select", only: openPBS, does: "pieces of ncpus cores and mpiprocs processes (1) each on one node. ngpus counts the resource gpu; other numbers are resources and other words properties, by their names at the sites", set: setSelect},
	{names: []string{"place"}, form: "free|pack|scatter[:excl]", key: "-l place", only: openPBS, does: "scatter: each piece on a node of its own; pack: all on one; excl: nobody else on them", set: setPlace},
	{names: []string{"procs"}, form: "N", key: "-l procs", only: torque, does: "processes on any nodes", set: number(func(j *reading) *int64 { return &j.shape.anywhere }, 1, grid.MaxProcesses)},
	{names: []string{"ncpus"}, form: "N", key: "-l ncpus", does: "cores on one node", set: number(func(j *reading) *int64 { return &j.shape.together }, 1, grid.MaxProcesses)},
	{names: []string{"walltime"}, form: "[[HH:]MM:]SS", key: "-l walltime", does: "walltime; TORQUE also takes DD:HH:MM:SS", set: setWalltime},
	{names: []string{"mem"}, form: "SIZE", key: "-l mem", does: "memory of the whole job, shared out by cores", set: bytes(func(j *reading) *int64 { return &j.shape.total }, pbsSize)},
	{names: []string{"pmem"}, form: "SIZE", key: "-l pmem", does: "memory of each process", set: bytes(func(j *reading) *int64 { return &j.shape.process }, pbsSize)},
	{names: []string{"vmem"}, form: "SIZE", key: "-l vmem", does: "taken as mem where there is no mem, with a warning", set: func(j *reading, v value) (err error) { j.shape.virtual = v; _, err = pbsSize(v.text); return err }},
	{names: []string{"pvmem"}, form: "SIZE", key: "-l pvmem", does: "the address space of each process is limited", set: limit(grid.LimitVirtual, pbsSize)},
	{names: []string{"file"}, form: "SIZE", key: "-l file", does: "the size of each file that is written is limited", set: limit(grid.LimitFile, pbsSize)},
	{names: []string{"pcput"}, form: "TIME", key: "-l pcput", does: "the processor time of each process is limited", set: limit(grid.LimitCPU, func(s string) (int64, error) { return pbsSpan(s, true) })},
	{names: []string{"cput"}, form: "TIME", key: "-l cput", does: "has a warning: the limit of a job is its walltime, without which it is refused", set: func(j *reading, v value) error { j.shape.cput = v.word; return nil }},
	{names: []string{"gpus", "ngpus"}, form: "N", key: "-l gpus", refused: "write it with the nodes: -l nodes=1:ppn=8:gpus=N, or -l select=1:ncpus=8:ngpus=N"},
	{names: []string{"mpiprocs", "ompthreads"}, form: "N", key: "-l mpiprocs", refused: "write it in select"},
	{names: []string{"naccesspolicy"}, form: "POLICY", key: "-l naccesspolicy", only: torque, does: "singlejob: whole nodes; shared: as without it; others are refused", set: setAccess},
	{names: []string{"nice"}, form: "N", key: "-l nice", idle: "processes run at the priority that the site gives them"},
	{names: []string{"software"}, form: "NAME", refused: "brokers do not count licenses: leave it out"},
	{names: []string{"advres"}, form: "NAME", refused: "a reservation belongs to one site, and the brokers choose: submit there by qsub, or leave it out"},
	{names: []string{"qos"}, form: "NAME", refused: oneCluster + "; -q and -A are carried over"},
	{names: []string{"host", "hostlist", "neednodes"}, form: "NODES", refused: oneSite},
	{names: []string{"any other"}, form: "VALUE", refused: "it is a resource of one site: in select, and as a property in nodes, such names are carried over"},
}

// attributes are the NAME=VALUE of -W; the last is any other.
var attributes = []directive{
	{names: []string{"depend"}, form: "TYPE:ID[:ID…],…", key: "-W depend", does: "waits at its home: after, afterok, afternotok, afterany of the identifiers of jobs and groups here (afterokarray and the like too)", set: setPBSDependency},
	{names: []string{"umask"}, form: "MASK", idle: "files belong to you when they come back"},
	{names: []string{"sandbox"}, form: "private|HOME", idle: "a job always has a sandbox of its own"},
	{names: []string{"block"}, form: "true", idle: "'gclient submit --wait' waits"},
	{names: []string{"run_count", "job_radix"}, form: "N", idle: oneCluster},
	{names: []string{"group_list"}, form: "GROUP", refused: privileged},
	{names: []string{"stagein"}, form: "FILE@HOST:FILE", refused: "name files that go along beside the script: gclient submit --include FILE job.sh"},
	{names: []string{"stageout"}, form: "FILE@HOST:FILE", refused: "files come back by themselves, or by gclient submit --bring PATTERN job.sh; one that goes elsewhere is a Target in the document that 'gclient convert' makes"},
	{names: []string{"x"}, form: "TEXT", refused: "it is for Maui or Moab of one site: leave it out"},
	{names: []string{"any other"}, form: "VALUE", refused: "brokers do not know it: leave it out"},
}

const noEnvironment = "the environment of your terminal does not travel"

func setJoin(j *reading, v value) error {
	if v.text != "oe" && v.text != "eo" && v.text != "n" {
		return fmt.Errorf("%s is not oe, eo or n", short(v.text))
	}
	j.streams.join = v.text
	return nil
}

func setShell(j *reading, v value) error {
	shell, _, _ := strings.Cut(v.text, ",")
	shell, host, at := strings.Cut(shell, "@")
	if !strings.HasPrefix(shell, "/") || strings.ContainsAny(shell, "$`;|&<>*\"'(){} ") {
		return fmt.Errorf("%s is no absolute path of a shell", short(shell))
	}
	if at {
		j.warn(v.word, "is taken for all sites, not for %s alone", short(host))
	}
	j.shell = shell
	return nil
}

func setRerun(j *reading, v value) error {
	if v.text != "y" && v.text != "n" {
		return fmt.Errorf("%s is not y or n", short(v.text))
	}
	j.job.Rerunnable = v.text == "y"
	return nil
}

func setAfter(j *reading, v value) error {
	t, err := pbsInstant(v.text, j.options.Now)
	j.job.Terms.NotBefore = grid.InstantOf(t)
	return err
}

func setPriority(j *reading, v value) error {
	n, err := count(v.text, -1024, 1023)
	j.job.Terms.Priority = j.clamped(v, n)
	return err
}

func setWalltime(j *reading, v value) error {
	s, err := pbsSpan(v.text, j.dialect == torque)
	switch {
	case err != nil:
		return err
	case s == 0:
		return errors.New("a job here has a limit: write how long it runs at most")
	}
	return j.limit(s)
}

func setAccess(j *reading, v value) error {
	switch strings.ToLower(v.text) {
	case "singlejob":
		j.job.Demand.Exclusive = true
	case "shared":
	default:
		return errors.New("nodes are for one job, or shared with all: write singlejob, or leave it out")
	}
	return nil
}

// limit makes the set of a limit of each process.
func limit(name grid.LimitName, read func(string) (int64, error)) func(*reading, value) error {
	return func(j *reading, v value) error {
		n, err := read(v.text)
		j.job.Program.SetLimit(name, n)
		return err
	}
}
