// Package chart draws lines of points into files: the figures of simulations.
package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Chart is one figure. Its axes are named with their units.
type Chart struct {
	Title, X, Y string
	FromZero    bool // the second axis begins at 0
	LogX, LogY  bool // that axis is logarithmic; its values are above 0
	Lines       []Line
}

// Line is one of a figure.
type Line struct {
	Name   string
	Points []Point
	Colour int // lines of one number have one colour
	Mark   int // and shapes of points, and dashes, likewise
}

// Point is one of a line.
type Point struct{ X, Y float64 }

// dashes are the kinds of lines.
var dashes = [][]vg.Length{nil, {vg.Points(4), vg.Points(3)}, {vg.Points(1), vg.Points(2)}, {vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)}}

// Save draws into a file, of the kind that its ending names: .svg or .png.
func (c *Chart) Save(file string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding, p.X.Padding, p.Y.Padding = vg.Points(6), vg.Points(4), vg.Points(4)
	p.Add(plotter.NewGrid())
	for _, l := range c.Lines {
		if err := c.add(p, l); err != nil {
			return fmt.Errorf("drawing %s: %w", l.Name, err)
		}
	}
	if c.FromZero {
		p.Y.Min = 0
	}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if err := p.Save(18*vg.Centimeter, 12*vg.Centimeter, file); err != nil {
		return fmt.Errorf("drawing into %s: %w", file, err)
	}
	return nil
}

func (c *Chart) add(p *plot.Plot, l Line) error {
	var points plotter.XYs
	for _, at := range l.Points {
		points = append(points, plotter.XY{X: at.X, Y: at.Y})
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	colour := plotutil.Color(l.Colour)
	line.Color, marks.Color, marks.Shape = colour, colour, plotutil.Shape(l.Mark)
	line.Dashes = dashes[l.Mark%len(dashes)]
	p.Add(line, marks)
	p.Legend.Add(l.Name, line, marks)
	return nil
}
