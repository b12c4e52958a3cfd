package coallocate

import (
	"context"

	"gbroker/grid"
)

// Measures are of one simulation.
type Measures struct {
	Narrow, Wide, Giant Kind
	Use                 float64 // the part of the grid that ran jobs until the last one came
	Idle                float64 // the part of it that reservations kept from jobs that waited, likewise
	Several             int     // jobs that ran at more than one site
}

// Kind is of the jobs of one kind.
type Kind struct {
	Jobs, Ran int
	Response  float64 // mean, of those that ran, in seconds
}

func (k *Kind) add(j *Job, o Outcome) {
	k.Jobs++
	if o.Sites > 0 {
		k.Response += (o.End - j.Submit).Seconds()
		k.Ran++
	}
}

// Measure says what became of the jobs.
func (w *World) Measure(of Result) (m Measures) {
	last := w.Jobs[len(w.Jobs)-1].Submit
	busy := 0.0
	for i, o := range of.Outcomes {
		j := &w.Jobs[i]
		kind := &m.Narrow
		if j.Wide {
			kind = &m.Wide
		}
		if j.Processes > w.Grid.Widest() {
			kind = &m.Giant
		}
		kind.add(j, o)
		if o.Sites > 1 {
			m.Several++
		}
		busy += float64(j.Processes) * max(0, (min(o.End, last)-min(o.Start, last)).Seconds())
	}
	for _, k := range []*Kind{&m.Narrow, &m.Wide, &m.Giant} {
		k.Response /= float64(max(k.Ran, 1))
	}
	all := float64(w.Grid.Nodes()) * max(last.Seconds(), 1)
	m.Use, m.Idle = busy/all, of.Idle/all
	return m
}

// Comparison is the same jobs without and with co-allocation.
type Comparison struct {
	Grid    string
	Share   float64
	Seeds   int
	Without Measures
	With    Measures
}

// Harm is by how much the others wait and run longer with it, as a part.
func (c *Comparison) Harm() float64 { return ratio(c.With.Narrow, c.Without.Narrow) - 1 }

// Wide is the response of wide jobs with it, as a part of that without.
func (c *Comparison) Wide() float64 { return ratio(c.With.Wide, c.Without.Wide) }

func ratio(a, b Kind) float64 {
	if b.Response == 0 {
		return 1
	}
	return a.Response / b.Response
}

// Compare simulates both forms of a world.
func Compare(ctx context.Context, w World) (without, with Measures, err error) {
	measure := func(several bool) (Measures, error) {
		w.Several = several
		out, err := w.Run(ctx)
		if err != nil {
			return Measures{}, err
		}
		return w.Measure(out), nil
	}
	if without, err = measure(false); err != nil {
		return without, with, err
	}
	with, err = measure(true)
	return without, with, err
}

// Mean is that of several measures of the same size.
func Mean(all []Measures) (m Measures) {
	n := float64(len(all))
	for _, a := range all {
		for _, k := range [][2]*Kind{{&m.Narrow, &a.Narrow}, {&m.Wide, &a.Wide}, {&m.Giant, &a.Giant}} {
			k[0].Jobs += k[1].Jobs
			k[0].Ran += k[1].Ran
			k[0].Response += k[1].Response * float64(k[1].Ran)
		}
		m.Use += a.Use / n
		m.Idle += a.Idle / n
		m.Several += a.Several
	}
	for _, k := range []*Kind{&m.Narrow, &m.Wide, &m.Giant} {
		k.Response /= float64(max(k.Ran, 1))
	}
	return m
}

// Defaults are those of `gsim coallocate`.
func Defaults() World {
	return World{Cycle: grid.Minute, Window: grid.Hour, Gain: grid.Minute, Horizon: 7 * grid.Day, Sites: 6}
}
