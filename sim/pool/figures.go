package pool

import (
	"errors"
	"slices"
	"strings"

	"gbroker/sim/chart"
)

// Measure is one number of an outcome.
type Measure struct {
	Name, Label string // the label has its unit
	Of          func(*Outcome) float64
}

// Measures are what is told of a run.
var Measures = []Measure{
	{"failures", "jobs not done by their deadlines", func(o *Outcome) float64 { return float64(o.Failures) }},
	{"refused", "jobs that no computer could end in time", func(o *Outcome) float64 { return float64(o.Refused) }},
	{"waited", "jobs that waited too long", func(o *Outcome) float64 { return float64(o.Waited) }},
	{"late", "jobs that began and did not end in time", func(o *Outcome) float64 { return float64(o.Late) }},
	{"useful", "performance in jobs that ended in time, %", func(o *Outcome) float64 { return 100 * o.Useful }},
}

// Failures is the measure that all are after.
func Failures(o *Outcome) float64 { return Measures[0].Of(o) }

// axis is what may vary along a figure.
type axis struct {
	label string
	of    func(*Model) float64
}

var axes = []axis{
	{"error of the forecast, sigma", func(m *Model) float64 { return m.Sigma }},
	{"weak computers that are added", func(m *Model) float64 { return float64(m.Weak) }},
	{"parts of a job, at most", func(m *Model) float64 { return float64(m.Parts) }},
}

// noAxis says that rows make no figure.
var noAxis = errors.New("a figure needs one of sigma, weak and parts with several values, and the other two with one")

// Draw draws measures of rows into a file, by what varies; lines are the rules, and what else there are several of.
func Draw(file, title string, rows []Row, measures []Measure) error {
	along, err := alongOf(rows)
	if err != nil {
		return err
	}
	label := "jobs"
	if len(measures) == 1 {
		label = measures[0].Label
	}
	c := chart.Chart{Title: title, X: along.label, Y: label, FromZero: true}
	at := make(map[string]int)
	for _, m := range measures {
		for i := range rows {
			name := nameOf(&rows[i], rows, m, measures)
			if _, ok := at[name]; !ok {
				at[name] = len(c.Lines)
				n := len(c.Lines)
				c.Lines = append(c.Lines, chart.Line{Name: name, Colour: n, Mark: n})
			}
			mean, _ := rows[i].Mean(m.Of)
			line := &c.Lines[at[name]]
			line.Points = append(line.Points, chart.Point{X: along.of(&rows[i].Model), Y: mean})
		}
	}
	return c.Save(file)
}

// Drawable tells whether what tasks come to makes a figure.
func Drawable(tasks []Task) error {
	var rows []Row
	for _, t := range tasks {
		rows = append(rows, Row{Model: t.Model})
	}
	_, err := alongOf(rows)
	return err
}

// alongOf is the one thing that varies along a figure of rows.
func alongOf(rows []Row) (along axis, err error) {
	n := 0
	for _, a := range axes {
		if varies(rows, a.of) {
			along = a
			n++
		}
	}
	if n != 1 {
		return along, noAxis
	}
	return along, nil
}

// varies tells whether rows differ in something.
func varies[T comparable](rows []Row, of func(*Model) T) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return of(&r.Model) != of(&rows[0].Model) })
}

// nameOf names the line of a row by all that varies beside the axis.
func nameOf(r *Row, rows []Row, m Measure, measures []Measure) string {
	var words []string
	if slices.ContainsFunc(rows, func(x Row) bool { return x.Rule != r.Rule }) || len(measures) == 1 {
		words = append(words, r.Rule)
	}
	if len(measures) > 1 {
		words = append(words, m.Name)
	}
	if varies(rows, func(m *Model) Arrivals { return m.Arrivals }) {
		words = append(words, "arrivals "+string(r.Model.Arrivals))
	}
	if varies(rows, func(m *Model) Errors { return m.Errors }) {
		words = append(words, "an error for each "+string(r.Model.Errors))
	}
	if varies(rows, func(m *Model) Information { return m.Knows }) {
		words = append(words, "information: "+string(r.Model.Knows))
	}
	return strings.Join(words, ", ")
}
