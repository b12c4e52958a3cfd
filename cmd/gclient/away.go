package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
)

// absence tells, once each time, that a broker is away which is waited for: nobody is to think that his job hangs.
type absence struct {
	w    io.Writer
	told bool
}

func absenceOf(cmd *cobra.Command) *absence { return &absence{w: cmd.ErrOrStderr()} }

func (a *absence) begun(err error) {
	if !a.told {
		a.told = true
		fmt.Fprintf(a.w, "gclient: %s\n", isAway(err))
	}
}

func (a *absence) over() { a.told = false }

// isAway tells of a broker that does not answer, or what one says that cannot do it now.
func isAway(err error) string {
	who := "the broker does not answer"
	if errors.Is(err, grid.ErrUnavailable) && !api.Lost(err) {
		who = err.Error()
	}
	return who + "; it is asked again for up to a minute"
}
