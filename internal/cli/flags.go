package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gbroker/grid"
	"gbroker/internal/near"
)

// span is a flag of a span of time.
type span struct {
	to          *time.Duration
	least, most time.Duration // most 0 is no bound
}

func (s span) String() string {
	if s.to == nil || *s.to == 0 {
		return "0"
	}
	return grid.FormatSpan(*s.to)
}

func (s span) Type() string { return "duration" }

func (s span) Set(text string) error {
	d, err := grid.ParseSpan(text)
	switch {
	case err != nil:
		return err
	case d < s.least && s.most == 0:
		return fmt.Errorf("write %s or more", grid.FormatSpan(s.least))
	case d < s.least || s.most > 0 && d > s.most:
		return fmt.Errorf("write %s to %s", grid.FormatSpan(s.least), grid.FormatSpan(s.most))
	}
	*s.to = d
	return nil
}

// SpanVar adds a flag of a span of time that is not below 0.
func SpanVar(cmd *cobra.Command, to *time.Duration, name string, value time.Duration, usage string) {
	SpanWithin(cmd, to, name, value, 0, 0, usage)
}

// SpanWithin adds a flag of a span of time between two bounds; a most of 0 is no bound.
func SpanWithin(cmd *cobra.Command, to *time.Duration, name string, value, least, most time.Duration, usage string) {
	*to = value
	cmd.Flags().Var(span{to, least, most}, name, usage)
}

// count is a flag of a whole number.
type count struct {
	to          *int
	least, most int
}

func (c count) String() string {
	if c.to == nil {
		return "0"
	}
	return strconv.Itoa(*c.to)
}

func (c count) Type() string { return "int" }

func (c count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.least || n > c.most {
		return fmt.Errorf("write a whole number from %d to %d", c.least, c.most)
	}
	*c.to = n
	return nil
}

// CountVar adds a flag of a whole number between two bounds. A value outside of them is what it is where the flag is not given.
func CountVar(cmd *cobra.Command, to *int, name string, value, least, most int, usage string) {
	*to = value
	cmd.Flags().Var(count{to, least, most}, name, usage)
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

// word is a flag of a text that is not empty.
type word struct {
	to     *string
	empty  string // what is said of an empty one
	blanks bool   // it may have some
}

func (w word) String() string {
	if w.to == nil {
		return ""
	}
	return *w.to
}

func (w word) Type() string { return "string" }

func (w word) Set(text string) error {
	switch {
	case text == "":
		return errors.New(w.empty)
	case !w.blanks && strings.ContainsFunc(text, unicode.IsSpace):
		return errors.New("it has blanks, and may have none")
	}
	*w.to = text
	return nil
}

// FolderVar adds a flag of a folder. An empty name is none: a script in which a variable is not set must not be taken to leave the flag out.
func FolderVar(cmd *cobra.Command, to *string, name, usage string) {
	cmd.Flags().Var(word{to, "it names no folder: give one, or leave the flag out", true}, name, usage)
}

// KeyVar adds a flag of a key, which is not empty likewise, and has no blanks.
func KeyVar(cmd *cobra.Command, to *string, name, usage string) {
	cmd.Flags().Var(word{to, "it is empty: give a key, or leave the flag out", false}, name, usage)
}

// flagError says what is wrong with a flag, and what may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return fmt.Errorf("--%s %s: %w", value.GetFlag().Name, shown(value.GetValue()), plain(value))
	case errors.As(err, &unknown):
		return dashed(cmd, unknown)
	}
	return err
}

// shown is a value as it may have been given.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, " \t\n\"'") || len(value) > 80 {
		return fmt.Sprintf("%.80q", value)
	}
	return value
}

// plain is why a value is none, without the words of the parser of numbers.
func plain(e *pflag.InvalidValueError) error {
	if number := new(strconv.NumError); !errors.As(e, &number) {
		return errors.Unwrap(e)
	}
	switch kind := e.GetFlag().Value.Type(); {
	case kind == "bool":
		return errors.New("write true or false")
	case strings.HasPrefix(kind, "float"):
		return errors.New("write a number, as 1.5")
	case strings.HasPrefix(kind, "uint"):
		return errors.New("write a whole number that is not below 0")
	}
	return errors.New("write a whole number")
}

// dashed adds what a person may have meant who named a flag that is not there: another one, or a file that begins with a dash.
func dashed(cmd *cobra.Command, err *pflag.NotExistError) error {
	written := "--" + err.GetSpecifiedName()
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		written = "-" + letters
	}
	if _, missing := os.Lstat(written); missing == nil {
		return fmt.Errorf("%w; the file is written ./%s", err, written)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if meant := near.Word(strings.TrimLeft(written, "-"), names...); meant != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, meant)
	}
	return err
}
