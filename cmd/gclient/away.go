package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// absence tells, once each time, that a broker is away which is waited for: nobody is to think that his job hangs.
type absence struct {
	w    io.Writer
	told bool
}

func absenceOf(cmd *cobra.Command) *absence { return &absence{w: cmd.ErrOrStderr()} }

func (a *absence) begun() {
	if !a.told {
		a.told = true
		fmt.Fprintf(a.w, "gclient: %s\n", isAway)
	}
}

func (a *absence) over() { a.told = false }

const isAway = "the broker does not answer; it is asked again for up to a minute"
