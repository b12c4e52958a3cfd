package coallocate

import "gbroker/sim/chart"

// Plot draws comparisons into a file, by its ending: what wide jobs need with co-allocation, and what the others do, as parts
// of what they need without, by the share of wide jobs. A grid is a colour.
func Plot(file string, all []Comparison) error {
	c := chart.Chart{Title: "Jobs over several sites", X: "wide jobs, % of all", Y: "mean response, % of that at one site each", FromZero: true}
	for i, colour := 0, 0; i < len(all); colour++ {
		first := i
		wide, others := chart.Line{Name: all[i].Grid + ", wide jobs", Colour: colour}, chart.Line{Name: all[i].Grid + ", the others", Colour: colour, Mark: 1}
		for ; i < len(all) && all[i].Grid == all[first].Grid; i++ {
			wide.Points = append(wide.Points, chart.Point{X: 100 * all[i].Share, Y: 100 * all[i].Wide()})
			others.Points = append(others.Points, chart.Point{X: 100 * all[i].Share, Y: 100 * (1 + all[i].Harm())})
		}
		c.Lines = append(c.Lines, wide, others)
	}
	return c.Save(file)
}
