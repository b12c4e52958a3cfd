// Package torque is the face of TORQUE 6.1.3 with Maui 3.5: the commands, their
// output, errors and exit codes, as they were recorded from real ones. What a
// command of the fake batch system does not know ends with exit code 2 and says so.
//
// The traps of the real ones are kept: an unknown id ends most commands with 153 and
// not a word; qhold of a running job ends with 0 and leaves it running; releaseres
// ends with 0 whatever happened; reservations of named hosts overlap silently, and
// leak where they are made of tasks; showq shows no jobs, with 0, when the server is
// down; an ended job is known for keep_completed seconds only.
package torque

import (
	"fmt"
	"os/user"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

type command func(*batch.System, *batch.Call) batch.Answer

var server = map[string]command{
	"qsub": qsub, "qstat": qstat, "qdel": qdel, "qhold": qhold, "qrls": qrls, "qalter": qalter, "qrerun": qrerun,
	"qsig": qsig, "qmgr": qmgr, "pbsnodes": pbsnodes,
}

var scheduler = map[string]command{
	"showq": showq, "showres": showres, "showconfig": showconfig, "setres": setres, "releaseres": releaseres,
	"showstart": showstart, "checkjob": checkjob, "showbf": showbf, "mdiag": mdiag, "diagnose": mdiag,
}

// Commands are the names of all of them.
func Commands() []string {
	var out []string
	for _, m := range []map[string]command{server, scheduler} {
		for name := range m {
			out = append(out, name)
		}
	}
	return out
}

// Queues are those of the recordings.
func Queues() []batch.Queue {
	return []batch.Queue{
		{Name: "short", MaxWall: 30 * time.Minute, MaxNodes: 1, Wall: 10 * time.Minute},
		{Name: "closed", Disabled: true},
		{Name: "batch", Wall: time.Hour},
	}
}

// ReadsStdin reports whether a qsub takes its script from standard input.
func ReadsStdin(args []string) bool {
	opts, rest, bad := batch.Options(args, qsubOptions, "version")
	return bad == "" && len(rest) == 0 && !batch.Has(opts, "version")
}

// Serve answers a call. The system is locked.
func Serve(s *batch.System, c *batch.Call) batch.Answer {
	if f, ok := scheduler[c.Command]; ok {
		switch {
		case len(c.Args) == 1 && c.Args[0] == "--version":
			return batch.Fail(0, "maui client version 3.5-TempleHPC\n")
		case s.Faults.NoScheduler || s.NoReservations:
			return batch.Fail(1, "ERROR:    cannot send request to server %s:42559 (server may not be running)\nERROR:    cannot request service (status)\n", s.Host)
		}
		return f(s, c)
	}
	f, ok := server[c.Command]
	switch {
	case !ok:
		return batch.NotServed(c, "")
	case len(c.Args) == 1 && c.Args[0] == "--version":
		return batch.Out("Version: 6.1.3\nCommit: \n")
	case s.Faults.Down:
		return down(s, c)
	}
	return f(s, c)
}

// down is what each command says when pbs_server is not there.
func down(s *batch.System, c *batch.Call) batch.Answer {
	once := fmt.Sprintf("\nUnable to communicate with %s(127.0.0.1)\nCannot connect to specified server host '%s'.\n", s.Host, s.Host)
	switch c.Command {
	case "qstat":
		if contains(c.Args, "-B") {
			return batch.Fail(145, "%sqstat: cannot connect to server %s (errno=111) Connection refused\nqstat: Error (-111 - Unknown error -111) \n",
				strings.Repeat(once, 3), s.Host)
		}
		return batch.Fail(111, "%sqstat: cannot connect to server %s (errno=111) Connection refused\nqstat: Error (111 - Connection refused) \n",
			strings.Repeat(once, 3), s.Host)
	case "pbsnodes":
		return batch.Fail(1, "%spbsnodes: cannot connect to server %s, error=111 (Connection refused)\n", once, s.Host)
	case "qmgr":
		return batch.Fail(3, "%sqmgr: cannot connect to server  (errno=111) Connection refused\n", once)
	}
	return batch.Fail(111, "%s%s: cannot connect to server %s (errno=111) Connection refused\n", once, c.Command, s.Host)
}

// group of a user; the recordings' users have one of their own name.
func group(name string) string {
	if u, err := user.Lookup(name); err == nil {
		if g, err := user.LookupGroupId(u.Gid); err == nil {
			return g.Name
		}
	}
	return name
}

// jobs are what Maui knows: nothing when the server is down, and nothing that has ended.
func jobs(s *batch.System) []*batch.Job {
	var out []*batch.Job
	for _, j := range s.Jobs {
		if !j.Ended() && !s.Faults.Down {
			out = append(out, j)
		}
	}
	return out
}
