package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/grid"
)

// span is a flag of a span of time, which tells what is missing of one without a unit.
type span struct{ to *time.Duration }

func (s span) String() string {
	if s.to == nil {
		return "0s"
	}
	return s.to.String()
}

func (s span) Type() string { return "duration" }

func (s span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if _, bare := strconv.ParseFloat(text, 64); err != nil && bare == nil {
		return fmt.Errorf("it has no unit: write %ss for seconds, %sm for minutes, %sh for hours", text, text, text)
	}
	if err != nil || d < 0 {
		return fmt.Errorf("it is no span of time: write it like 90s, 10m or 1h30m")
	}
	*s.to = d
	return nil
}

// SpanVar adds a flag of a span of time that is not below 0.
func SpanVar(cmd *cobra.Command, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	cmd.Flags().Var(span{to}, name, usage)
}

// size is a flag of a number of bytes.
type size struct{ to *int64 }

func (s size) String() string {
	if s.to == nil {
		return "0"
	}
	return grid.FormatSize(*s.to)
}

func (s size) Type() string { return "size" }

func (s size) Set(text string) (err error) {
	*s.to, err = grid.ParseSize(text)
	return err
}

// SizeVar adds a flag of a number of bytes, with a unit or without.
func SizeVar(cmd *cobra.Command, to *int64, name, usage string) {
	cmd.Flags().Var(size{to}, name, usage)
}

// dashed adds what a person may have meant who named a file that begins with a dash.
func dashed(_ *cobra.Command, err error) error {
	_, name, found := strings.Cut(err.Error(), " in -")
	if !found {
		_, name, found = strings.Cut(err.Error(), "unknown flag: --")
		name = "-" + name
	}
	if _, missing := os.Lstat("-" + name); !found || missing != nil {
		return err
	}
	return fmt.Errorf("%w; the file is written ./-%s", err, name)
}
