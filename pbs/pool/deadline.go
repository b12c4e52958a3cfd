package pool

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
	desks "gbroker/pool"
)

// Jobs with deadlines are decided by package gbroker/pool: a job that no computer ends in time is refused, and those that wait are given
// to computers by the rule. A job that the forecasts have made late since it was taken goes with those that have no deadline, by the policy of the site:
// forecasts err.

// limitOn is how long a job may run on a computer: a core that is slower than the reference has longer for the same work. Where the work is not known the
// limit stands, for it may have been made longer already. s.mu is held.
func (e *entry) limitOn(c *computer) grid.Tick {
	limit := grid.Tick(e.Assignment.Limit)
	if speed := c.facts.Speed; speed > 0 && speed < 1 && e.Walltime > 0 {
		limit = max(limit, grid.FromSeconds(e.Walltime.Seconds()/speed))
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

// offers are what computers have, by their names in order.
type offers struct {
	names []string
	facts []*line.Computer
}

func offersOf(computers []*computer) (o offers) {
	for _, c := range computers {
		o.names, o.facts = append(o.names, c.name), append(o.facts, c.facts)
	}
	return o
}

// of is what a computer has; nil where there is none of that name.
func (o *offers) of(name string) *line.Computer {
	if i, is := slices.BinarySearch(o.names, name); is {
		return o.facts[i]
	}
	return nil
}

// asked is a job as package gbroker/pool sees it, also when it and the computers have changed; s.mu is held.
func (s *System) asked(e *entry, o offers) desks.Job {
	j := o.wanted(e.Demand)
	j.Name, j.User, j.Work, j.Deadline, j.Priority = e.tag, e.Assignment.Owner, e.work(), e.Deadline, e.Priority
	j.Arrival, j.Rerunnable, j.Twice = e.Arrived-e.Age, e.Rerunnable, e.Twice
	now, matches, network := time.Now(), j.Suits, e.Assignment.Network
	refusals := maps.Clone(e.refusals)
	maps.DeleteFunc(refusals, func(_ string, until time.Time) bool { return !until.After(now) })
	j.Suits = func(name string) bool {
		_, refused := refusals[name]
		return !refused && matches(name) && (!network || o.of(name).Network)
	}
	return j
}

// wanted is a demand as package gbroker/pool sees it.
func (o offers) wanted(d grid.Demand) desks.Job {
	piece := whole(d).Chunks[0]
	return desks.Job{
		Architecture: d.Architecture, System: d.System, Cores: int32(max(piece.Cores, 1)), Memory: piece.Memory, Disk: d.Disk, Whole: d.Exclusive,
		Suits: func(name string) bool {
			f, n := o.of(name), plan.Node{Name: grid.NodeName(name)}
			lacks := func(p string) bool { return !slices.Contains(f.Properties, p) }
			few := func(r grid.Resource) bool { return f.Resources[r.Name] < r.Amount }
			return f != nil && !slices.ContainsFunc(d.Properties, lacks) && !slices.ContainsFunc(piece.Resources, few) &&
				(len(d.Hosts) == 0 || slices.ContainsFunc(d.Hosts, n.Called))
		},
	}
}

// desks are the computers as package gbroker/pool sees them; without what they run where empty. One that takes no job now may in a moment, as far as its
// forecast says. s.mu is held.
func (s *System) desks(now grid.Tick, computers []*computer, empty bool) []desks.Computer {
	o := offersOf(computers)
	out := make([]desks.Computer, len(computers))
	for i, c := range computers {
		d := c.desk()
		d.PerCore = make([]grid.Tick, d.Cores)
		if !empty {
			s.occupy(&d, c, o, now)
			back := s.back(c, now)
			for k := range d.PerCore {
				d.PerCore[k] = max(d.PerCore[k], back)
			}
		}
		slices.Sort(d.PerCore)
		d.Free = d.PerCore[0]
		out[i] = d
	}
	return out
}

// desk is a computer as package gbroker/pool sees it, without what it runs.
func (c *computer) desk() desks.Computer {
	f := c.facts
	return desks.Computer{
		Name: c.name, Architecture: f.Architecture, System: f.System, Cores: int32(f.Cores), Memory: f.Memory, Disk: f.Disk, Speed: f.Speed,
		Users: f.Users, Dedicated: f.Dedicated, Forecast: c.forecast,
	}
}

// occupy lets the jobs that a computer has take cores until they are foreseen to end.
func (s *System) occupy(d *desks.Computer, c *computer, o offers, now grid.Tick) {
	at := 0
	for _, e := range c.jobs {
		j := s.asked(e, o)
		end := c.forecast.End(now, j.Work)
		if limit := now + e.limitOn(c); end > limit && j.Deadline == 0 { // its H is 0 as far as is known
			end = limit
		}
		for range d.Width(&j) {
			if at < len(d.PerCore) {
				d.PerCore[at] = end
				at++
			}
		}
		d.Tenant = e.Assignment.Owner
	}
}

// dated are those of the queue that have a deadline and may start; s.mu is held.
func (s *System) dated(o offers) (list []*entry, jobs []desks.Job) {
	for _, e := range s.queue {
		if e.Deadline != 0 && !e.killed && !e.Held {
			list, jobs = append(list, e), append(jobs, s.asked(e, o))
		}
	}
	return list, jobs
}

// passDeadlines starts jobs with deadlines by the rule, and gives those that no computer is foreseen to end in time; s.mu is held.
func (s *System) passDeadlines() (late map[*entry]bool) {
	late = map[*entry]bool{}
	for preempted := false; ; {
		now, computers := control.Now(), s.sorted()
		kept := s.turns(computers)
		list, jobs := s.dated(offersOf(computers))
		if len(list) == 0 {
			return late
		}
		all := s.desks(now, computers, false)
		given := 0
		for _, a := range s.config.Rule.Assign(now, all, s.unbarred(list, jobs, kept), rand.New(rand.NewPCG(0, 0))) {
			if e, c := list[a.Job], computers[a.Computer]; c.open(e, kept) && c.hasRoom(e) {
				s.give(e, c)
				s.queue = slices.DeleteFunc(s.queue, func(o *entry) bool { return o == e })
				given++
			}
		}
		if given > 0 {
			continue
		}
		if !preempted {
			if preempted = s.preempt(now, computers, list, jobs, kept); preempted {
				continue
			}
		}
		for _, i := range desks.Hopeless(now, s.desks(now, computers, true), jobs) {
			late[list[i]] = true
		}
		return late
	}
}

// unbarred are jobs that are given no computer which has cores for them and yet may not have them now: it is kept for another, or what it has besides is
// in use. They are given the next that suits. s.mu is held.
func (s *System) unbarred(list []*entry, jobs []desks.Job, kept map[*computer]*entry) []desks.Job {
	out := slices.Clone(jobs)
	for i, e := range list {
		suits := jobs[i].Suits
		out[i].Suits = func(name string) bool {
			c := s.computers[name]
			return suits(name) && (!c.alone(e) || c.open(e, kept) && c.hasRoom(e))
		}
	}
	return out
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
