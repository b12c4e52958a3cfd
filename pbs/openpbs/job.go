package openpbs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// states are the letters of job_state.
var states = map[string]external.State{
	"Q": external.Queued,
	"H": external.Held,
	"W": external.Held,    // until a time that its user has named
	"T": external.Odd,     // on its way between servers
	"M": external.Odd,     // moved to another server
	"R": external.Running, // also while files are staged in
	"E": external.Running, // about to end
	"B": external.Running, // an array of which something runs
	"S": external.Running, // suspended: it holds no cores
	"U": external.Running, // suspended, as somebody uses the machine
	"F": external.Done,
	"X": external.Done, // part of an array
}

// job translates attributes.
func (w words) job(a *attributes) (job, error) {
	var j job
	user, _, ok := strings.Cut(a.owner.text(), "@")
	if !ok || user == "" {
		return j, at("Job_Owner", fmt.Errorf("%.80q is no user@host", a.owner.text()))
	}
	j.Name, j.User, j.Mark = a.name.text(), user, mark(a.variables)
	state, known := states[a.state.text()]
	if !known {
		return j, at("job_state", fmt.Errorf("%.20q is none of Q H W T M R E B S U F X", a.state.text()))
	}
	j.State = state
	j.Queue = queueName(a.queue.text())
	j.OurHold = strings.Contains(a.holds.text(), "u")
	j.Reason = clean(a.comment.text())
	j.array = a.array.is("True")
	j.rerunnable = a.rerunnable.is("True")
	j.suspended = a.state.is("S") || a.state.is("U")
	j.group, j.project = a.group.text(), a.project.text()
	j.atOnce = -1
	if a.subjobs != nil {
		n, err := number(a.subjobs.text(), 1<<31)
		if err != nil {
			return j, at("max_run_subjobs", err)
		}
		j.atOnce = n
	}
	if j.Reservation = a.reservation.text(); j.Reservation != "" && !isReservationID(j.Reservation) {
		return j, at("reserve_ID", fmt.Errorf("%.80q is no reservation", j.Reservation))
	}
	j.NeverStarted = a.runs == nil && a.started == nil
	if err := j.instants(a); err != nil {
		return j, err
	}
	if err := w.capacity(&j, a); err != nil {
		return j, err
	}
	if state == external.Done {
		end, err := ended(a, j.array)
		if err != nil {
			return j, err
		}
		j.End = end
	}
	return j, nil
}

// queueName is the queue of a job; queues of reservations are none of the site's.
func queueName(text string) grid.QueueName {
	if isReservationQueue(text) {
		return ""
	}
	return grid.QueueName(text)
}

// isReservationID tells R42.pbs1.
func isReservationID(id string) bool {
	queue, server, ok := strings.Cut(id, ".")
	return ok && isReservationQueue(queue) && isWord(server) && len(id) <= 200
}

// isReservationQueue tells R42, S82 and M7.
func isReservationQueue(name string) bool {
	return len(name) > 1 && strings.IndexByte("RSM", name[0]) >= 0 && strings.Trim(name[1:], "0123456789") == ""
}

func (j *job) instants(a *attributes) error {
	var history grid.Tick
	err := cmp.Or(
		when("ctime", a.created, &j.Submitted, date),
		when("qtime", a.queued, &j.Eligible, date),
		when("etime", a.eligible, &j.Eligible, date),
		when("stime", a.started, &j.Started, date),
		when("obittime", a.died, &j.Finished, date),
		when("history_timestamp", a.history, &history, epoch),
		when("resources_used.walltime", a.usedWalltime, &j.Usage.Wall, duration),
		when("resources_used.cput", a.usedCPU, &j.Usage.CPU, duration))
	if j.State != external.Done {
		j.Finished = 0 // of an earlier run
	} else if j.Finished == 0 {
		j.Finished = history
	}
	return err
}

