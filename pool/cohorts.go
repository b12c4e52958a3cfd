package pool

import (
	"cmp"
	"math"
	"slices"

	"gbroker/grid"
)

// likeness is what the computers of a cohort have in common.
type likeness struct {
	architecture, system string
	speed                float64
	memory               int64
	cores                int
	dedicated            bool
}

// like is what a computer has in common with others: its speed and memory by classes.
func (c *Computer) like() likeness {
	k := likeness{architecture: c.Architecture, system: c.System, cores: int(c.Cores), dedicated: c.Dedicated}
	if c.Speed > 0 {
		k.speed = math.Exp2(math.Floor(2*math.Log2(c.Speed)+1e-9) / 2)
	}
	for m := int64(1); m <= c.Memory && m > 0; m <<= 1 {
		k.memory = m
	}
	return k
}

// Cohorts sums up a pool: like computers by intervals from now on, the largest cohorts first. Where there are more than a site tells, the last is of all that
// are left. What owners say of users is not in it. Takes tells whether a computer takes jobs now.
func Cohorts(now grid.Tick, computers []Computer, takes func(i int) bool) (out []grid.Cohort) {
	of := map[likeness][]int{}
	for i := range computers {
		k := computers[i].like()
		of[k] = append(of[k], i)
	}
	for k, members := range of {
		c := grid.Cohort{Architecture: k.architecture, System: k.system, Speed: k.speed, Memory: k.memory, Cores: k.cores, Dedicated: k.dedicated}
		c.Levels = make([]float64, grid.MaxLevels)
		for _, i := range members {
			count(&c, now, &computers[i], takes(i))
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b grid.Cohort) int {
		return cmp.Or(cmp.Compare(b.Computers, a.Computers), cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.System, b.System),
			cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Cores, b.Cores), compare(a.Dedicated, b.Dedicated))
	})
	if len(out) > grid.MaxCohorts {
		out = append(out[:grid.MaxCohorts-1:grid.MaxCohorts-1], joined(out[grid.MaxCohorts-1:]))
	}
	for i := range out {
		for n := range out[i].Levels { // in steps that do not change with each look
			out[i].Levels[n] = math.Round(64*out[i].Levels[n]/float64(out[i].Computers)) / 64
		}
	}
	return out
}

// count adds a computer to its cohort, whose levels are sums as yet.
func count(c *grid.Cohort, now grid.Tick, one *Computer, takes bool) {
	c.Computers++
	if takes {
		c.Free++
	}
	for n := range c.Levels {
		from := now + grid.Tick(n)*grid.CohortSpan
		c.Levels[n] += one.Forecast.Done(from, from+grid.CohortSpan) / grid.CohortSpan.Seconds()
	}
}

// joined is one cohort of several, of which nothing is told that they have in common.
func joined(list []grid.Cohort) grid.Cohort {
	all := grid.Cohort{Levels: make([]float64, grid.MaxLevels)}
	for _, c := range list {
		all.Computers, all.Free = all.Computers+c.Computers, all.Free+c.Free
		for n, level := range c.Levels {
			all.Levels[n] += level
		}
	}
	return all
}

// OfCohorts are computers as a pool tells of them, for a demand: as many as there are, each with what like ones have on average, and each as often as it has room for
// such jobs. A day from now on is told; the next are taken to be like it. Of which nothing is told but their number, they are left out.
func OfCohorts(now grid.Tick, list []grid.Cohort, d *grid.Demand) (out []Computer) {
	cores, memory := 0, int64(0)
	for _, k := range d.Chunks {
		cores, memory = cores+k.Count*k.Cores, memory+int64(k.Count)*k.Memory
	}
	for _, c := range list {
		if c.Cores == 0 || len(c.Levels) == 0 || !c.Holds(d) {
			continue
		}
		rooms := c.Cores / max(cores, 1)
		if memory > 0 {
			rooms = min(rooms, int(max(c.Memory/memory, 1)))
		}
		if d.Exclusive {
			rooms = 1
		}
		var steps []Step
		for n, h := range c.Levels {
			steps = append(steps, Step{grid.Tick(n) * grid.CohortSpan, h})
		}
		one := Computer{
			Architecture: c.Architecture, System: c.System, Cores: int32(c.Cores), Memory: c.Memory, Speed: c.Speed, Dedicated: c.Dedicated,
			Forecast: NewForecast(now, grid.Tick(len(steps))*grid.CohortSpan, steps...),
		}
		out = append(out, slices.Repeat([]Computer{one}, c.Computers*rooms)...)
	}
	return out
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
