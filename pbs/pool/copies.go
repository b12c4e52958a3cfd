package pool

import (
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/control"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// A job that may run twice (Twice) is begun on further computers when these have nothing else to do. One of its computers leads, the one that
// the grant names; the others have copies.
//
//	lead runs ──► an idle computer would end it sooner ──► copy
//	any ends, not cut off    it becomes the lead, the others are taken away in the same moment; what it has brought becomes the job's: the end
//	the lead is cut off      a copy that has begun becomes the lead; without one all is as for any job
//	a copy is cut off        it is gone
//	a job wants the computer of a copy, or the pool is started again: the copy is gone
//
// What is brought of a job with copies lies apart until its computer has won: see apart.go.

// lead is the entry of the job itself.
func (e *entry) lead() *entry {
	if e.of != nil {
		return e.of
	}
	return e
}

// holding is the job, or the copy of one, that a computer has by a tag; nil is none.
func (c *computer) holding(tag string) *entry {
	if e := c.jobs[tag]; e != nil {
		return e
	}
	return c.copies[tag]
}

// held are the jobs and copies that a computer has.
func (c *computer) held() []*entry {
	return slices.AppendSeq(slices.Collect(maps.Values(c.jobs)), maps.Values(c.copies))
}

// rests tells that a computer has nothing to do: what it has, if anything, waits for the result of another. Else all could wait for each other.
func (c *computer) rests() bool {
	return !slices.ContainsFunc(c.held(), func(e *entry) bool { return e.result == "" })
}

// mayHelp tells that a computer which rests may have a copy of a job: it has none yet, and nothing of another user.
func (c *computer) mayHelp(e *entry) bool {
	return !slices.ContainsFunc(c.held(), func(o *entry) bool { return o.lead() == e || o.Assignment.Owner != e.Assignment.Owner })
}

// replicate begins copies on computers that have nothing to do; s.mu is held.
func (s *System) replicate() {
	now, computers := control.Now(), s.sorted()
	s.corroborate(now, computers)
	if s.config.Copies < 2 {
		return
	}
	tasks, entries := s.tasks(now, computers)
	s.repeat(now, computers, desks.Replication{Kind: desks.WQRFT, Most: s.config.Copies, Informed: true}, tasks, entries)
}

// repeat begins copies by a rule; s.mu is held.
func (s *System) repeat(now grid.Tick, computers []*computer, rule desks.Replication, tasks []desks.Task, entries []*entry) {
	if len(tasks) == 0 {
		return
	}
	all := make([]desks.Computer, len(computers))
	for i, c := range computers {
		all[i] = c.desk()
		if !s.ready(c) || !c.rests() {
			all[i].Free = desks.Never
		}
	}
	for i, e := range entries {
		suits := tasks[i].Suits
		tasks[i].Suits = func(name string) bool { return suits(name) && s.computers[name].mayHelp(e) }
	}
	for _, start := range rule.Begin(now, all, tasks) {
		s.copy(entries[start.Task], computers[start.Computer])
	}
}

// tasks are the jobs that run and may have copies; s.mu is held.
func (s *System) tasks(now grid.Tick, computers []*computer) (tasks []desks.Task, entries []*entry) {
	at := places(computers)
	for _, c := range computers {
		for _, e := range c.jobs {
			if e.Twice && !s.isCompared(e) && e.began != 0 && !e.killed && !e.ending && !e.returning {
				entries = append(entries, e)
			}
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	o := offersOf(computers)
	for _, e := range entries {
		task := desks.Task{Job: s.asked(e, o), Ends: desks.Never, Wrote: e.Wrote}
		left := task.Work
		if task.Work = e.walltime().Seconds(); e.Wrote != "" {
			task.Checkpoints, task.Checkpoint = true, max(0, task.Work-left)
		}
		for _, x := range append([]*entry{e}, e.copies...) {
			task.On, task.Ends = append(task.On, at[x.computer]), min(task.Ends, s.ends(x, now))
		}
		tasks = append(tasks, task)
	}
	return tasks, entries
}

// places are those of computers in a list.
func places(computers []*computer) map[*computer]int {
	at := map[*computer]int{}
	for i, c := range computers {
		at[c] = i
	}
	return at
}

// ends is when a job or a copy is foreseen to end: not where its computer stands still, or it is overdue.
func (s *System) ends(e *entry, now grid.Tick) grid.Tick {
	if !s.ready(e.computer) || e.foreseen != 0 && e.foreseen <= now {
		return desks.Never
	}
	return e.computer.forecast.End(now, e.work())
}

// copy begins a copy of a job; s.mu is held.
func (s *System) copy(e *entry, c *computer) {
	x := &entry{record: e.record, id: e.id, tag: e.tag, of: e, computer: c, started: control.Now()}
	x.Assignment.Room = c.room(x)
	e.copies, e.raced = append(e.copies, x), true
	c.copies[x.tag] = x
	c.order()
	s.log.Info("a job has a copy", zap.Stringer("attempt", e.id), zap.String("computer", c.name))
}

// uncopy takes a copy from its computer; s.mu is held.
func (s *System) uncopy(x *entry) {
	if x.computer == nil {
		return
	}
	delete(x.computer.copies, x.tag)
	x.computer.order()
	x.of.copies = slices.DeleteFunc(x.of.copies, func(o *entry) bool { return o == x })
	x.computer, x.stint = nil, ""
	x.brought.drop()
	s.kick()
}

// uncopyAll leaves a job its lead; s.mu is held.
func (s *System) uncopyAll(e *entry) {
	for len(e.copies) > 0 {
		s.uncopy(e.copies[0])
	}
}

// promote makes the computer of a copy the one that leads; s.mu is held.
func (s *System) promote(x *entry) *entry {
	e, c, stint := x.of, x.computer, x.stint
	s.uncopy(x)
	delete(e.computer.jobs, e.tag)
	e.computer.order()
	e.computer, e.stint, e.count = c, stint, e.count+1
	e.report, e.absent, e.started, e.began, e.foreseen, e.brought, e.result = x.report, x.absent, x.started, x.began, x.foreseen, x.brought, x.result
	c.jobs[e.tag] = e
	return e
}

// succeed has a copy that has begun lead a job whose lead is cut off; false where there is none.
func (s *System) succeed(e *entry, why string) bool {
	s.mu.Lock()
	at := slices.IndexFunc(e.copies, func(x *entry) bool { return x.began != 0 })
	if s.known[e.id] != e || e.ending || e.computer == nil || at < 0 {
		s.uncopyAll(e)
		s.mu.Unlock()
		return false
	}
	from := e.computer.name
	s.promote(e.copies[at])
	s.mu.Unlock()
	s.log.Info("a copy goes on for a job", zap.Stringer("attempt", e.id), zap.String("instead of", from), zap.String("why", why))
	if err := s.regrant(e); err != nil { // a pool that is started again takes the job for cut off
		s.log.Error("which computer has a job cannot be kept", zap.Stringer("attempt", e.id), zap.Error(err))
	}
	return true
}

// regrant keeps which computer leads.
func (s *System) regrant(e *entry) error {
	s.mu.Lock()
	if e.computer == nil {
		s.mu.Unlock()
		return nil
	}
	g := control.Grant{At: e.started, Computer: e.computer.name, Stint: e.stint, Count: max(e.count, 1), Work: e.Work, Limit: e.limitOn(e.computer), Rerunnable: e.Rerunnable}
	s.mu.Unlock()
	return control.WriteGrant(e.Control, e.id, g)
}

// win decides a race for who says that the program has ended: from then on the job is that computer's alone. What it has brought becomes the job's.
func (s *System) win(c *computer, tag, stint string) (*entry, error) {
	s.mu.Lock()
	e, err := s.holds(c, tag, stint)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if e.of != nil {
		e = s.promote(e)
	}
	s.uncopyAll(e)
	raced := e.raced
	s.mu.Unlock()
	if !raced {
		return e, nil
	}
	e.granting.Lock() // one takes over what was brought at a time
	defer e.granting.Unlock()
	if err := s.regrant(e); err != nil {
		return nil, err
	}
	return e, s.takeOver(e)
}