// when reads an instant or a span, if it is there.
func when(name string, from value, to *grid.Tick, read func(string) (grid.Tick, error)) error {
	if from == nil {
		return nil
	}
	t, err := read(from.text())
	if err != nil {
		return at(name, err)
	}
	*to = t
	return nil
}

// capacity is what a job asks for, has and has used.
func (w words) capacity(j *job, a *attributes) error {
	var err error
	j.Limit = forever
	if a.walltime != nil {
		if j.Limit, err = duration(a.walltime.text()); err != nil {
			return at("Resource_List.walltime", err)
		}
		j.Limit = min(j.Limit, forever)
	}
	if a.priority != nil {
		if j.Priority, err = strconv.ParseInt(a.priority.text(), 10, 32); err != nil {
			return at("Priority", err)
		}
	}
	if a.usedMemory != nil {
		if j.Usage.Memory, err = size(a.usedMemory.text()); err != nil {
			return at("resources_used.mem", err)
		}
	}
	chunks := a.chunks.text()
	if a.chunks == nil { // no job of a server that is as it was delivered
		chunks = "1:ncpus=" + max(a.ncpus.text(), "0")
	}
	if j.Demand, err = w.demand(chunks, a.place.text()); err != nil {
		return at("Resource_List.select", err)
	}
	if a.vnodes != nil && a.mayHold() {
		if j.Places, err = w.places(a.vnodes.text(), j.Demand); err != nil {
			return at("exec_vnode", err)
		}
	}
	return nil
}

// Numbers that Exit_status may be.
const (
	killedByWalltime = -29
	killedByLimit    = -24 // down to the walltime
	signalled        = 256
	terminated       = "91" // the substate of a job that was deleted
)

// motherLost are the statuses of a job whose leading node went away while it ran, or so it is
// taken: the daemon there was started again, or could not be reached.
var motherLost = map[int]bool{-4: true, -5: true, -6: true, -20: true}

// neverBegan are those of a job that could not be started: of others below 0 it may have run.
var neverBegan = map[int]bool{
	-1: true, -2: true, -3: true, -10: true, -13: true, -16: true, -17: true, -21: true, -22: true, -23: true, -30: true,
}

// ended is how a job that is F has ended: it need not have run.
func ended(a *attributes, array bool) (*external.End, error) {
	deleted := a.substate.is(terminated)
	end := &external.End{Detail: clean(a.comment.text())}
	if a.exit == nil {
		switch {
		case deleted:
			end.Cause = grid.ByRequest
		case a.runs == nil && a.started == nil:
			end.Cause = grid.NeverRan
		default:
			end.Cause, end.Detail = grid.Disappeared, "OpenPBS knows no exit status: "+end.Detail
		}
		return end, nil
	}
	if array { // 0 even where a part of it failed
		end.Cause, end.Detail = grid.Disappeared, "an array: its parts have exit statuses, it has none"
		return end, nil
	}
	n, err := strconv.Atoi(a.exit.text())
	if err != nil || n < -1000 || n > signalled+127 {
		return nil, at("Exit_status", fmt.Errorf("%.20q is none", a.exit.text()))
	}
	switch {
	case n >= signalled:
		end.Signal, end.ExitCode = n-signalled, (n-signalled+128)&255
		if deleted {
			end.Cause = grid.ByRequest
		}
	case n >= 0:
		end.ExitCode = n
	case n == killedByWalltime:
		end.Cause = grid.ByWalltime
	case n > killedByWalltime && n <= killedByLimit:
		end.Signal, end.ExitCode = 9, 137
		end.Detail = "it went beyond a limit other than the walltime: " + end.Detail
	case motherLost[n]:
		end.Cause, end.NodeFail = grid.Disappeared, true
	case !neverBegan[n]:
		end.Cause = grid.Disappeared
		end.Detail = fmt.Sprintf("OpenPBS broke it off (%d): %s", n, end.Detail)
	default:
		end.Cause = grid.NeverRan
		end.Detail = fmt.Sprintf("OpenPBS could not start it (%d): %s", n, end.Detail)
	}
	return end, nil
}
