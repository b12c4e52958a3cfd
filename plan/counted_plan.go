package plan

import (
	"math/bits"

	"gbroker/grid"
)

// CountedPlan is what a [Counted] scheduler will do from one instant on, if nobody
// else comes, and answers when one more job would start. It does not change.
//
// The job comes last in the queue: it takes part in every pass from its arrival on,
// and so starts at the first at which it fits for its whole limit beside what runs,
// what is reserved and the holds; under FCFS and behind a barrier of FirstFit at the
// first at which nobody before it waits. While it waits it changes nothing for the
// others, so that this is when it would start, exactly, where the queue is by arrival.
// There are exceptions:
//
//   - under EASYSJBF it would be taken before longer jobs behind the head, and the
//     answer, which is after them, may be later than its start, never earlier;
//   - under ConsCompress, where jobs end before their limits, its reservation would keep
//     others from moving to earlier places, and the answer is a guess, not a bound;
//   - where the queue is sorted it might come before others and delay them, they would
//     run beside others than planned, and the answer is a guess, not a bound.
//
// The plan keeps the instants after its passes, and for each of them what is free from
// then on, for how long. That holds until the next one: between them nothing becomes free.
type CountedPlan struct {
	cores   int32
	horizon grid.Tick // the last instant
	moments []instant
	links   []link
	lasting []lasting // of each block of moments
}

// instant is one after a pass. What is free from then on is a chain of links.
type instant struct {
	at    grid.Tick
	first int32 // of links; lastLink: nobody else starts here
}

// link is what is free until an instant, and the link after it, which has less.
type link struct {
	until grid.Tick
	free  int32
	next  int32
}

// lastLink, as the next one, ends a chain.
const lastLink = -1

// lasting is for how long 1, 2, 4, 8... cores are free from some moment of a block.
type lasting [31]grid.Tick

const momentBlock = 32

// tenYears is the horizon that is used where none is said.
const tenYears = 10 * 366 * grid.Day

// NewCountedPlan runs c forward from its state after the pass at now. The jobs that
// run are given with their believed ends, and run says for how long one that starts
// is believed to run; where run is nil all of them run to their limits. Starts later
// than horizon after now are not told; 0 is ten years, in milliseconds.
func NewCountedPlan(now grid.Tick, c *Counted, running []Ending, run func(h Held) grid.Tick, horizon grid.Tick) *CountedPlan {
	if horizon <= 0 {
		horizon = tenYears
	}
	p := &CountedPlan{cores: c.cores, horizon: now + min(horizon, latestHold)}
	if run == nil && (c.policy.Kind == ConsCompress || c.policy.Kind == ConsRebuild) {
		p.fromSteps(now, c)
	} else {
		p.runForward(now, c, running, run)
	}
	p.index()
	return p
}

// fromSteps is the plan of a conservative policy whose jobs run to their limits: all
// will be as it is reserved.
func (p *CountedPlan) fromSteps(now grid.Tick, c *Counted) {
	var s Counted
	s.CopyFrom(c)
	if s.policy.Kind == ConsRebuild && s.queue.live == 0 {
		s.believe(now)
	}
	s.steps.advance(now)
	points := s.steps.points[s.steps.first:]
	p.links = make([]link, len(points))
	for i := len(points) - 1; i >= 0; i-- {
		next := int32(lastLink)
		if i+1 < len(points) {
			next = int32(i + 1)
		}
		for next != lastLink && p.links[next].free >= points[i].free {
			next = p.links[next].next
		}
		p.links[i] = link{until: never, free: points[i].free, next: next}
		if next != lastLink {
			p.links[i].until = points[next].at
		}
	}
	for i := range points {
		if i == 0 || points[i].free > points[i-1].free {
			p.moments = append(p.moments, instant{max(points[i].at, now), int32(i)})
		}
	}
}

// runForward is the plan of any policy: what is free after each pass is kept.
func (p *CountedPlan) runForward(now grid.Tick, c *Counted, running []Ending, run func(h Held) grid.Tick) {
	var f Forecast
	f.begin(now, c, running, run == nil)
	started := func(_ grid.Tick, h Held) (grid.Tick, bool) {
		if run == nil {
			return never, false
		}
		return run(h), false
	}
	for at, ok := now, true; ok && at <= p.horizon; at, ok = f.next() {
		if at > now {
			f.step(at, started)
		}
		s := &f.scheduler
		s.room = s.forLast(at, s.room)
		p.add(at, s.room)
	}
}

// add adds a moment.
func (p *CountedPlan) add(at grid.Tick, free headroom) {
	first := int32(len(p.links))
	for i, l := range free {
		p.links = append(p.links, link{l.until, l.free, first + int32(i) + 1})
	}
	if len(free) == 0 {
		first = lastLink
	} else {
		p.links[len(p.links)-1].next = lastLink
	}
	p.moments = append(p.moments, instant{at, first})
}

// index finds what the blocks of moments have at most.
func (p *CountedPlan) index() {
	p.lasting = make([]lasting, (len(p.moments)+momentBlock-1)/momentBlock)
	for i, m := range p.moments {
		b := &p.lasting[i/momentBlock]
		for k := m.first; k != lastLink && p.links[k].free > 0; k = p.links[k].next {
			l := &p.links[k]
			rest := int32(0) // what is free after it
			if l.next != lastLink {
				rest = max(p.links[l.next].free, 0)
			}
			for j := bits.Len32(uint32(l.free)) - 1; j >= bits.Len32(uint32(rest)); j-- {
				b[j] = max(b[j], l.until-m.at)
			}
		}
	}
}

// Ask says when one more job would start that comes at notBefore, or at the plan's
// own instant if that is later; or why it would not.
func (p *CountedPlan) Ask(cores int32, limit, notBefore grid.Tick) (grid.Tick, *grid.Refusal) {
	switch {
	case cores < 1:
		return 0, &grid.Refusal{Reason: "no processors asked for", Asked: "0"}
	case cores > p.cores:
		return 0, lack("too few processors", int64(cores), int64(p.cores))
	}
	limit = min(max(limit, 1), longest)
	i := p.at(notBefore)
	if start := max(notBefore, p.moments[i].at); start <= p.horizon && p.fits(i, start, cores, limit) {
		return start, nil
	}
	size := bits.Len32(uint32(cores)) - 1
	for i++; i < len(p.moments); i++ {
		if i%momentBlock == 0 && p.lasting[i/momentBlock][size] < limit {
			i += momentBlock - 1
			continue
		}
		if at := p.moments[i].at; p.fits(i, at, cores, limit) {
			if at > p.horizon {
				break
			}
			return at, nil
		}
	}
	return 0, &grid.Refusal{Reason: "beyond the horizon of the plan"}
}

// at is the last moment up to an instant, or the first.
func (p *CountedPlan) at(t grid.Tick) int {
	low, high := 1, len(p.moments)
	for low < high {
		if mid := int(uint(low+high) / 2); p.moments[mid].at <= t {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// fits tells whether so many are free from a start that the i-th moment holds.
func (p *CountedPlan) fits(i int, start grid.Tick, cores int32, limit grid.Tick) bool {
	for k := p.moments[i].first; k != lastLink; k = p.links[k].next {
		l := &p.links[k]
		if l.free < cores {
			return false
		}
		if start+limit <= l.until {
			return true
		}
	}
	return false
}
