// Package cli is what the three programs share: how a cobra command is run, how
// its error becomes one line for a person and an exit code, and how answers are
// printed.
//
// # Exit codes
//
//	0  done
//	1  the answer is no: refused, invalid, not found, not allowed
//	2  usage: unknown command or flag, wrong number of arguments
//	3  could not be done: no broker, I/O, not yet
//
// An error that a RunE returns is mapped by its kind ([Code]); [Exit] overrides
// the mapping, for programs that end with the status of a job. Every error that
// arises before a RunE is reached (flags, arguments, unknown command) is of usage.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gbroker/grid"
	"gbroker/internal/version"
)

// Exit codes of all programs.
const (
	Done   = 0
	No     = 1
	Usage  = 2
	Failed = 3
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error // nil: all was said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Exit gives err the exit code code. With a nil err nothing more is printed: the
// command has said it all. Exit(0, nil) is nil.
func Exit(code int, err error) error {
	if code == Done && err == nil {
		return nil
	}
	return &exitError{code, err}
}

// BadUsage is an error of usage: a flag or argument that makes no sense, found by the
// command itself.
func BadUsage(format string, args ...any) error {
	return &exitError{Usage, fmt.Errorf(format, args...)}
}

// Code maps an error to its exit code: that of [Exit] or [BadUsage] if there is one,
// 1 for grid.ErrInvalid, ErrNotFound and ErrForbidden, else 3; 0 for nil.
func Code(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, grid.ErrInvalid), errors.Is(err, grid.ErrNotFound), errors.Is(err, grid.ErrForbidden):
		return No
	}
	return Failed
}

// Main runs the program whose root command is root with the arguments of the
// process, until it is done or SIGINT or SIGTERM ends its context, prints the error
// if there is one, and returns the exit code for os.Exit. A second signal ends the
// process at once.
func Main(root *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from now on a signal does what it does by default
	return Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is Main with everything given: for tests and for Main.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	prepare(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return Done
	}
	var ran *ranError
	if !errors.As(err, &ran) {
		err = &exitError{Usage, worded(cmd, err)}
	}
	report(stderr, root.Name(), cmd, err)
	return Code(err)
}

// worded says what a command takes, in place of cobra's words on its arguments and on the flags that it needs.
func worded(cmd *cobra.Command, err error) error {
	_, takes, named := strings.Cut(cmd.Use, " ")
	missing := missingFlags(cmd)
	nothing := !cmd.HasSubCommands() && strings.HasPrefix(err.Error(), "unknown command") // cobra takes its word for a command
	if nothing {
		takes = "nothing besides its flags"
	}
	switch n := cmd.Flags().NArg(); {
	case len(missing) > 0 && strings.HasPrefix(err.Error(), "required flag"):
		return errors.New(strings.Join(missing, "; "))
	case !nothing && (!named || !strings.Contains(err.Error(), "arg(s)")):
		return err
	case n == 0:
		return fmt.Errorf("'%s' takes %s, and nothing is given", cmd.CommandPath(), takes)
	case n == 1:
		return fmt.Errorf("'%s' takes %s, and 1 word is given: %s", cmd.CommandPath(), takes, cmd.Flags().Arg(0))
	default:
		return fmt.Errorf("'%s' takes %s, and %d words are given: %s", cmd.CommandPath(), takes, n, strings.Join(cmd.Flags().Args(), " "))
	}
}

// missingFlags says of the flags that a command needs and was not given what they are.
func missingFlags(cmd *cobra.Command) (list []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			_, usage := pflag.UnquoteUsage(f)
			list = append(list, fmt.Sprintf("--%s is missing: %s", f.Name, usage))
		}
	})
	return list
}

// report prints err in one go, and for an error of usage where help is.
func report(w io.Writer, program string, cmd *cobra.Command, err error) {
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, sentence(err))
	if Code(err) == Usage {
		fmt.Fprintf(w, "Usage: %s\nRun '%s --help' for more.\n", cmd.UseLine(), cmd.CommandPath())
	}
}

// sentence is what an error says, without its kind, which the exit code tells.
func sentence(err error) string {
	text := err.Error()
	for _, kind := range []error{grid.ErrInvalid, grid.ErrUnavailable} {
		if errors.Is(err, kind) {
			word := kind.Error() + ": "
			text = strings.Replace(strings.TrimPrefix(text, word), ": "+word, ": ", 1)
			text = strings.TrimSuffix(text, ": "+kind.Error())
		}
	}
	return text
}

// ranError marks an error as made by a RunE; what lacks the mark is of usage.
type ranError struct{ err error }

func (e *ranError) Error() string { return e.err.Error() }
func (e *ranError) Unwrap() error { return e.err }

// prepare sets what all programs do alike: --version, silence of cobra's own
// printing, errors of usage for unknown words below a group of commands.
func prepare(root *cobra.Command) {
	root.Version = version.Version
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.AddCommand(manCommand(root))
	mark(root)
}

func mark(cmd *cobra.Command) {
	if !cmd.Runnable() && cmd.HasSubCommands() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = runGroup
		cmd.PreRunE = ran(runGroup) // before the flags are asked for that its commands need
	}
	if cmd.RunE != nil {
		cmd.RunE = ran(cmd.RunE)
	}
	for _, sub := range cmd.Commands() {
		mark(sub)
	}
}

// ran marks what run says.
func ran(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := run(c, args); err != nil {
			return &ranError{err}
		}
		return nil
	}
}

// runGroup is what a command does that only holds others.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return BadUsage("unknown command %q%s", args[0], meant("", cmd, args[0]))
	}
	cmd.SetOut(cmd.ErrOrStderr())
	if err := cmd.Help(); err != nil {
		return err
	}
	return Exit(Usage, nil)
}

// meant is the command below one that a person may have meant, with the words before it.
func meant(before string, cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", before+near[0])
	}
	return ""
}

// helpCommand is cobra's, but an unknown topic is an error of usage.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Explain a command",
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				hint := ""
				if n := len(args) - len(rest); len(rest) > 0 {
					hint = meant(strings.Join(append(args[:n:n], ""), " "), cmd, rest[0])
				}
				return BadUsage("there is no command %q to explain%s", strings.Join(args, " "), hint)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
