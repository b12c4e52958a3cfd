package experiment

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gbroker/sim/chart"
)

// Draw draws the figures of an experiment into a folder, as svg or png, and tells their files. One without points is left out.
func (e *Experiment) Draw(r *Results, folder, kind string) (files []string, err error) {
	for _, p := range e.Plots {
		c := r.chart(p)
		if len(c.Lines) == 0 {
			continue
		}
		file := filepath.Join(folder, p.File+"."+kind)
		if err := c.Save(file); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// series is a line on its way: what of the values, the first axis apart, its rows share.
type series struct {
	name, rule string
	points     []chart.Point
	flat       bool // the rule does not look at the first axis
}

// chart gathers the rows of a figure.
func (r *Results) chart(p Plot) *chart.Chart {
	c := &chart.Chart{Title: p.Title, X: axisLabel(p.X), Y: metricOf(p.Y).Label, FromZero: !strings.Contains(p.Log, "y"), LogX: strings.Contains(p.Log, "x"), LogY: strings.Contains(p.Log, "y")}
	if r.Partial {
		c.Title += " (partial)"
	}
	var all []*series
	for _, row := range r.Rows {
		y, ok := row.number(p.Y)
		if !ok || !row.within(p.Where) || c.LogY && y <= 0 {
			continue
		}
		name := r.nameOf(row, p)
		i := slices.IndexFunc(all, func(s *series) bool { return s.name == name })
		if i < 0 {
			i, all = len(all), append(all, &series{name: name, rule: row.Rule})
		}
		x, ok := row.first(p.X)
		all[i].flat = !ok
		if !ok || !c.LogX || x > 0 {
			all[i].points = append(all[i].points, chart.Point{X: x, Y: y})
		}
	}
	c.Lines = lines(all)
	return c
}

// lines gives each line a colour by its rule, or by its name where there is one rule alone; a flat one runs through all of
// the figure.
func lines(all []*series) (out []chart.Line) {
	var rules []string
	var left, right float64
	drawn := false
	for _, s := range all {
		if !slices.Contains(rules, s.rule) {
			rules = append(rules, s.rule)
		}
		for _, p := range s.points {
			if s.flat {
				continue
			}
			if !drawn {
				left, right, drawn = p.X, p.X, true
			}
			left, right = min(left, p.X), max(right, p.X)
		}
	}
	of := make(map[string]int)
	for _, s := range all {
		if s.flat {
			s.points = []chart.Point{{X: left, Y: s.points[0].Y}, {X: right, Y: s.points[0].Y}}
		}
		slices.SortFunc(s.points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		line := chart.Line{Name: s.name, Points: s.points, Colour: slices.Index(rules, s.rule), Mark: of[s.rule]}
		if len(rules) == 1 {
			line.Colour = of[s.rule]
		}
		of[s.rule]++
		out = append(out, line)
	}
	return out
}

// within tells whether a row has the values that a figure is of. A field that the rule does not look at has them all.
func (r *Row) within(where map[string]string) bool {
	for path, v := range where {
		if path == "brokering.rule" && r.Rule != v {
			return false
		}
		if has, ok := r.Values[path]; ok && has != v {
			return false
		}
	}
	return true
}

// first is where a row lies on the first axis; false where its rule does not look at it.
func (r *Row) first(x string) (float64, bool) {
	if metricOf(x) != nil {
		return r.number(x)
	}
	v, ok := r.Values[x]
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(v, 64)
	return f, err == nil
}

// nameOf names the line of a row, by all that varies beside what the figure says already.
func (r *Results) nameOf(row *Row, p Plot) string {
	var words []string
	if _, said := p.Where["brokering.rule"]; !said && slices.Contains(r.Axes, "brokering.rule") {
		words = append(words, row.Rule)
	}
	for _, path := range r.otherAxes() {
		if _, said := p.Where[path]; said || path == p.X || metricOf(p.X) != nil && strings.HasPrefix(path, "topology") {
			continue
		}
		if v, ok := row.Values[path]; ok {
			words = append(words, fmt.Sprintf("%s %s", shortName(path), v))
		}
	}
	if len(words) == 0 {
		return row.Rule
	}
	return strings.Join(words, ", ")
}

// units are how the fields are named on an axis.
var units = map[string]string{
	"workload.rate_per_s": "arrival rate, jobs per second", "workload.load": "offered load, part of all cores",
	"brokering.reevaluate_s": "re-evaluation each, s", "brokering.view_age_s": "age of views, s", "brokering.tell_s": "starts told each, s", "topology.random": "neighbours of a site",
	"sites.count": "sites", "links.delivery_s": "delivery, s", "sites.away.share": "part of the sites that leave and return",
	"workload.strategists.copies": "copies that strategists hand in",
	"workload.strategists.share":  "part of the jobs that are of strategists", "workload.strategists.walltime_factor": "walltime asked by strategists, by the run time",
}

func axisLabel(x string) string {
	if m := metricOf(x); m != nil {
		return m.Label
	}
	if name, ok := units[x]; ok {
		return name
	}
	return strings.ReplaceAll(x, ".", ", ")
}
