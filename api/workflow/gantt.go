package workflow

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
)

// row is a line of a chart: what one core of a site does, one task after another.
type row struct {
	site  string
	tasks []PlannedTask
}

// rows puts tasks onto as few lines of each site as there are.
func (p *Planned) rows() (list []row) {
	tasks := slices.Clone(p.Tasks)
	slices.SortStableFunc(tasks, func(a, b PlannedTask) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Start, b.Start))
	})
	for _, t := range tasks {
		k := slices.IndexFunc(list, func(l row) bool { return l.site == t.Site && l.tasks[len(l.tasks)-1].End <= t.Start })
		if k < 0 {
			k, list = len(list), append(list, row{site: t.Site})
		}
		list[k].tasks = append(list[k].tasks, t)
	}
	return list
}

// Text draws the plan with so many characters for the time.
func (p *Planned) Text(out io.Writer, width int) error {
	names := 4
	for _, t := range p.Tasks {
		names = max(names, len([]rune(t.Site)))
	}
	col := func(d time.Duration) int {
		return min(int(float64(width)*float64(d)/float64(max(p.Makespan, 1))), width)
	}
	for _, l := range p.rows() {
		line := []rune(strings.Repeat(".", width))
		for _, t := range l.tasks {
			from, to := col(t.Start), max(col(t.End), col(t.Start)+1)
			name := []rune(t.Name)
			for k := from; k < min(to, width); k++ {
				switch n := k - from; {
				case n == 0:
					line[k] = '|'
				case n <= len(name):
					line[k] = name[n-1]
				default:
					line[k] = '='
				}
			}
		}
		if _, err := fmt.Fprintf(out, "%-*s %s\n", names, l.site, string(line)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%-*s 0%*s\n", names, "", width-1, p.Makespan.Round(time.Millisecond))
	return err
}

// SVG draws the plan.
func (p *Planned) SVG(out io.Writer) error {
	const width, height, left = 1000, 22, 110
	var b strings.Builder
	list := p.rows()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", left+width+10, height*(len(list)+1)+6)
	x := func(d time.Duration) float64 { return left + width*float64(d)/float64(max(p.Makespan, 1)) }
	for k, l := range list {
		y := height * k
		fmt.Fprintf(&b, `<text x="4" y="%d">%s</text>`+"\n", y+15, html.EscapeString(l.site))
		for _, t := range l.tasks {
			name := html.EscapeString(t.Name)
			fmt.Fprintf(&b, `<g><title>%s, %s, %s to %s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="hsl(%d 60%% 75%%)" stroke="#555" stroke-width="0.5"/>`,
				name, html.EscapeString(t.Site), t.Start, t.End, x(t.Start), y+2, max(x(t.End)-x(t.Start), 0.5), height-4, hue(t.Name))
			if room := int((x(t.End) - x(t.Start)) / 7); room > 2 {
				fmt.Fprintf(&b, `<text x="%.2f" y="%d">%s</text>`, x(t.Start)+3, y+15, html.EscapeString(clip(t.Name, room)))
			}
			b.WriteString("</g>\n")
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%s</text>`+"\n</svg>\n", left, height*len(list)+15, left+width, height*len(list)+15, p.Makespan.Round(time.Millisecond))
	_, err := io.WriteString(out, b.String())
	return err
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// hue is that of a kind of task: of its name without digits.
func hue(name string) (h int) {
	for _, r := range name {
		if r < '0' || r > '9' {
			h = (h*31 + int(r)) % 360
		}
	}
	return h
}
