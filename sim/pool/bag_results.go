package pool

import (
	"context"

	"gbroker/pool"
	"gbroker/sim/chart"
)

// BagRow is what the seeds of one model of bags come to.
type BagRow struct {
	Model    Bag
	Outcomes []BagOutcome // by seed; those that were simulated
}

// RunBags runs each model with each seed, as [Run] does.
func RunBags(ctx context.Context, models []Bag, o Options) (rows []BagRow, partial bool) {
	got := make([]*BagOutcome, len(models)*o.Seeds) // by seed, then model
	each(ctx, len(got), o, func(i int, stop func() bool) {
		if out, ok := models[i%len(models)].Run(o.Seed+uint64(i/len(models)), stop); ok {
			got[i] = &out
		}
	})
	for i, m := range models {
		list, whole := column(got, i, len(models))
		partial = partial || !whole
		if len(list) > 0 {
			rows = append(rows, BagRow{m, list})
		}
	}
	return rows, partial
}

// BagMeasure is one number of an outcome.
type BagMeasure struct {
	Name, Label string // the label has its unit
	Of          func(*BagOutcome) float64
}

// BagMeasures are what is told of a run.
var BagMeasures = []BagMeasure{
	{"makespan", "until the last task ended, s", func(o *BagOutcome) float64 { return o.Makespan }},
	{"stretch", "makespan by that of computers which share the bag to its end", func(o *BagOutcome) float64 { return o.Stretch }},
	{"lost", "tasks that never ended", func(o *BagOutcome) float64 { return float64(o.Lost) }},
	{"wasted", "work that served no task's end, %", func(o *BagOutcome) float64 { return 100 * o.Wasted }},
}

// Mean and deviation of a measure over the seeds.
func (r *BagRow) Mean(of func(*BagOutcome) float64) (mean, sd float64) { return meanOf(r.Outcomes, of) }

// Name is what a row is called in a figure.
func (r *BagRow) Name() string {
	name := r.Model.Rule.Kind.String()
	if r.Model.Rule.Kind != pool.NoReplication || r.Model.Knows == Full {
		name += ", information: " + string(r.Model.Knows)
	}
	return name
}

// DrawBags draws a measure of rows into a file, by how many tasks a bag has for each computer.
func DrawBags(file, title string, rows []BagRow, m BagMeasure) error {
	c := chart.Chart{Title: title, X: "tasks for each computer", Y: m.Label, FromZero: true, LogX: true}
	at := map[string]int{}
	for i := range rows {
		r := &rows[i]
		if _, known := at[r.Name()]; !known {
			n := len(c.Lines)
			at[r.Name()] = n
			c.Lines = append(c.Lines, chart.Line{Name: r.Name(), Colour: n, Mark: n})
		}
		mean, _ := r.Mean(m.Of)
		line := &c.Lines[at[r.Name()]]
		line.Points = append(line.Points, chart.Point{X: float64(r.Model.Tasks) / float64(r.Model.Computers), Y: mean})
	}
	return c.Save(file)
}
