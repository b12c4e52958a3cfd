package pool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	desks "gbroker/pool"
)

// forecast is what the pool foresees of its jobs, at the instant of a snapshot.
type forecast struct {
	at        grid.Tick
	rule      desks.Rule
	offers    offers
	away      []absence // of each computer
	computers []desks.Computer
	errors    []float64 // of what was foreseen before, as desks.Sure takes them
	planned   *desks.Planned
	jobs      map[grid.JobID]int // those that wait, by their places in the plan
}

// look is what a forecast is made of: copies of what may change.
type look struct {
	*forecast
	waiting []desks.Job
}

// look is that of this moment; s.mu is held.
func (s *System) look(computers []*computer, at grid.Tick) look {
	l := look{forecast: &forecast{at: at, rule: s.config.Rule, offers: offersOf(computers), jobs: map[grid.JobID]int{}, errors: factors(s.errors)}}
	l.computers = s.desks(at, computers, false)
	for _, c := range computers {
		l.away = append(l.away, s.away(c))
	}
	for _, e := range s.queue {
		if !e.killed && !e.Held {
			l.jobs[e.id.Job] = len(l.waiting)
			l.waiting = append(l.waiting, s.asked(e, l.offers))
		}
	}
	return l
}

// plan plans those that wait, which takes long where they are many: neither the pool nor its broker waits for it.
func (l look) plan() *forecast {
	l.planned = l.rule.Plan(l.at, l.computers, l.waiting)
	return l.forecast
}

// Foresee adds to those that wait what is on its way here, behind them and with the work that it asks for.
func (o *forecast) Foresee(waiting []plan.Waiting) plan.Foresight {
	f := &foresight{forecast: o, planned: o.planned.Clone(), at: make(map[int]desks.Place)}
	for i, w := range waiting {
		place, ok := desks.Place{}, false
		if n, here := o.jobs[w.Job]; here {
			place, ok = o.planned.Place(n)
		} else if !w.Ineligible {
			place, ok = f.comes(w)
		}
		if ok {
			f.at[i] = place
		}
	}
	return f
}

// foresight is a forecast with what is on its way.
type foresight struct {
	*forecast
	planned *desks.Planned
	empty   *desks.Planned      // of the pool without jobs; made when it is needed
	at      map[int]desks.Place // of those that wait
}

// comes puts a job that is on its way behind all others.
func (f *foresight) comes(w plan.Waiting) (desks.Place, bool) {
	j := f.offers.wanted(w.Demand)
	j.User, j.Work, j.Arrival = w.User, cmp.Or(w.Walltime, w.Limit).Seconds(), f.forecast.at
	place, err := f.planned.Admit(&j)
	if err == nil {
		f.planned.Take(&j, place)
	}
	return place, err == nil
}

func (f *foresight) Waiting(index int) (plan.Stay, bool) {
	place, ok := f.at[index]
	return f.stay(place), ok
}

func (f *foresight) Ask(q plan.Question) (plan.Stay, *grid.Refusal) {
	j := f.offers.wanted(q.Demand)
	j.User, j.Work, j.NotBefore = q.User, cmp.Or(q.Walltime, q.Limit).Seconds(), q.NotBefore
	place, err := f.planned.Admit(&j)
	var r *desks.Refusal
	if errors.As(err, &r) {
		kind := grid.Permanent
		if r.Cause == desks.NoTime { // an owner may give more
			kind = grid.Temporary
		}
		return plan.Stay{}, &grid.Refusal{Kind: kind, Reason: r.Error()}
	}
	if q.Deadline != 0 && place.End > q.Deadline {
		place = f.inTime(j, q.Deadline, place)
	}
	f.planned.Take(&j, place)
	stay := f.stay(place)
	stay.Alone = f.alone(&j)
	return stay, nil
}

// inTime is where a job is given what is kept for those with deadlines; or else, where it is too late there too.
func (f *foresight) inTime(j desks.Job, deadline grid.Tick, or desks.Place) desks.Place {
	j.Deadline = deadline
	if place, err := f.planned.Admit(&j); err == nil {
		return place
	}
	return or
}

// alone is when the pool would have ended a job at the soonest if it had no other.
func (f *foresight) alone(j *desks.Job) grid.Tick {
	if f.empty == nil {
		f.empty = f.rule.Plan(f.forecast.at, emptied(f.computers), nil)
	}
	return f.empty.Earliest(j)
}

func (f *foresight) stay(p desks.Place) plan.Stay {
	stay := plan.Stay{Start: p.Start, End: p.End, Latest: desks.Sure(p, 0, f.errors).Latest}
	if p.End > p.Start { // a place begins when its computer comes free, and the program when its owner lets it
		stay.Start = min(f.computers[p.Computer].Forecast.First(p.Start), p.End-1)
		stay.Doubt = f.doubt(p.Computer)
	}
	return stay
}

// doubt is why it is not sure when a job begins on a computer.
func (o *forecast) doubt(at int) string {
	if o.away[at] == present {
		return ""
	}
	free := 0
	for _, a := range o.away {
		if a == present {
			free++
		}
	}
	return fmt.Sprintf("the computer that is foreseen for it is %s now; %d of the pool's %d take jobs", o.away[at], free, len(o.away))
}

// misjudged is how long a job ran beside what was foreseen, by the word of its computer.
type misjudged struct {
	computer string
	factor   float64
}

// Of how many ended jobs the pool remembers how they ended beside what was foreseen: of all, and of one computer. One that lies, or
// differs from all others, is too few of them to move what is told of the others: nine of ten jobs end by then.
const (
	keptErrors = 100
	keptOfOne  = 8
)

// noteEnd keeps how long a job ran beside what was foreseen; s.mu is held.
func (s *System) noteEnd(e *entry, at grid.Tick) {
	if e.foreseen <= e.began || e.began == 0 {
		return
	}
	x := misjudged{e.computer.name, float64(at-e.began) / float64(e.foreseen-e.began)}
	all, of := append(s.errors, x), func(m misjudged) bool { return m.computer == x.computer }
	own := 0
	for _, m := range all {
		if of(m) {
			own++
		}
	}
	switch {
	case own > keptOfOne:
		oldest := slices.IndexFunc(all, of)
		all = slices.Delete(all, oldest, oldest+1)
	case len(all) > keptErrors:
		all = slices.Delete(all, 0, 1)
	}
	s.errors = all
}

func factors(list []misjudged) (out []float64) {
	for _, m := range list {
		out = append(out, m.factor)
	}
	return out
}
