package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// parseJob reads scontrol -o show job ID: one record for each task of an array, or each
// component of a heterogeneous job.
func parseJob(text []byte) ([]shown, error) {
	var out []shown
	err := eachLine(text, maxJobs, func(l line) error {
		job, err := l.job()
		if err == nil {
			out = append(out, job)
		}
		return err
	})
	return out, err
}

// shown is a job, and whether Slurm may start it again by itself.
type shown struct {
	external.Job
	requeue bool
}

func (l line) job() (shown, error) {
	v, err := l.values("JobId", "UserId", "Priority", "JobState", "Reason", "Requeue", "Restarts", "ExitCode", "RunTime",
		"TimeLimit", "SubmitTime", "StartTime", "EndTime", "Partition", "NodeList", "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task")
	if err != nil {
		return shown{}, err
	}
	name, err := l.value("JobName", "HetJobIdSet", "UserId")
	if err != nil {
		return shown{}, err
	}
	job := shown{Job: external.Job{Name: name, Reason: said(v["Reason"])}, requeue: v["Requeue"] == "1"}
	if job.Local, err = l.local(v["JobId"]); err != nil {
		return job, err
	}
	user, rest, ok := strings.Cut(v["UserId"], "(")
	if _, err := number(strings.TrimSuffix(rest, ")")); !ok || err != nil {
		return job, fmt.Errorf("UserId=%.40q", v["UserId"])
	}
	job.User = user
	first, _, _ := strings.Cut(v["Partition"], ",")
	job.Queue = grid.QueueName(first)
	if job.State, err = stateOf(v["JobState"], v["Reason"]); err != nil {
		return job, err
	}
	job.OurHold = job.State == external.Held && v["Reason"] == "JobHeldUser"
	if l.has("Comment") {
		if job.Mark, err = l.value("Comment", "StdErr"); err != nil {
			return job, err
		}
		job.Mark = strings.TrimSpace(job.Mark)
	}
	if l.has("Reservation") {
		if job.Reservation, err = l.value("Reservation"); err != nil {
			return job, err
		}
	}
	if err := job.times(v); err != nil {
		return job, err
	}
	if err := job.size(l, v); err != nil {
		return job, err
	}
	return job, job.ending(v)
}

func (l line) local(id string) (grid.LocalID, error) {
	if _, err := number(id); err != nil {
		return "", fmt.Errorf("JobId=%.40q", id)
	}
	if !l.has("ArrayTaskId") {
		return grid.LocalID(id), nil
	}
	array, err1 := l.value("ArrayJobId")
	task, err2 := l.value("ArrayTaskId")
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	if _, err := number(task); err != nil {
		return grid.LocalID(id), nil // the tasks that wait, as one record
	}
	return grid.LocalID(array + "_" + task), nil
}

func (job *shown) times(v map[string]string) error {
	var errs [4]error
	var started, ended grid.Tick
	job.Submitted, errs[0] = instant(v["SubmitTime"])
	started, errs[1] = instant(v["StartTime"])
	ended, errs[2] = instant(v["EndTime"])
	if job.Limit, errs[3] = span(v["TimeLimit"]); job.Limit == 0 {
		job.Limit = unlimited
	}
	// Of what has not begun, or not ended, they are plans.
	if job.State == external.Running || job.State == external.Done {
		job.Started = started
	}
	if job.State == external.Done {
		job.Finished = ended
	}
	return errors.Join(errs[:]...)
}

func (job *shown) size(l line, v map[string]string) error {
	least, most, fixed := strings.Cut(v["NumNodes"], "-")
	var s shape
	var errs [6]error
	s.nodes, errs[0] = number(least)
	if fixed {
		s.most, errs[1] = number(most)
	}
	cpus, _, _ := strings.Cut(v["NumCPUs"], "-")
	s.cpus, errs[2] = number(cpus)
	if v["NumTasks"] != "" {
		s.tasks, errs[3] = number(v["NumTasks"])
	}
	if v["CPUs/Task"] != "" {
		s.perTask, errs[4] = number(v["CPUs/Task"])
	}
	s.features, errs[5] = l.value("Features", "DelayBoot")
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if s.nodes > maxNodes || s.cpus > 1<<30 {
		return fmt.Errorf("%d nodes, %d CPUs", s.nodes, s.cpus)
	}
	var err error
	if job.Demand, err = s.demand(); err != nil || job.State != external.Running {
		return err
	}
	// Which node has how many is only in the listing: as even as can be.
	each := max(1, s.cpus/max(1, s.nodes))
	return eachHost(v["NodeList"], maxNodes, func(name []byte) error {
		job.Places = append(job.Places, external.Place{Node: grid.NodeName(name), Processes: max(1, each/max(1, s.perTask)), Cores: each})
		return nil
	})
}

func (job *shown) ending(v map[string]string) error {
	run, err1 := span(v["RunTime"])
	restarts, err2 := number(v["Restarts"])
	code, signal, _ := strings.Cut(v["ExitCode"], ":")
	exit, err3 := strconv.ParseUint(code, 10, 8)
	died, err4 := strconv.ParseUint(signal, 10, 7)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	fresh := restarts == 0 && v["NodeList"] == "" && run == 0
	job.NeverStarted = fresh && (v["JobState"] == "PENDING" || v["JobState"] == "CANCELLED")
	if job.State == external.Done {
		job.End = endOf(v["JobState"], v["Reason"], int(exit), int(died))
		job.Usage.Wall = run
	}
	return nil
}
