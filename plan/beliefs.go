package plan

import (
	"cmp"
	"math"
	"slices"

	"gbroker/grid"
)

// Alive is a job that runs.
type Alive struct {
	Trait
	Start grid.Tick
}

// Beliefs are what is believed of run times at one moment. They rest on the run times of the last jobs of the same user,
// each with a weight: a job weighs the more the later it began, and the more it is like the one in question; the run time of
// one with another limit is taken in proportion. The jobs of the user that still run tell that they run for longer than
// they have so far (the estimate of Kaplan and Meier); without them it would be those that end early who speak for all. For a job that runs
// already, only those count that ran for longer.
//
// How much what other users' jobs did should count beside that, and how often a job does what none did before, differs
// from site to site. So there are several views of it, none of which is chosen: who draws run times draws some by each, and
// by the same for all jobs of one draw.
type Beliefs struct {
	from  *RunTimes
	now   grid.Tick
	alive map[int64][]Alive // by user, by start
	fresh map[Trait]grid.Tick
	list  []sight
	left  []sight // memory of merge
}

// Views is how many views there are.
const Views = len(views)

// view is a weight of what is no job of the user; one of his jobs like the one in question weighs 1.
type view struct {
	crowd, crowdLater float64 // what the last jobs of all users did; for a job that runs already
	any               float64 // any time up to the limit, evenly by its logarithm
	limit             float64 // the limit, for a job that does not run yet
}

var views = [...]view{
	{crowd: 0.02, crowdLater: 0.02},
	{crowd: 0.1, crowdLater: 1},
	{crowd: 0.02, crowdLater: 0.02, any: 0.1},
	{crowd: 0.02, crowdLater: 0.02, limit: 0.1},
}

// sight is a run time that may be, or one (not ended) that it exceeds.
type sight struct {
	run    grid.Tick
	weight float64
	source source
	ended  bool
}

// source is what a sight rests on.
type source uint8

const (
	ofUser source = iota
	ofCrowd
	ofAny
	ofLimit
	sources
)

const (
	anySteps = 10
	leastAny = 1000 // any time begins at this part of the limit
)

// At is what is believed at one moment at which these jobs run.
func (r *RunTimes) At(now grid.Tick, running []Alive) *Beliefs {
	b := &Beliefs{from: r, now: now, alive: make(map[int64][]Alive), fresh: make(map[Trait]grid.Tick), list: make([]sight, 0, 4*anySteps)}
	for _, a := range running {
		b.alive[a.Who] = append(b.alive[a.Who], a)
	}
	for _, list := range b.alive {
		slices.SortFunc(list, func(a, b Alive) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Cores, b.Cores), cmp.Compare(a.Limit, b.Limit))
		})
	}
	return b
}

// Median is how long a job is as likely as not to run, by all views together: more than elapsed, which is 0 for one that does
// not run yet, and not beyond the limit unless elapsed is.
func (b *Beliefs) Median(t Trait, elapsed grid.Tick) grid.Tick {
	if known, ok := b.fresh[t]; ok && elapsed == 0 {
		return known
	}
	var into [9 * Views]grid.Tick
	b.Believe(t, elapsed, into[:])
	slices.Sort(into[:])
	m := into[len(into)/2]
	if elapsed == 0 {
		b.fresh[t] = m
	}
	return m
}

// Believe fills into with run times of a job that has run for elapsed: in as many equal parts as there are views, each
// with equally likely ones by that view, ascending. While nothing ended they are the limit.
func (b *Beliefs) Believe(t Trait, elapsed grid.Tick, into []grid.Tick) {
	if b.from.Empty() {
		for i := range into {
			into[i] = max(t.Limit, elapsed+1)
		}
		return
	}
	b.look(t, elapsed)
	n := len(into) / Views
	for i, v := range views {
		b.fill(&v, t, elapsed, into[i*n:(i+1)*n])
	}
}

// look lists what speaks for a job, by run time.
func (b *Beliefs) look(t Trait, elapsed grid.Tick) {
	b.list = b.list[:0]
	b.lookAtUser(t, elapsed)
	b.lookAtAny(t, elapsed)
	slices.SortFunc(b.list, bySight)
	own := len(b.list)
	b.lookAtCrowd(t, elapsed) // in order already
	b.merge(own)
}

