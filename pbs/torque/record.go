package torque

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// record is one job as qstat -x shows it, as far as it is of use.
type record struct {
	job        external.Job
	letter     string // of its state
	holds      string
	nodes      string // what it asks for, as TORQUE keeps it
	anywhere   int64  // procs, where it asks for no nodes: so many pieces
	together   int64  // ncpus, where it asks for no nodes: on one node
	memory     int64  // of all of the job
	perProcess int64
	places     string // exec_host
	exit       *int64
	starts     int64
	rerunnable bool
}

// shown is what qstat -x shows; rerunnable is of each job, unread why some of them cannot be read.
type shown struct {
	jobs       []external.Job
	rerunnable []bool
	unread     map[grid.LocalID]error
}

// parseJobs reads what qstat -x prints.
func parseJobs(call string, text []byte) (shown, error) {
	s := newScanner(call, text)
	all := bytes.Count(text, []byte("<Job>"))
	n := min(all, maxJobs, len(text)/100)
	list := shown{make([]external.Job, 0, n), make([]bool, 0, n), make(map[grid.LocalID]error)}
	var r record
	err := s.documents("Data", func(name []byte) error {
		if string(name) != "Job" {
			return s.fail("<%s> where <Job> should be", name)
		}
		if len(list.jobs) == maxJobs {
			return s.fail("more than %d jobs", maxJobs)
		}
		unread, err := s.record(name, &r)
		if err == nil && unread != nil {
			list.unread[r.job.Local] = unread
			if err = external.Misread(len(list.unread), all, unread); err != nil {
				err = s.fail("%w", err)
			}
		}
		list.jobs, list.rerunnable = append(list.jobs, r.job), append(list.rerunnable, r.rerunnable)
		return err
	})
	return list, err
}

