package cli

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap stands between two columns.
const gap = 2

// Tabular aligns tab-separated cells by the columns that they take on a terminal: wide characters
// take two, colours none. What stands behind the last tab of a line is in no column. Flush ends it.
type Tabular struct {
	w    io.Writer
	text strings.Builder
	fit  int // columns of the terminal; 0: nothing is cut
	give int // the column that is cut where a line is longer; -1: none
}

// Table returns a writer that aligns tab-separated columns; Flush ends it.
func Table(w io.Writer) *Tabular { return &Tabular{w: w, give: -1} }

// Fitted is Table, but on a terminal that is too narrow the column give is cut.
func Fitted(w io.Writer, give int) *Tabular { return &Tabular{w: w, fit: Width(w), give: give} }

// FittedTo is Fitted to a number of columns; 0 cuts nothing.
func FittedTo(w io.Writer, columns, give int) *Tabular {
	return &Tabular{w: w, fit: columns, give: give}
}

func (t *Tabular) Write(b []byte) (int, error) { return t.text.Write(b) }

// least is to how many columns one is cut at most.
const least = 6

// Flush writes the table.
func (t *Tabular) Flush() error {
	text := t.text.String()
	t.text.Reset()
	lines := strings.SplitAfter(text, "\n")
	var rows [][]string
	var widths []int
	for _, line := range lines {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, cells)
		for i, cell := range cells[:len(cells)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	t.narrow(rows, widths)
	var out strings.Builder
	for i, cells := range rows {
		writeRow(&out, cells, widths)
		if strings.HasSuffix(lines[i], "\n") {
			out.WriteByte('\n')
		}
	}
	_, err := io.WriteString(t.w, out.String())
	return err
}

// narrow cuts the column that gives, where the longest row is too long.
func (t *Tabular) narrow(rows [][]string, widths []int) {
	if t.fit == 0 || t.give < 0 || t.give >= len(widths) {
		return
	}
	all := 0
	for _, w := range widths {
		all += w + gap
	}
	longest := 0
	for _, cells := range rows {
		longest = max(longest, ansi.StringWidth(cells[len(cells)-1]))
	}
	if over := all + longest - t.fit; over > 0 {
		widths[t.give] = max(min(widths[t.give], least), widths[t.give]-over)
	}
}

func writeRow(out *strings.Builder, cells []string, widths []int) {
	blank := 0
	for i, cell := range cells {
		if i < len(cells)-1 {
			cell = ansi.Truncate(cell, widths[i], "…")
		}
		if cell != "" {
			out.WriteString(strings.Repeat(" ", blank))
			out.WriteString(cell)
			blank = 0
		}
		if i < len(cells)-1 {
			blank += widths[i] - ansi.StringWidth(cell) + gap
		}
	}
}
