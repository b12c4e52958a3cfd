package torque

import (
	"fmt"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// meanings of exit codes: TORQUE's error number modulo 256. Those that say that the request is wrong
// are invalid, so that nobody tries again.
var meanings = map[int]struct {
	invalid bool
	says    string
}{
	1:   {false, "the command could not do it"},
	2:   {true, "the command was used wrongly"},
	3:   {false, "the command could not do it"},
	27:  {true, "the list of nodes is wrong"},
	94:  {false, "the server is not known, or does not take us: see submit_hosts and acl_hosts"},
	145: {false, "the server does not answer: is pbs_server running?"}, // qstat -B: -111
	33:  {false, "trqauthd does not run on this machine: start it"},
	111: {false, "the server does not answer: is pbs_server running?"},
	153: {true, "unknown job"},
	154: {true, "unknown attribute"},
	159: {true, "not allowed: the job is another user's (and query_other_jobs is False, where it was asked about), or it needs an operator of TORQUE"},
	162: {false, "the server is not known, or does not take us: see submit_hosts and acl_hosts"},
	168: {true, "a value that TORQUE does not take"},
	169: {false, "not in this state of the job"},
	170: {false, "not in this state of the job"},
	172: {true, "unknown queue"},
	175: {true, "the queue takes no jobs"},
	177: {true, "this account may not run jobs here"},
	189: {true, "unknown resource"},
	190: {true, "beyond the limits of the queue, or of all nodes together"},
	208: {true, "a dependency that cannot be"},
	224: {false, "the node of the job does not answer: if it is gone for good, a manager ends the job by qdel -p"},
	235: {true, "a job array that cannot be"},
}

// refused is a command that acts which ended with another exit code than 0.
func refused(call command.Call, r command.Result) error {
	if meanings[r.Exit].invalid {
		return ended(grid.ErrInvalid, call, r)
	}
	return ended(grid.ErrUnavailable, call, r)
}

// unanswered is a command that asks which ended with another exit code than 0: nothing is known.
func unanswered(call command.Call, r command.Result) error {
	return ended(grid.ErrUnavailable, call, r)
}

func ended(kind error, call command.Call, r command.Result) error {
	says := "for a reason unknown here"
	if m, known := meanings[r.Exit]; known {
		says = m.says
	}
	return fmt.Errorf("%w: %s ended with %d, %s: %s", kind, call, r.Exit, says, said(r))
}

// said is what the command says itself.
func said(r command.Result) string {
	if text := r.Said(); text != "" {
		return text
	}
	return "it says nothing"
}
