// Package openpbs is the face of OpenPBS 23.06: the commands, their output, errors
// and exit codes, as they were recorded from real ones. What a command of the
// fake batch system does not know ends with exit code 2 and says so.
//
// The traps of the real ones are kept: valid JSON without jobs, and 255, when the
// server is down; only the first of several jobs without -E; ended jobs only with -x;
// DENIED with 0; numbers and booleans guessed from text; a job that never ran is F
// without an exit status; a reservation's queue dies with it, and its jobs too.
package openpbs

import (
	"fmt"
	"strings"

	"gbroker/test/fakebatch/batch"
)

type command func(*batch.System, *batch.Call) batch.Answer

var commands = map[string]command{
	"qsub": qsub, "qstat": qstat, "qdel": qdel, "qhold": qhold, "qrls": qrls, "qalter": qalter, "qmove": qmove, "qrerun": qrerun, "qsig": qsig,
	"qmgr": qmgr, "pbsnodes": pbsnodes, "pbs_rsub": rsub, "pbs_rstat": rstat, "pbs_ralter": ralter, "pbs_rdel": rdel,
}

// Commands are the names of all of them.
func Commands() []string {
	var out []string
	for name := range commands {
		out = append(out, name)
	}
	return out
}

// Queues are those of the recordings.
func Queues() []batch.Queue { return []batch.Queue{{Name: "workq"}} }

// ReadsStdin reports whether a qsub takes its script from standard input.
func ReadsStdin(args []string) bool {
	opts, rest, bad := batch.Options(args, qsubOptions, "version")
	return bad == "" && len(rest) == 0 && !batch.Has(opts, "version")
}

// Serve answers a call. The system is locked.
func Serve(s *batch.System, c *batch.Call) batch.Answer {
	f, ok := commands[c.Command]
	switch {
	case !ok:
		return batch.NotServed(c, "")
	case len(c.Args) == 1 && c.Args[0] == "--version":
		return batch.Out("pbs_version = 23.06.06\n")
	case s.Faults.Down:
		return down(s, c)
	}
	return f(s, c)
}

// down is what each command says when the server is not there. qstat still writes JSON.
func down(s *batch.System, c *batch.Call) batch.Answer {
	refused := "Connection refused\n"
	host := s.Host + " "
	switch c.Command {
	case "qstat":
		a := batch.Fail(255, "%sqstat: cannot connect to server %s(errno=15010)\n", refused, host)
		if strings.Contains(strings.Join(c.Args, " "), "json") {
			a.Stdout = []byte(document(s, c, "", nil))
		}
		return a
	case "pbsnodes":
		return batch.Fail(1, "%spbsnodes: cannot connect to server %s, error=15010\n", refused, s.Host)
	case "qmgr":
		return batch.Fail(3, "%sqmgr: cannot connect to server %s(errno=15010)\n", refused, host)
	case "qdel":
		return batch.Fail(162, "%sCouldn't connect to cluster: %s\n", refused, s.Host)
	case "pbs_rstat":
		host = ""
	}
	return batch.Fail(162, "%s%s: cannot connect to server %s(errno=15010)\n", refused, c.Command, host)
}

// each runs one order on each job that is named.
func each(s *batch.System, c *batch.Call, ids []string, ended bool, act func(*batch.Job) batch.Answer) batch.Answer {
	var all batch.Answer
	for _, id := range ids {
		full, ok := s.FullID(id)
		j := s.Job(full)
		switch {
		case !ok:
			all = all.And(batch.Fail(1, "%s: illegally formed job identifier: %s\n", c.Command, id))
		case j == nil:
			all = all.And(batch.Fail(153, "%s: Unknown Job Id %s\n", c.Command, full))
		case j.User != c.User && !s.Manager(c.User):
			all = all.And(batch.Fail(159, "%s: Unauthorized Request  %s\n", c.Command, full))
		case j.Ended() && !ended:
			all = all.And(batch.Fail(35, "%s: Job has finished %s\n", c.Command, full))
		default:
			all = all.And(act(j))
		}
	}
	return all
}

func qdel(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "xW:", "")
	switch {
	case bad != "" || batch.Get(opts, "W") != "" && batch.Get(opts, "W") != "force":
		return batch.NotServed(c, bad)
	case len(ids) == 0:
		return batch.Fail(2, "usage:\n\tqdel [-W force|suppress_email=X] [-x] job_identifier...\n\tqdel --version\n")
	}
	history := batch.Has(opts, "x")
	return each(s, c, ids, history, func(j *batch.Job) batch.Answer {
		if j.Ended() {
			s.Drop(j)
			return batch.Answer{}
		}
		s.Delete(j, c.User, c.Now)
		return batch.Answer{}
	})
}

// hold is qhold; release is qrls.
func hold(s *batch.System, c *batch.Call, act func(j *batch.Job, letters string)) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "h:", "")
	letters := batch.Get(opts, "h")
	switch {
	case bad != "":
		return batch.NotServed(c, bad)
	case letters == "":
		letters = "u"
	case strings.Trim(letters, "uosn") != "":
		return batch.Fail(2, "%s: illegal -h value\n", c.Command)
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		if strings.ContainsAny(letters, "so") && !s.Manager(c.User) {
			return batch.Fail(159, "%s: Unauthorized Request  %s\n", c.Command, j.ID)
		}
		act(j, letters)
		s.Wake()
		return batch.Answer{}
	})
}

