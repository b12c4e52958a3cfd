package flows

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gbroker/flow"
	"gbroker/sim/chart"
)

// Case is one workflow on one platform.
type Case struct {
	Shape    Shape   `json:"shape"`
	Tasks    int     `json:"tasks"`
	Transfer float64 `json:"transfer"` // mean transfer over mean run time
	Seed     uint64  `json:"seed"`
}

// Suite is 20 workflows, with transfers short, as long as jobs, and long.
func Suite(seed uint64) (list []Case) {
	shapes := slices.Sorted(maps.Keys(Shapes))
	for _, transfer := range []float64{0.1, 1, 10} {
		for i := range 20 {
			list = append(list, Case{Shape: shapes[i%len(shapes)], Tasks: []int{50, 100, 200}[i/len(shapes)], Transfer: transfer, Seed: seed + uint64(i)})
		}
	}
	return list
}

// Outcome is what the rules made of a case.
type Outcome struct {
	Case
	Bounds flow.Bounds             `json:"bounds_us"`
	End    map[flow.Rule]flow.Time `json:"makespan_us"`
	Took   map[flow.Rule]float64   `json:"planned_in_s"`
}

// Ratio is a rule's makespan over that of HEFT.
func (o *Outcome) Ratio(r flow.Rule) float64 { return float64(o.End[r]) / float64(o.End[flow.HEFT]) }

// Over is a rule's makespan over the lower bound.
func (o *Outcome) Over(r flow.Rule) float64 { return float64(o.End[r]) / float64(o.Bounds.Least()) }

// Plan plans a case by each rule.
func (c Case) Plan(ctx context.Context, o flow.Options) (Outcome, error) {
	out := Outcome{Case: c, End: map[flow.Rule]flow.Time{}, Took: map[flow.Rule]float64{}}
	g, p, err := Make(c.Shape, c.Tasks, Speeds, c.Transfer, c.Seed)
	if err != nil {
		return out, err
	}
	if out.Bounds, err = flow.LowerBounds(g, p); err != nil {
		return out, err
	}
	for _, rule := range flow.Rules {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		begun := time.Now()
		s, err := flow.Plan(g, p, rule, o)
		if err != nil {
			return out, fmt.Errorf("%s, %d tasks, by %s: %w", c.Shape, c.Tasks, rule, err)
		}
		out.End[rule], out.Took[rule] = s.Makespan, time.Since(begun).Seconds()
	}
	return out, nil
}

// Row is a summary of some outcomes.
type Row struct {
	Rule     flow.Rule `json:"rule"`
	Transfer float64   `json:"transfer"` // 0 is all
	Cases    int       `json:"cases"`
	Ratio    float64   `json:"ratio_to_heft"`  // mean
	Worst    float64   `json:"worst_ratio"`    // to HEFT
	Over     float64   `json:"ratio_to_bound"` // mean
	Best     int       `json:"best"`           // how often no rule is better
}

// Summary has a row for each rule and ratio of transfers, then for each rule over all.
func Summary(list []Outcome) (rows []Row) {
	for _, transfer := range []float64{0.1, 1, 10, 0} {
		for _, rule := range flow.Rules {
			r := Row{Rule: rule, Transfer: transfer}
			for i := range list {
				if o := &list[i]; transfer == 0 || o.Transfer == transfer {
					r.add(o)
				}
			}
			if r.Cases > 0 {
				r.Ratio, r.Over = r.Ratio/float64(r.Cases), r.Over/float64(r.Cases)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func (r *Row) add(o *Outcome) {
	r.Cases++
	r.Ratio += o.Ratio(r.Rule)
	r.Over += o.Over(r.Rule)
	r.Worst = max(r.Worst, o.Ratio(r.Rule))
	if o.End[r.Rule] == slices.Min(slices.Collect(maps.Values(o.End))) {
		r.Best++
	}
}

// Plot draws each rule's ratio to HEFT, the cases in the order of what Search gains.
func Plot(file string, list []Outcome) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Outcome) int { return cmp.Compare(a.Ratio(flow.Search), b.Ratio(flow.Search)) })
	c := chart.Chart{Title: "Workflows: makespan by rule", X: "workflow, by what search gains", Y: "makespan over that of HEFT"}
	for k, rule := range flow.Rules {
		line := chart.Line{Name: string(rule), Colour: k, Mark: k}
		for i := range list {
			line.Points = append(line.Points, chart.Point{X: float64(i + 1), Y: list[i].Ratio(rule)})
		}
		c.Lines = append(c.Lines, line)
	}
	return c.Save(file)
}
