package cli

import (
	"io"
	"os"

	"github.com/charmbracelet/x/term"
)

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// Width is how many columns the terminal w has; 0 where it is none: nothing is cut then.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return width
}

// Colour is one of the ways in which a word can stand out.
type Colour string

// They say the same everywhere: what goes well, what is under way, what wants a look, what failed.
const (
	Plain Colour = ""
	Good  Colour = "32"
	Busy  Colour = "36"
	Warn  Colour = "33"
	Bad   Colour = "31"
)

// Coloured reports whether colours go to w: it is a terminal that has them, and NO_COLOR is not set
// (https://no-color.org).
func Coloured(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(w)
}

// Paint is text in a colour.
func Paint(text string, c Colour) string {
	if c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[m"
}