// qhold of a running job notes the hold, and the job runs on.
func qhold(s *batch.System, c *batch.Call) batch.Answer {
	return hold(s, c, func(j *batch.Job, letters string) {
		j.Hold(letters, c.Now)
		j.Comment = fmt.Sprintf("Job held by %s on %s", c.User, batch.Long(c.Now.In(c.Zone())))
	})
}

func qrls(s *batch.System, c *batch.Call) batch.Answer {
	return hold(s, c, func(j *batch.Job, letters string) {
		j.Release(letters, c.Now)
		j.Comment = ""
	})
}

func qrerun(s *batch.System, c *batch.Call) batch.Answer {
	_, ids, bad := batch.Options(c.Args, "", "")
	if bad != "" {
		return batch.NotServed(c, bad)
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		switch {
		case !s.Manager(c.User):
			return batch.Fail(159, "qrerun: Unauthorized Request  %s\n", j.ID)
		case !j.Runs():
			return batch.Fail(168, "qrerun: Request invalid for state of job %s\n", j.ID)
		case !j.Rerun:
			return batch.Fail(172, "qrerun: Job is not rerunnable %s\n", j.ID)
		}
		s.Requeue(j)
		return batch.Answer{}
	})
}

// qsig suspends and resumes, for managers.
func qsig(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "s:", "")
	what := batch.Get(opts, "s")
	if bad != "" || what != "suspend" && what != "resume" {
		return batch.NotServed(c, bad)
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		switch {
		case !s.Manager(c.User):
			return batch.Fail(159, "qsig: Unauthorized Request  %s\n", j.ID)
		case !j.Runs() || j.State == batch.Exiting:
			return batch.Fail(168, "qsig: Request invalid for state of job %s\n", j.ID)
		case what == "suspend":
			s.Suspend(j)
		default:
			s.Resume(j)
		}
		return batch.Answer{}
	})
}

// destination is the first queue of a route that a job may enter; nil is none.
func destination(s *batch.System, c *batch.Call, j *batch.Job, route []string) *batch.Queue {
	for _, name := range route {
		if _, fail := enter(s, c, j, name); fail == nil {
			return s.Queue(name)
		}
	}
	return nil
}

func qmove(s *batch.System, c *batch.Call) batch.Answer {
	_, rest, bad := batch.Options(c.Args, "", "")
	if bad != "" || len(rest) < 2 {
		return batch.NotServed(c, bad)
	}
	name, server, at := strings.Cut(rest[0], "@")
	return each(s, c, rest[1:], false, func(j *batch.Job) batch.Answer {
		if at && server != s.Host {
			return batch.Fail(160, "qmove: Access from host not allowed, or unknown host %s\n", j.ID)
		}
		if j.Runs() {
			return batch.Fail(168, "qmove: Request invalid for state of job %s\n", j.ID)
		}
		reservation, fail := enter(s, c, j, name)
		if fail != nil {
			fail.Stderr = []byte(strings.TrimRight(string(fail.Stderr), " \n") + " " + j.ID + "\n")
			return *fail
		}
		j.Queue, j.Reservation, j.Modified = name, reservation, c.Now
		s.Wake()
		return batch.Answer{}
	})
}

// enter decides whether a job may enter a queue, which may be a reservation's.
func enter(s *batch.System, c *batch.Call, j *batch.Job, name string) (reservation string, fail *batch.Answer) {
	no := func(exit int, text string) (string, *batch.Answer) {
		a := batch.Fail(exit, "%s: %s\n", c.Command, text)
		return "", &a
	}
	if b := s.Reservation(name + "." + s.Host); b != nil && !strings.Contains(name, ".") {
		switch {
		case !contains(b.Users, j.User):
			return no(159, "Unauthorized Request ")
		case !b.Confirmed:
			return no(173, "Queue is not enabled")
		case j.Cores() > b.Cores():
			return no(188, "Job violates queue and/or server resource limits")
		}
		return b.ID, nil
	}
	q := s.Queue(name)
	switch {
	case q == nil:
		return no(170, "Unknown queue")
	case !q.Takes():
		return no(173, "Queue is not enabled")
	case q.Users != nil && !contains(q.Users, j.User):
		return no(159, "Unauthorized Request ")
	case q.MaxWall > 0 && j.Wall > q.MaxWall || q.MaxNodes > 0 && chunks(j) > q.MaxNodes:
		return no(188, "Job violates queue and/or server resource limits")
	}
	return "", nil
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

// qmgr reads: print server, list sched.
func qmgr(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "c:", "")
	f := strings.Fields(batch.Get(opts, "c"))
	if bad != "" || len(rest) > 0 || len(f) != 2 {
		return batch.NotServed(c, bad)
	}
	switch {
	case strings.HasPrefix("list", f[0]) && strings.HasPrefix("sched", f[1]):
		return batch.Out("%s", strings.ReplaceAll(schedText, "HOST", s.Host))
	case strings.HasPrefix("print", f[0]) && strings.HasPrefix("server", f[1]):
		return batch.Out("%s", printServer(s))
	}
	return batch.NotServed(c, f[1])
}

const schedText = `Sched default
    sched_host = HOST
    sched_cycle_length = 00:20:00
    throughput_mode = True
    job_run_wait = runjob_hook
    partition = pbs-default
    sched_priv = /var/spool/pbs/sched_priv
    sched_log = /var/spool/pbs/sched_logs
    scheduling = True
    scheduler_iteration = 600
    state = idle
    preempt_queue_prio = 150
    preempt_prio = express_queue, normal_jobs
    preempt_order = SCR
    preempt_sort = min_time_since_start
    log_events = 767
    server_dyn_res_alarm = 30

`
