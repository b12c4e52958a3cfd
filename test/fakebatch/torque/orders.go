package torque

import (
	"strconv"
	"strings"
	"syscall"

	"gbroker/test/fakebatch/batch"
)

// each runs one order on each job that is named. An unknown id ends with 153, and most commands say nothing of it.
func each(s *batch.System, c *batch.Call, ids []string, silent bool, act func(*batch.Job) batch.Answer) batch.Answer {
	var all batch.Answer
	for _, id := range ids {
		full, ok := s.FullID(id)
		j := s.Job(full)
		switch {
		case !ok:
			all = all.And(batch.Fail(1, "%s: illegally formed job identifier: %s\n", c.Command, id))
		case j == nil && silent:
			all = all.And(batch.Answer{Exit: 153})
		case j == nil && c.Command == "qdel":
			all = all.And(batch.Fail(153, "qdel: nonexistent job id: %s\n", id))
		case j == nil:
			all = all.And(batch.Fail(153, "%s: Unknown Job Id Error MSG=cannot locate job %s\n", c.Command, full))
		case j.User != c.User && !s.Operator(c.User):
			all = all.And(batch.Fail(159, "%s: Unauthorized Request  MSG=operation not permitted %s\n", c.Command, full))
		default:
			all = all.And(act(j))
		}
	}
	return all
}

func qdel(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "pW:m:", "")
	switch {
	case bad != "":
		return batch.NotServed(c, "-"+bad)
	case len(ids) == 0:
		return batch.Fail(2, "usage: qdel [{ -a | -c | -p | -t | -W delay | -m message}] [-b retry_seconds] [<JOBID>[<JOBID>]|'all'|'ALL']...\n       -a -c, -m, -p, -t, and -W are mutually exclusive\n")
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		switch {
		case batch.Has(opts, "p") && !s.Manager(c.User):
			return batch.Fail(159, "qdel: Unauthorized Request  %s\n", j.ID)
		case batch.Has(opts, "p"):
			s.Delete(j, c.User, c.Now)
			s.Lose(j.ID)
		case j.Ended():
			return batch.Fail(170, "qdel: Request invalid for state of job MSG=invalid state for job - COMPLETE %s\n", j.ID)
		case j.Runs() && dead(s, j):
			return batch.Fail(224, "qdel: Server could not connect to MOM %s\n", j.ID)
		default:
			s.Delete(j, c.User, c.Now)
		}
		return batch.Answer{}
	})
}

// dead reports that the first node of a job is down: nobody there obeys.
func dead(s *batch.System, j *batch.Job) bool {
	n := s.Node(j.Parts[0].Node)
	return n != nil && n.Down
}

// letters of -h; u where it is not given.
func letters(c *batch.Call, opts []batch.Option) (string, *batch.Answer) {
	v := batch.Get(opts, "h")
	if v == "" {
		return "u", nil
	}
	if strings.Trim(v, "uosn") != "" {
		a := batch.Fail(2, "%s: illegal -h value\nusage: %s [-h hold_list] [-t array_range] job_identifier...\n", c.Command, c.Command)
		return "", &a
	}
	return v, nil
}

func qhold(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "h:", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	kind, fail := letters(c, opts)
	if fail != nil {
		return *fail
	}
	return each(s, c, ids, true, func(j *batch.Job) batch.Answer {
		switch {
		case strings.ContainsAny(kind, "so") && !s.Manager(c.User):
			return batch.Fail(159, "qhold: Unauthorized Request  %s\n", j.ID)
		case j.Ended():
			return batch.Fail(170, "qhold: Request invalid for state of job MSG=invalid state for job - COMPLETE %s\n", j.ID)
		case j.Waits():
			j.Hold(kind, c.Now)
			s.Wake()
		} // a running job runs on, with 0 and no hold
		return batch.Answer{}
	})
}

func qrls(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "h:", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	kind, fail := letters(c, opts)
	if fail != nil {
		return *fail
	}
	return each(s, c, ids, true, func(j *batch.Job) batch.Answer {
		switch {
		case strings.ContainsAny(kind, "so") && !s.Manager(c.User):
			return batch.Fail(159, "qrls: Unauthorized Request  %s\n", j.ID)
		case !j.Release(kind, c.Now):
			return batch.Fail(70, "qrls: The requested state or substate can't be set from the job's current state (slot limit in effect). %s\n", j.ID)
		}
		s.Wake()
		return batch.Answer{}
	})
}

func qrerun(s *batch.System, c *batch.Call) batch.Answer {
	_, ids, bad := batch.Options(c.Args, "f", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		switch {
		case !s.Operator(c.User):
			return batch.Fail(159, "qrerun: Unauthorized Request  MSG=additional permissions required (ATR_DFLAG_MGWR | ATR_DFLAG_OPWR) %s\n", j.ID)
		case !j.Runs() || !j.Rerun:
			return batch.Fail(170, "qrerun: Request invalid for state of job %s\n", j.ID)
		}
		s.Requeue(j)
		return batch.Answer{}
	})
}

// signals that qsig is served with.
var signals = map[string]syscall.Signal{"0": 0, "SIGNULL": 0, "SIGTERM": syscall.SIGTERM, "TERM": syscall.SIGTERM, "15": syscall.SIGTERM,
	"SIGKILL": syscall.SIGKILL, "KILL": syscall.SIGKILL, "9": syscall.SIGKILL, "SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2}

func qsig(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "s:", "")
	sig, known := signals[batch.Get(opts, "s")]
	if bad != "" || !known {
		return batch.NotServed(c, "-s "+batch.Get(opts, "s"))
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		if !j.Runs() {
			return batch.Fail(170, "qsig: Request invalid for state of job MSG=invalid state for job - %s %s\n", "QUEUED", j.ID)
		}
		s.Signal(j, sig)
		return batch.Answer{}
	})
}

func qalter(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "A:h:l:N:p:r:W:", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	return each(s, c, ids, true, func(j *batch.Job) batch.Answer {
		if j.Ended() {
			return batch.Fail(170, "qalter: Request invalid for state of job MSG=invalid state for job - COMPLETE %s\n", j.ID)
		}
		changed := *j
		changed.Resources = append([]batch.Value{}, j.Resources...)
		o := order{job: &changed}
		for _, opt := range opts {
			if opt.Name == "h" {
				return batch.NotServed(c, "-h")
			}
			if fail := o.option(s, c, opt); fail != nil {
				fail.Stderr = []byte(strings.Replace(string(fail.Stderr), "qsub: submit error (", "qalter: (", 1))
				return *fail
			}
		}
		switch {
		case j.Runs() && changed.Resource("nodes") != j.Resource("nodes"):
			return batch.Fail(169, "qalter: Cannot modify attribute while job running  Resource_List.nodes %s\n", j.ID)
		case j.Runs() && changed.Wall > j.Wall && !s.Manager(c.User):
			return batch.Fail(159, "qalter: Unauthorized Request  %s\n", j.ID)
		}
		if changed.Resource("nodes") != "" {
			changed.SetResource("nodect", strconv.Itoa(nodect(&changed)))
		}
		changed.Modified = c.Now
		*j = changed
		j.Settle(c.Now)
		s.Wake()
		return batch.Answer{}
	})
}
