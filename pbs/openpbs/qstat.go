package openpbs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// markName is the variable that carries external.Order.Mark.
const markName = "GBROKER_ATTEMPT"

// job is one job as qstat tells it.
type job struct {
	external.Job
	unread     error // why it cannot be read: nothing else is certain then
	array      bool  // the parent of an array: its parts are jobs of their own
	rerunnable bool
	suspended  bool
	atOnce     int64 // of an array: how many parts may run at a time; below 0 is any number
	group      string
	project    string
}

// attributes are those of a job that we read.
type attributes struct {
	name, owner, state, substate, queue, priority, holds, comment     value
	created, queued, eligible, started, died, history                 value
	exit, runs, vnodes, resources, used, variables, reservation       value
	array, rerunnable, subjobs, group, project                        value
	walltime, chunks, place, ncpus, usedCPU, usedWalltime, usedMemory value

	fields, wanted, usage map[string]*value
}

func newAttributes() *attributes {
	a := &attributes{}
	a.fields = map[string]*value{
		"Job_Name": &a.name, "Job_Owner": &a.owner, "job_state": &a.state, "substate": &a.substate, "queue": &a.queue,
		"Priority": &a.priority, "Hold_Types": &a.holds, "comment": &a.comment,
		"ctime": &a.created, "qtime": &a.queued, "etime": &a.eligible, "stime": &a.started, "obittime": &a.died, "history_timestamp": &a.history,
		"Exit_status": &a.exit, "run_count": &a.runs, "exec_vnode": &a.vnodes,
		"Resource_List": &a.resources, "resources_used": &a.used, "Variable_List": &a.variables,
		"reserve_ID": &a.reservation, "array": &a.array, "Rerunable": &a.rerunnable,
		"max_run_subjobs": &a.subjobs, "egroup": &a.group, "project": &a.project,
	}
	a.wanted = map[string]*value{"walltime": &a.walltime, "select": &a.chunks, "place": &a.place, "ncpus": &a.ncpus}
	a.usage = map[string]*value{"cput": &a.usedCPU, "walltime": &a.usedWalltime, "mem": &a.usedMemory}
	return a
}

// read takes the next job from s.
func (a *attributes) read(s *scanner) error {
	if err := members(s, a.fields); err != nil {
		return err
	}
	for _, inner := range []struct {
		name   string
		object value
		fields map[string]*value
	}{{"Resource_List", a.resources, a.wanted}, {"resources_used", a.used, a.usage}} {
		object := inner.object
		if object == nil {
			object = value("{}")
		}
		if err := members(&scanner{text: object}, inner.fields); err != nil {
			return at(inner.name, err)
		}
	}
	for _, must := range []string{"Job_Name", "Job_Owner", "job_state", "queue", "substate", "ctime"} {
		if *a.fields[must] == nil {
			return fmt.Errorf("%s is missing", must)
		}
	}
	return nil
}

// jobs reads what qstat -f -F json prints.
func (w words) jobs(text []byte) (head, []job, error) {
	n, err := counted(text, "Jobs", maxJobs)
	if err != nil {
		return head{}, nil, err
	}
	list := make([]job, 0, n)
	a := newAttributes()
	odd := 0
	h, err := envelope(text, "Jobs", func(id string, s *scanner) error {
		var j job
		from := s.at
		unread, err := s.attempt(func() (err error) {
			j, err = w.read(id, a, s)
			return err
		})
		if unread != nil {
			j.State, j.End, j.NeverStarted, j.array, j.unread = external.Odd, nil, false, false, unread
			j.Reason = fmt.Sprintf("not understood: %.200v", unread)
			odd++
			whose := isJobID(id) && j.Mark != "" && j.Name != "" && j.User != ""
			if err == nil && !whose && bytes.Contains(s.text[from:s.at], []byte(markName)) {
				err = unread // it may be ours, and none of ours may be missing without a word
			}
			err = cmp.Or(err, external.Misread(odd, n, unread))
		}
		j.Local = grid.LocalID(id)
		list = append(list, j)
		return err
	})
	return h, list, err
}

// read takes one job. With an error it is what could be read before.
func (w words) read(id string, a *attributes, s *scanner) (job, error) {
	if !isJobID(id) {
		return job{}, errors.New("it is no job identifier, such as 12.server")
	}
	var j job
	err := a.read(s)
	if err == nil {
		j, err = w.job(a)
	}
	if err != nil {
		w.keep(&j, a)
	}
	return j, err
}

// keep tells of a job that cannot be read whose it is, and where it may run, as far as that can be: what it holds is not free.
func (w words) keep(j *job, a *attributes) {
	j.Name, j.Mark = a.name.text(), mark(a.variables)
	j.User, _, _ = strings.Cut(a.owner.text(), "@")
	if !a.mayHold() {
		return
	}
	if places, err := w.places(a.vnodes.text(), j.Demand); err == nil {
		j.Places = places
	}
	if a.started != nil {
		j.Started, _ = date(a.started.text()) // 0 where that cannot be read: now
	}
}

// mayHold tells that a job has its exec_vnode, or may have: parts of an array have theirs, and one that is suspended has given it up.
func (a *attributes) mayHold() bool {
	state, known := states[a.state.text()]
	runs := state == external.Running && !a.state.is("S") && !a.state.is("U")
	return (!known || runs || state == external.Odd) && !a.array.is("True")
}

// isJobID tells identifiers such as 12.pbs1, 20[].pbs1 and 20[1].pbs1.
func isJobID(id string) bool {
	number, server, ok := strings.Cut(id, ".")
	if i := strings.IndexByte(number, '['); i >= 0 {
		index, closed := strings.CutSuffix(number[i+1:], "]")
		ok = ok && closed && strings.Trim(index, "0123456789") == ""
		number = number[:i]
	}
	return ok && number != "" && len(id) <= 200 && strings.Trim(number, "0123456789") == "" && isWord(server)
}

// isWord tells names of servers, hosts, nodes and queues: one word of a command, no option.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("._-[]", c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 200
}

// mark finds our mark among the variables of a job. They are the user's: anything may stand
// there, and two different marks are none.
func mark(variables value) string {
	if !variables.isObject() || !bytes.Contains(variables, []byte(markName)) {
		return ""
	}
	s := &scanner{text: variables}
	found, twice := "", false
	err := s.object(func(key string) error {
		v, err := s.value()
		if err == nil && key == markName {
			twice = twice || found != "" && found != v.text()
			found = v.text()
		}
		return err
	})
	if err != nil || twice || checkMark(found) != nil {
		return ""
	}
	return found
}

// checkMark says why a mark cannot be handed over.
func checkMark(mark string) error {
	for _, c := range []byte(mark) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("./@#-_", c) < 0 {
			return fmt.Errorf("the mark %.80q holds %q", mark, c)
		}
	}
	if mark == "" || len(mark) > 256 {
		return fmt.Errorf("the mark %.80q has %d characters: 1 to 256 do", mark, len(mark))
	}
	return nil
}

// clean is text of the system or of users as people may be shown it.
func clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 300)], "?")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// clamped reads a number that users choose: what is too much is the most.
func clamped(text string, most int64) (int64, error) {
	n, err := number(text, math.MaxInt64)
	if err != nil && text != "" && strings.Trim(text, "0123456789") == "" {
		return most, nil
	}
	return min(n, most), err
}
