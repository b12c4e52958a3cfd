package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl/script"
)

func (p *program) run() *cobra.Command {
	var f submission
	var once bool
	cmd := &cobra.Command{
		Use:   "run [OPTION...] [--] PROGRAM [ARGUMENT...]",
		Short: "Run a command as a job, and print what it writes",
		Long: `Run a command as a job: it is handed in, what it writes comes to standard output and error, and
the exit status is its own, as with 'gclient wait'. What becomes of the job is told on stderr. Ctrl-C
cancels the job, and says so.

The options before the program are those of sbatch. A program of several processes (-n) is started as
many times, by the mpirun of the site; with --once it is started once. A PROGRAM with a slash
in it, as ./program, goes along from here; one without is looked for at the site. --output DIR
fetches its output into files of a folder instead. What comes in on standard input is not sent to the job: -i FILE gives
it a file from here as that.`,
		Example: `  gclient run -n 16 -t 1:00:00 -- ./program args
  gclient run -i input.dat -- sort -n
  gclient run --mem=4G -- python3 -c 'print(1)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.said.options()
			if err != nil {
				return err
			}
			made, err := script.Command(args, once, o)
			if err != nil {
				return mistakes(cmd, err)
			}
			if f.key == "" {
				f.key = rand.Text()
			}
			if !slices.ContainsFunc(f.said.directives, func(d string) bool { return strings.HasPrefix(d, "--input=") }) && piped(cmd.InOrStdin()) {
				warnings(cmd, []string{"standard input is not sent to the job: put it into a file, and give it with -i FILE"})
			}
			return p.runCommand(cmd, made, f)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the program is its own
	cmd.Flags().BoolVar(&once, "once", false, "start the program once, whatever the number of processes")
	cli.FolderVar(cmd, &f.output, "output", "fetch the output into `DIR` instead of printing it")
	cmd.Flags().BoolVar(&f.force, "force", false, "let --output overwrite files")
	cli.KeyVar(cmd, &f.key, "key", "the same `KEY` is the same job; by default each run makes its own")
	bringFlag(cmd, &f.said)
	feeFlag(cmd, &f.said)
	f.spread.flags(cmd)
	for _, flag := range script.Flags() {
		directiveFlag(cmd.Flags(), flag, &f.said)
	}
	cmd.SetFlagErrorFunc(ofSbatch)
	return cmd
}

// piped tells that somebody gives a command an input: a pipe, or a file with something in it.
func piped(in io.Reader) bool {
	f, is := in.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().Type() == fs.ModeNamedPipe || info.Mode().IsRegular() && info.Size() > 0)
}

// directiveFlag makes an option of sbatch a flag.
func directiveFlag(flags *pflag.FlagSet, f script.Flag, to *spoken) {
	does := f.Does
	if f.Lacks { // a switch to pflag, of which the help shows a value in quotes alone
		does = "`[=" + strings.TrimPrefix(f.Form, "[") + "`: " + does
	}
	v := flags.VarPF(&directiveValue{flag: f, to: to}, f.Long, f.Short, does)
	if f.Form == "" || f.Lacks {
		v.NoOptDefVal = unsaid
	}
}

// ours are words of other commands here, and of documents, for what sbatch calls otherwise.
var ours = map[string]string{"walltime": "time", "processes": "ntasks", "queue": "partition", "name": "job-name", "memory": "mem", "rerunnable": "requeue", "not-before": "begin"}

// ofSbatch says, of a flag that other commands have, what it is called here.
func ofSbatch(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && ours[unknown.GetSpecifiedName()] != "" {
		return fmt.Errorf("%w: the options are those of sbatch, and there it is --%s", err, ours[unknown.GetSpecifiedName()])
	}
	return cmd.Root().FlagErrorFunc()(cmd, err)
}

// unsaid is the value of a flag that is given none. That and the type are as of a switch, of which the help shows no value.
const unsaid = "true"

// directiveValue notes a flag as a directive.
type directiveValue struct {
	flag script.Flag
	to   *spoken
}

func (v *directiveValue) String() string { return "" }
func (v *directiveValue) Type() string {
	if v.flag.Form == "" || v.flag.Lacks {
		return "bool"
	}
	return strings.ReplaceAll(v.flag.Form, "…", "...") // columns are counted in bytes
}

func (v *directiveValue) Set(s string) error {
	text := "--" + v.flag.Long
	if s != unsaid || v.flag.Form != "" && !v.flag.Lacks {
		text += "=" + script.Quoted(s)
	}
	v.to.directives = append(v.to.directives, text)
	return nil
}

// stands is an error where a file is not here that goes along with a command, of which there is no document to name a place in.
func stands(p *grid.Program) error {
	for _, f := range []struct{ name, hint string }{
		{p.Executable, "; a program that the site has is named without a slash, or by its absolute path"}, {p.Input, ""},
	} {
		if f.name == "" || filepath.IsAbs(f.name) {
			continue
		}
		if _, err := os.Stat(f.name); errors.Is(err, fs.ErrNotExist) {
			return cli.Exit(cli.No, fmt.Errorf("there is no file %s here%s", f.name, f.hint))
		}
	}
	return nil
}

// runCommand hands a command in and sees it through.
func (p *program) runCommand(cmd *cobra.Command, made *script.Script, f submission) error {
	if err := stands(&made.Job.Program); err != nil {
		return err
	}
	d := &document{}
	d.take(made)
	if err := d.open("the job", "."); err != nil {
		if errors.Is(err, grid.ErrInvalid) {
			return mistakes(cmd, err)
		}
		return err
	}
	defer d.close()
	warn(cmd, d)
	if err := d.spread(f.spread); err != nil {
		return err
	}
	if err := checkFolder(f.output, d.outputs, f.force); err != nil {
		return err
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := c.Submit(cmd.Context(), api.Submission{Key: f.key, Document: string(d.text), Name: made.Job.Name, Files: d.files})
	if err != nil {
		return notAccepted(cmd, "job", f.key, err)
	}
	err = p.seeThrough(cmd, c, d, &a, f)
	if cmd.Context().Err() != nil {
		return cancelRun(cmd, c, a.ID)
	}
	return err
}

// seeThrough sends the files of a job, prints what it writes, and ends as it does.
func (p *program) seeThrough(cmd *cobra.Command, c *api.Client, d *document, a *api.Accepted, f submission) error {
	cmd.PrintErrf("gclient: job %s is handed in\n", a.ID)
	warnings(cmd, a.Warnings)
	if len(a.Wanted) > 0 && wantsFiles(&a.Status) {
		if _, err := sendFiles(cmd, c, d, a); err != nil {
			return lacking(cmd, fmt.Sprintf("job %s is accepted, but lacks files", a.ID), f.key, err)
		}
	}
	if f.output != "" {
		return p.follow(cmd, c, a.ID, f)
	}
	if err := printBoth(cmd, c, a.ID); err != nil {
		return err
	}
	status, err := waitForEnd(cmd.Context(), cmd, c, a.ID)
	if err != nil {
		return err
	}
	return jobExit(&status)
}

// printBoth prints what a job writes to standard output and error as it does, until its end.
func printBoth(cmd *cobra.Command, c *api.Client, id grid.JobID) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	both := []*reader{
		{cmd: cmd, to: cmd.OutOrStdout(), client: c, id: id, follow: true},
		{cmd: cmd, to: cmd.ErrOrStderr(), client: c, id: id, follow: true, silent: true, at: api.LogQuery{Error: true}},
	}
	ended := make(chan error, len(both))
	for _, l := range both {
		go func() { ended <- l.all(ctx) }()
	}
	var failed error
	for range both {
		if err := <-ended; err != nil && failed == nil {
			failed = err
			cancel() // the other one
		}
	}
	return failed
}

// cancelling is how long a cancel may take after Ctrl-C.
const cancelling = 30 * time.Second

// interruptedCode is the exit code after Ctrl-C, as shells have it.
const interruptedCode = 130

// cancelRun cancels a job whose user pressed Ctrl-C.
func cancelRun(cmd *cobra.Command, c *api.Client, id grid.JobID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), cancelling)
	defer cancel()
	r, err := c.Cancel(ctx, id)
	switch {
	case err != nil:
		return cli.Exit(interruptedCode, fmt.Errorf("interrupted; job %s could not be cancelled: %w; 'gclient cancel %s' tries again", id, err, id))
	case !r.Confirmed:
		return cli.Exit(interruptedCode, fmt.Errorf("interrupted; job %s is to be cancelled, which is recorded, not yet confirmed; 'gclient status %s' tells when it is", id, id))
	}
	return cli.Exit(interruptedCode, fmt.Errorf("interrupted; job %s %s", id, cancelled(&r.Job)))
}
