package pool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	desks "gbroker/pool"
)

// Jobs with deadlines are decided by package gbroker/pool: a job that no computer ends in time is refused, and those that wait are given
// to computers by the rule. A job that the forecasts have made late since it was taken goes with those that have no deadline, by the policy of the site:
// forecasts err.

// limitOn is how long a job may run on a computer: a core that is slower than the reference has longer for the same work.
func (e *entry) limitOn(c *computer) grid.Tick {
	limit := grid.Tick(e.Assignment.Limit)
	if speed := c.facts.Speed; speed > 0 && speed < 1 {
		limit = max(limit, grid.FromSeconds(e.walltime().Seconds()/speed))
	}
	return limit
}

func (e *entry) walltime() grid.Tick {
	if e.Walltime > 0 {
		return e.Walltime
	}
	return grid.Tick(e.Assignment.Limit)
}

// work is what is left to do, in seconds of the reference.
func (e *entry) work() float64 {
	work := e.walltime().Seconds()
	if e.computer == nil {
		return work
	}
	return max(work-grid.Tick(e.report.Wall).Seconds()*e.computer.facts.Speed, 1)
}

// asked is a job as package gbroker/pool sees it; s.mu is held as long as it is used.
func (s *System) asked(e *entry) desks.Job {
	piece := e.whole().Chunks[0]
	return desks.Job{
		Name: e.tag, User: e.Assignment.Owner, Work: e.work(), Architecture: e.Demand.Architecture, System: e.Demand.System,
		Cores: int32(max(piece.Cores, 1)), Memory: piece.Memory, Disk: e.Demand.Disk, Deadline: e.Deadline, Priority: e.Priority,
		Arrival: e.Arrived - e.Age, Rerunnable: e.Rerunnable, Whole: e.Demand.Exclusive,
		Suits: func(name string) bool { return s.suits(e, s.computers[name]) },
	}
}

// suits tells whether a computer is what a job asks for besides what package gbroker/pool looks at.
func (s *System) suits(e *entry, c *computer) bool {
	if c == nil || !c.admits(e) || e.refusals[c.name].After(time.Now()) {
		return false
	}
	for _, p := range e.Demand.Properties {
		if !slices.Contains(c.facts.Properties, p) {
			return false
		}
	}
	for _, r := range e.whole().Chunks[0].Resources {
		if c.facts.Resources[r.Name] < r.Amount {
			return false
		}
	}
	n := s.node(c)
	return len(e.Demand.Hosts) == 0 || slices.ContainsFunc(e.Demand.Hosts, n.Called)
}

// desks are the computers as package gbroker/pool sees them; without what they run where empty. One that takes no job now may in a moment, as far as its
// forecast says. s.mu is held.
func (s *System) desks(now grid.Tick, computers []*computer, empty bool) []desks.Computer {
	out := make([]desks.Computer, len(computers))
	for i, c := range computers {
		f := &c.facts
		d := desks.Computer{
			Name: c.name, Architecture: f.Architecture, System: f.System, Cores: int32(f.Cores), Memory: f.Memory, Disk: f.Disk, Speed: f.Speed,
			Users: f.Users, Dedicated: f.Dedicated, Forecast: c.forecast, Lanes: make([]grid.Tick, f.Cores),
		}
		if !empty {
			s.occupy(&d, c, now)
			if !s.ready(c) {
				for k := range d.Lanes {
					d.Lanes[k] = max(d.Lanes[k], now+1)
				}
			}
		}
		slices.Sort(d.Lanes)
		d.Free = d.Lanes[0]
		out[i] = d
	}
	return out
}

// occupy lets the jobs that a computer has take lanes until they are foreseen to end.
func (s *System) occupy(d *desks.Computer, c *computer, now grid.Tick) {
	at := 0
	for _, e := range c.jobs {
		j := s.asked(e)
		end := c.forecast.End(now, j.Work)
		if limit := now + e.limitOn(c); end > limit && j.Deadline == 0 { // its H is 0 as far as is known
			end = limit
		}
		for range d.Width(&j) {
			if at < len(d.Lanes) {
				d.Lanes[at] = end
				at++
			}
		}
		d.Tenant = e.Assignment.Owner
	}
}

// dated are those of the queue that have a deadline and may start; s.mu is held.
func (s *System) dated() (list []*entry, jobs []desks.Job) {
	for _, e := range s.queue {
		if e.Deadline != 0 && !e.killed && !e.Held {
			list, jobs = append(list, e), append(jobs, s.asked(e))
		}
	}
	return list, jobs
}

// passDeadlines starts jobs with deadlines by the rule, and gives those that no computer is foreseen to end in time; s.mu is held.
func (s *System) passDeadlines() (late map[*entry]bool) {
	late = map[*entry]bool{}
	for {
		list, jobs := s.dated()
		if len(list) == 0 {
			return late
		}
		now, computers := control.Now(), s.sorted()
		all := s.desks(now, computers, false)
		given := 0
		for _, a := range s.config.Rule.Assign(now, all, jobs, rand.New(rand.NewPCG(0, 0))) {
			if e, c := list[a.Job], computers[a.Computer]; c.alone(e) && c.hasRoom(e) {
				s.give(e, c)
				s.queue = slices.DeleteFunc(s.queue, func(o *entry) bool { return o == e })
				given++
			}
		}
		if given > 0 {
			continue
		}
		for _, i := range desks.Hopeless(now, s.desks(now, computers, true), jobs) {
			late[list[i]] = true
		}
		return late
	}
}

// hasRoom tells that what a computer has besides cores and memory is enough for one more job.
func (c *computer) hasRoom(e *entry) bool {
	for _, r := range e.whole().Chunks[0].Resources {
		left := c.facts.Resources[r.Name] - r.Amount
		for _, o := range c.jobs {
			for _, has := range o.whole().Chunks[0].Resources {
				if has.Name == r.Name {
					left -= has.Amount
				}
			}
		}
		if left < 0 {
			return false
		}
	}
	return true
}

// late says why a job would not end by its deadline: for good, or for as long as others are before it. s.mu is held.
func (s *System) late(e *entry) error {
	if e.Deadline == 0 {
		return nil
	}
	now, computers, j := control.Now(), s.sorted(), s.asked(e)
	_, waiting := s.dated()
	_, err := s.config.Rule.Admit(now, s.desks(now, computers, false), waiting, &j)
	var r *desks.Refusal
	if !errors.As(err, &r) {
		return err
	}
	kind := grid.ErrInvalid
	if _, err := s.config.Rule.Admit(now, s.desks(now, computers, true), nil, &j); err == nil {
		kind = grid.ErrUnavailable
	}
	return fmt.Errorf("%w: %w", kind, r)
}
