package pool

import (
	"cmp"
	"math"
	"slices"

	"gbroker/grid"
)

// Kind is what like computers have in common.
type Kind struct {
	Architecture, System string
	Speed                int   // class: 2^(Speed/2) is the least speed of it, relative to the reference
	Memory               int64 // the largest power of two that all have, bytes
	Cores                int32
	Dedicated            bool
}

// Group is like computers, by interval: what a site of the grid publishes of its pool.
type Group struct {
	Kind
	Computers int
	Free      int       // of these, now
	Levels    []float64 // mean H of a computer, by interval
}

// Groups sums up a pool by count intervals of a span, from now on. What computers do with users is not in it.
func Groups(now, span grid.Tick, count int, computers []Computer) []Group {
	at := make(map[Kind]int)
	var out []Group
	for i := range computers {
		c := &computers[i]
		k := c.kind()
		g, ok := at[k]
		if !ok {
			g = len(out)
			at[k] = g
			out = append(out, Group{Kind: k, Levels: make([]float64, count)})
		}
		out[g].Computers++
		if c.Free <= now {
			out[g].Free++
		}
		for n := range count {
			from := now + grid.Tick(n)*span
			out[g].Levels[n] += c.Forecast.Done(from, from+span) / span.Seconds()
		}
	}
	for g := range out {
		for n := range out[g].Levels {
			out[g].Levels[n] /= float64(out[g].Computers)
		}
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.System, b.System), cmp.Compare(a.Speed, b.Speed),
			cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Cores, b.Cores), cmp.Compare(one(a.Dedicated), one(b.Dedicated)))
	})
	return out
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *Computer) kind() Kind {
	k := Kind{Architecture: c.Architecture, System: c.System, Cores: c.Cores, Dedicated: c.Dedicated, Speed: -64}
	if c.Speed > 0 {
		k.Speed = int(math.Floor(2*math.Log2(c.Speed) + 1e-9))
	}
	for m := int64(1); m <= c.Memory && m > 0; m <<= 1 {
		k.Memory = m
	}
	return k
}

// Estimate is what a pool answers when asked when a job would end.
type Estimate struct {
	Place
	InTime   float64   // how likely the end is no later than the deadline; 1 without one
	Earliest grid.Tick // four of five like jobs end between these
	Latest   grid.Tick
}

// Sure makes an estimate of where a job would run. Errors are of runs that ended here: their time in truth by the time that was foreseen. With none of them
// the estimate says so by a wide interval: half to twice the time.
func Sure(p Place, deadline grid.Tick, errors []float64) Estimate {
	if len(errors) == 0 {
		errors = []float64{0.5, 1, 1, 1, 2}
	}
	sorted := slices.Sorted(slices.Values(errors))
	span := float64(p.End - p.Start)
	at := func(part float64) grid.Tick {
		i := min(int(part*float64(len(sorted))), len(sorted)-1)
		return p.Start + grid.Tick(math.Ceil(span*sorted[i]))
	}
	e := Estimate{Place: p, InTime: 1, Earliest: at(0.1), Latest: at(0.9)}
	if deadline != 0 {
		in := 0
		for _, x := range sorted {
			if p.Start+grid.Tick(span*x) <= deadline {
				in++
			}
		}
		e.InTime = float64(in+1) / float64(len(sorted)+2) // a pool is never quite sure
		if p.Start >= deadline {
			e.InTime = 0
		}
	}
	return e
}
