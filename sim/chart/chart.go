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
	at := c.free(p)
	p.Legend.Top, p.Legend.Left = at.top, at.left
	p.Legend.Padding = vg.Points(2)
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

// corner is a place of the legend, which lies over a part of the figure.
type corner struct{ top, left bool }

// free is the corner in which the legend hides the fewest points.
func (c *Chart) free(p *plot.Plot) (best corner) {
	for _, at := range []corner{{true, false}, {true, true}, {false, true}} {
		if at.hides(c.Lines, p) < best.hides(c.Lines, p) {
			best = at
		}
	}
	return best
}

// hides counts the points that lie under the legend.
func (c corner) hides(lines []Line, p *plot.Plot) (n int) {
	const width, line = 0.45, 0.06 // parts of the figure
	height := line * float64(len(lines)+1)
	for _, l := range lines {
		for k := range l.Points {
			for _, q := range between(l.Points, k) {
				x, y := p.X.Norm(q.X), p.Y.Norm(q.Y)
				if (c.left && x < width || !c.left && x > 1-width) && (c.top && y > 1-height || !c.top && y < height) {
					n++
				}
			}
		}
	}
	return n
}

// between are a point of a line and some on the way to the next.
func between(points []Point, k int) (out []Point) {
	const steps = 8
	if k+1 == len(points) {
		return points[k:]
	}
	a, b := points[k], points[k+1]
	for i := range steps {
		part := float64(i) / steps
		out = append(out, Point{a.X + part*(b.X-a.X), a.Y + part*(b.Y-a.Y)})
	}
	return out
}
