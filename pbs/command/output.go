package command

import (
	"fmt"
	"strconv"

	"gbroker/grid"
)

// keptText is how much of what could not be read an OutputError keeps.
const keptText = 64 << 10

// OutputError tells that a command printed something that this program does not understand.
// Nothing is known then of what was asked: it wraps grid.ErrUnavailable.
type OutputError struct {
	Command string // as it was called
	Place   string // where in the output: a line, a path of keys, the number of a record
	Text    []byte // the first 64 KiB of the output
	Err     error  // what is wrong there
}

// Unreadable makes an OutputError of a whole output.
func Unreadable(command, place string, text []byte, err error) *OutputError {
	kept := make([]byte, min(len(text), keptText))
	copy(kept, text)
	return &OutputError{Command: command, Place: place, Text: kept, Err: err}
}

func (e *OutputError) Error() string {
	where := ""
	if e.Place != "" {
		where = " at " + e.Place
	}
	begins := string(e.Text[:min(len(e.Text), 80)])
	return fmt.Sprintf("%v: the output of %q cannot be read%s: %v (it begins %s)",
		grid.ErrUnavailable, e.Command, where, e.Err, strconv.QuoteToASCII(begins))
}

// Unwrap gives the kind and the reason.
func (e *OutputError) Unwrap() []error { return []error{grid.ErrUnavailable, e.Err} }