func bySight(a, b sight) int {
	return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.source, b.source), cmp.Compare(a.weight, b.weight))
}

// merge makes one row of two, of which one begins at first.
func (b *Beliefs) merge(first int) {
	if list := b.list; first > 0 && first < len(list) {
		b.left = append(b.left[:0], list[:first]...)
		left := b.left
		at := 0
		for i, j := 0, first; i < len(left); at++ {
			if j < len(list) && list[j].run < left[i].run {
				list[at] = list[j]
				j++
			} else {
				list[at] = left[i]
				i++
			}
		}
	}
}

// lookAtUser takes the jobs of the user that ended and that run, the latest first.
func (b *Beliefs) lookAtUser(t Trait, elapsed grid.Tick) {
	ended, alive := b.from.of(t.Who), b.alive[t.Who]
	i, k := len(ended)-1, len(alive)-1
	for weight := 1.0; (i >= 0 || k >= 0) && weight > negligible; weight *= older {
		if k < 0 || i >= 0 && ended[i].start >= alive[k].Start {
			p := &ended[i]
			b.see(t, elapsed, p.run, p.limit, p.cores, weight, true)
			i--
			continue
		}
		a := &alive[k]
		b.see(t, elapsed, b.now-a.Start, max(a.Limit, 1), a.Cores, weight, false)
		k--
	}
}

// see takes one job of the user, if it ran for longer.
func (b *Beliefs) see(t Trait, elapsed, run, limit grid.Tick, cores int32, weight float64, ended bool) {
	if limit != t.Limit {
		run = grid.Tick(float64(run) / float64(limit) * float64(t.Limit))
		weight *= otherLimit
	}
	if cores != t.Cores {
		weight *= otherCores
	}
	if run = min(run, t.Limit); run > elapsed {
		b.list = append(b.list, sight{run, weight, ofUser, ended})
	}
}

func (b *Beliefs) lookAtAny(t Trait, elapsed grid.Tick) {
	if t.Limit <= elapsed {
		return
	}
	low, high := math.Log(max(float64(elapsed), float64(t.Limit)/leastAny)), math.Log(float64(t.Limit))
	for i := range anySteps {
		run := grid.Tick(math.Exp(low + (high-low)*(float64(i)+0.5)/anySteps))
		b.list = append(b.list, sight{max(run, elapsed+1), 1.0 / anySteps, ofAny, true})
	}
	if elapsed == 0 {
		b.list = append(b.list, sight{t.Limit, 1, ofLimit, true})
	}
}

// lookAtCrowd takes the crowd, of which all together weigh 1.
func (b *Beliefs) lookAtCrowd(t Trait, elapsed grid.Tick) {
	first, sum := len(b.list), 0.0
	for i := range b.from.crowd {
		m := &b.from.crowd[i]
		weight := m.like(t) * ages[b.from.num-m.num]
		sum += weight
		if run := min(grid.Tick(m.part*float64(t.Limit)), t.Limit); run > elapsed {
			b.list = append(b.list, sight{run, weight, ofCrowd, true})
		}
	}
	for i := range b.list[first:] {
		b.list[first+i].weight /= sum
	}
}

// ages are the weights of the crowd by age.
var ages = func() (a [keptCrowd]float64) {
	w := 1.0
	for i := range a {
		a[i] = w
		w *= olderCrowd
	}
	return a
}()

// fill fills into with quantiles by one view; what remains is run to the limit.
func (b *Beliefs) fill(v *view, t Trait, elapsed grid.Tick, into []grid.Tick) {
	factors := [sources]float64{1, v.crowd, v.any, v.limit}
	if elapsed > 0 {
		factors[ofCrowd] = v.crowdLater
	}
	var risk float64 // the weight of what is not seen yet
	for i := range b.list {
		risk += b.list[i].weight * factors[b.list[i].source]
	}
	at, left := 0, 1.0
	run := max(t.Limit, elapsed+1)
	for i := range into {
		want := 1 - (float64(i)+0.5)/float64(len(into))
		for ; left > want && at < len(b.list); at++ {
			s := &b.list[at]
			w := s.weight * factors[s.source]
			if s.ended && w > 0 {
				left *= max(0, 1-w/max(risk, w))
				run = s.run
			}
			risk -= w
		}
		if left > want {
			run = max(t.Limit, elapsed+1)
		}
		into[i] = run
	}
}
