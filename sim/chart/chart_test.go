package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// Names of axes and lines are in the figure, and the legend lies where no line is.
func TestFigure(t *testing.T) {
	t.Parallel()
	rising := Line{Name: "rising line", Points: []Point{{0, 0}, {0.5, 0.1}, {1, 1}}}
	falling := Line{Name: "falling line", Points: []Point{{0, 1}, {1, 0}}}
	for _, c := range []struct {
		lines []Line
		corner
	}{
		{[]Line{rising}, corner{top: true, left: true}},
		{[]Line{falling}, corner{}},
		{[]Line{rising, falling, {Name: "floor", Points: []Point{{0, 0}, {1, 0}}}}, corner{top: true, left: true}},
	} {
		p := plot.New()
		p.X.Max, p.Y.Max = 1, 1
		p.X.Min, p.Y.Min = 0, 0
		chart := Chart{Title: "Lines", X: "time, s", Y: "height, m", Lines: c.lines}
		if got := chart.free(p); got.hides(chart.Lines, p) > c.corner.hides(chart.Lines, p) {
			t.Errorf("the legend lies at %+v, where %d points are, not at %+v, where %d are", got, got.hides(chart.Lines, p), c.corner, c.corner.hides(chart.Lines, p))
		}
		file := filepath.Join(t.TempDir(), "lines.svg")
		if err := chart.Save(file); err != nil {
			t.Fatal(err)
		}
		svg, err := os.ReadFile(file)
		for _, word := range []string{"Lines", "time, s", "height, m", c.lines[0].Name} {
			if err != nil || !strings.Contains(string(svg), word) {
				t.Errorf("%q is not in the figure (%v)", word, err)
			}
		}
	}
	if err := (&Chart{}).Save(filepath.Join(t.TempDir(), "lines.gif9")); err == nil {
		t.Error("a figure of a kind that is none was drawn")
	}
}
