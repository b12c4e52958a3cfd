package coallocate

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Plot draws comparisons into a file, by its ending: what wide jobs need with co-allocation, and what the others do, as parts
// of what they need without, by the share of wide jobs. A grid is a colour.
func Plot(file string, all []Comparison) error {
	p := plot.New()
	p.Title.Text = "Jobs over several sites"
	p.X.Label.Text = "wide jobs, % of all"
	p.Y.Label.Text = "mean response, % of that at one site each"
	p.Y.Min = 0
	p.Legend.Top = false
	p.Add(plotter.NewGrid())
	for i := 0; i < len(all); {
		first := i
		var wide, others plotter.XYs
		for ; i < len(all) && all[i].Grid == all[first].Grid; i++ {
			wide = append(wide, plotter.XY{X: 100 * all[i].Share, Y: 100 * all[i].Wide()})
			others = append(others, plotter.XY{X: 100 * all[i].Share, Y: 100 * (1 + all[i].Harm())})
		}
		for n, points := range []plotter.XYs{wide, others} {
			line, marks, err := plotter.NewLinePoints(points)
			if err != nil {
				return fmt.Errorf("drawing %s: %w", all[first].Grid, err)
			}
			colour := plotutil.Color(first / max(1, i-first))
			line.Color, marks.Color, marks.Shape = colour, colour, plotutil.Shape(n)
			line.Dashes = [][]vg.Length{nil, {vg.Points(4), vg.Points(3)}}[n]
			p.Add(line, marks)
			p.Legend.Add(all[first].Grid+[]string{", wide jobs", ", the others"}[n], line, marks)
		}
	}
	if err := p.Save(18*vg.Centimeter, 12*vg.Centimeter, file); err != nil {
		return fmt.Errorf("drawing into %s: %w", file, err)
	}
	return nil
}