// record reads one Job. unread is why it cannot be read, and of no known state then. Where not even its identifier is known, or where it
// may be ours and its mark, name and owner do not tell, that is an error: none of ours may be missing without a word.
func (s *scanner) record(name []byte, r *record) (unread, err error) {
	*r = record{}
	begin := s.at
	seen := 0
	err = s.children(name, func(name []byte) error {
		from := s.at
		known, err := s.attribute(r, name)
		if err == nil && seen&known != 0 {
			err = fmt.Errorf("a second <%s> in one job", name)
			r.contradict(known)
		}
		seen |= known
		if err == nil {
			return nil
		}
		unread = cmp.Or(unread, err)
		if s.at = from; s.skip(name, 1) != nil { // the text is broken
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if unread == nil && seen != necessary {
		unread = errors.New("a job without one of Job_Id, Job_Name, Job_Owner, job_state, queue, ctime")
	}
	if unread = cmp.Or(unread, r.complete(s)); unread == nil {
		return nil, nil
	}
	whose := r.job.Mark != "" && r.job.Name != "" && r.job.User != ""
	if checkID(string(r.job.Local)) != nil || !whose && bytes.Contains(s.text[begin:s.at], []byte(markName)) {
		s.at = begin
		return nil, s.fail("job %.40s: %w", r.job.Local, unread)
	}
	r.job.State, r.job.End, r.job.NeverStarted, r.job.OurHold = external.Odd, nil, false, false
	r.job.Reason = fmt.Sprintf("not understood: %.200v", unread)
	return unread, nil
}

// contradict forgets what a job says twice, as far as it tells what becomes of it and whose it is.
func (r *record) contradict(known int) {
	switch known {
	case hasState:
		r.letter = ""
	case hasName:
		r.job.Name = ""
	case hasOwner:
		r.job.User = ""
	case hasID:
		r.job.Local = ""
	}
}

// The attributes that every job has, once.
const (
	hasID = 1 << iota
	hasName
	hasOwner
	hasState
	hasQueue
	hasTime
	necessary = 1<<iota - 1
)

// attribute reads one attribute of a job.
func (s *scanner) attribute(r *record, name []byte) (known int, err error) {
	switch string(name) {
	case "Resource_List":
		return 0, s.children(name, func(name []byte) error { return s.asked(r, name) })
	case "resources_used":
		return 0, s.children(name, func(name []byte) error { return s.used(r, name) })
	case "Job_Id", "Job_Name", "Job_Owner", "job_state", "queue", "ctime", "etime", "start_time", "comp_time", "exec_host", "Hold_Types",
		"exit_status", "start_count", "Rerunable", "Variable_List", "submit_args", "Priority", "comment", "sched_hint", "x", "euser":
	default:
		return 0, s.skip(name, 1)
	}
	switch string(name) { // long: they are not copied
	case "Variable_List": // shown to the owner, operators and managers
		raw, err := s.value(name)
		r.job.Mark = cmp.Or(markOf(raw), r.job.Mark)
		return 0, err
	case "submit_args": // shown to everybody
		raw, err := s.value(name)
		r.job.Mark = cmp.Or(r.job.Mark, markOfArgs(raw))
		return 0, err
	}
	text, err := s.string(name)
	if err != nil {
		return 0, err
	}
	if known, err = r.set(string(name), text); err != nil {
		err = fmt.Errorf("<%s>: %w", name, err)
	}
	return known, err
}

func (r *record) set(name, text string) (known int, err error) {
	j := &r.job
	switch name {
	case "Job_Id":
		known, j.Local, err = hasID, grid.LocalID(text), checkID(text)
	case "Job_Name":
		known, j.Name = hasName, text
	case "Job_Owner":
		owner, _, at := strings.Cut(text, "@")
		if !at || owner == "" {
			err = fmt.Errorf("%.40q is no USER@HOST", text)
		}
		known = hasOwner
		if j.User == "" { // euser is the account under which it runs
			j.User = owner
		}
	case "euser":
		j.User = text
	case "job_state":
		known, r.letter = hasState, text
	case "queue":
		known, j.Queue, err = hasQueue, grid.QueueName(text), checkWord(text)
	case "ctime":
		known = hasTime
		j.Submitted, err = seconds(text)
	case "etime": // not while it is held
		j.Eligible, err = seconds(text)
	case "start_time":
		j.Started, err = seconds(text)
	case "comp_time":
		j.Finished, err = seconds(text)
	case "exec_host":
		r.places = text
	case "Hold_Types":
		r.holds = text
	case "exit_status":
		n, e := number(text, -1<<31, 1<<31)
		r.exit, err = &n, e
	case "start_count":
		r.starts, err = number(text, 0, 1<<31)
	case "Rerunable":
		r.rerunnable, err = truth(text)
	case "Priority":
		j.Priority, err = number(text, -1<<31, 1<<31)
	case "comment", "sched_hint":
		j.Reason = text
	case "x":
		j.Reservation = boundTo(text)
	}
	return known, err
}

// asked reads one of Resource_List, whose names a site may add to.
func (s *scanner) asked(r *record, name []byte) error {
	switch string(name) {
	case "walltime", "nodes", "mem", "pmem", "procs", "ncpus":
	default:
		return s.skip(name, 2)
	}
	text, err := s.string(name)
	if err != nil {
		return err
	}
	switch string(name) {
	case "walltime":
		r.job.Limit, err = span(text)
	case "nodes":
		r.nodes = text
	case "mem":
		r.memory, err = memory(text)
	case "pmem":
		r.perProcess, err = memory(text)
	case "procs":
		r.anywhere, err = number(text, 0, grid.MaxProcesses)
	case "ncpus":
		r.together, err = number(text, 0, grid.MaxProcesses)
	}
	return s.wrap(name, err)
}

// used reads one of resources_used, whose names a site may add to.
func (s *scanner) used(r *record, name []byte) error {
	switch string(name) {
	case "cput", "walltime", "mem":
	default:
		return s.skip(name, 2)
	}
	text, err := s.string(name)
	if err != nil {
		return err
	}
	switch string(name) {
	case "cput":
		r.job.Usage.CPU, err = span(text)
	case "walltime":
		r.job.Usage.Wall, err = span(text)
	case "mem":
		r.job.Usage.Memory, err = memory(text)
	}
	return s.wrap(name, err)
}

func (s *scanner) wrap(name []byte, err error) error {
	if err != nil {
		return s.fail("<%s>: %w", name, err)
	}
	return nil
}

// complete makes of what was read what it means.
func (r *record) complete(s *scanner) error {
	j := &r.job
	var err, lost error
	j.State, err = r.state()
	j.OurHold = j.State == external.Held && strings.Contains(r.holds, "u")
	j.NeverStarted = r.starts == 0 && j.Started == 0 && r.places == "" && j.State != external.Running
	j.Demand, lost = r.demand(s)
	err = cmp.Or(err, lost)
	j.Places, lost = r.placed(s) // also where its state or demand cannot be read: it holds them
	if err = cmp.Or(err, lost); err != nil {
		return err
	}
	if j.State == external.Done {
		j.End = r.end()
	}
	return nil
}

// state reads the holds, and the letter of a state, which is told also where the holds cannot be read.
func (r *record) state() (state external.State, err error) {
	if state, err = stateOf(r.letter); err == nil && strings.Trim(r.holds, "nuosaplt") != "" {
		err = fmt.Errorf("the holds %.20q are not known", r.holds)
	}
	return state, err
}

func stateOf(letter string) (external.State, error) {
	switch letter {
	case "Q":
		return external.Queued, nil
	case "H", "W": // W waits for its Execution_Time, or for files
		return external.Held, nil
	case "R", "E", "S": // also where it ends, or is stopped
		return external.Running, nil
	case "C":
		return external.Done, nil
	case "T": // on its way to another queue
		return external.Odd, nil
	}
	return external.Odd, fmt.Errorf("the state %.20q is not known", letter)
}

func truth(text string) (bool, error) {
	switch text {
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	return false, fmt.Errorf("%.40q is neither True nor False", text)
}
