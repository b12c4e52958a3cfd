package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/jsdl/script"
)

// spoken is what is said beside a batch script, on the command line.
type spoken struct {
	arguments  []string // of the script
	directives []string // as its own
	prefix     string   // of qsub's directives
	bring      []string // patterns of files that come back; none is all, within bounds
	fee        int      // 0: none is given; a document may be given one too
}

// directiveFlags adds the flags by which directives of a script are given.
func directiveFlags(cmd *cobra.Command, to *spoken) {
	cmd.Flags().StringArrayVarP(&to.directives, "directive", "D", nil, "a `DIRECTIVE` of sbatch or qsub, as '--time=10' or '-l mem=4gb', which counts before those of the script; may be given several times")
	bringFlag(cmd, to)
	feeFlag(cmd, to)
	cmd.Flags().StringVarP(&to.prefix, "prefix", "C", "", "read qsub's directives with this `PREFIX` in place of #PBS, as its -C")
}

// noDirective says, of an unknown flag that sbatch has, how it is given.
func noDirective(cmd *cobra.Command, err error) error {
	told := cmd.Root().FlagErrorFunc()(cmd, err)
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return told
	}
	for _, f := range script.Flags() {
		if name := unknown.GetSpecifiedName(); name == f.Long || name == f.Short || ours[name] == f.Long {
			example := "--" + f.Long
			if f.Form != "" {
				example += "=" + f.Form
			}
			return fmt.Errorf("%w: what sbatch takes as a flag is given a script with -D, as -D %s", told, example)
		}
	}
	return told
}

// stdin stands for standard input in the place of a file.
const stdin = "-"

// scriptOf keeps a batch script that comes on standard input in a file called STDIN, until drop.
func scriptOf(in io.Reader) (file string, drop func(), err error) {
	text, err := io.ReadAll(io.LimitReader(in, api.MaxDocument+1))
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("reading the script from standard input: %w", err)
	case len(text) > api.MaxDocument:
		return "", nil, cli.Exit(cli.No, fmt.Errorf("the script on standard input is larger than %d bytes", api.MaxDocument))
	case !isScript(text):
		return "", nil, cli.Exit(cli.No, errors.New("what comes on standard input is no batch script: its first line names no interpreter, as #!/bin/sh, and it has neither #SBATCH nor #PBS lines; a document is named as a file, beside those that it names"))
	}
	folder, err := os.MkdirTemp("", "gclient-")
	if err != nil {
		return "", nil, fmt.Errorf("keeping the script of standard input: %w", err)
	}
	drop = func() { _ = os.RemoveAll(folder) }
	file = filepath.Join(folder, "STDIN")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		drop()
		return "", nil, fmt.Errorf("keeping the script of standard input: %w", err)
	}
	return file, drop, nil
}

// bringFlag adds the flag by which files are named that come back.
func bringFlag(cmd *cobra.Command, to *spoken) {
	cmd.Flags().StringArrayVar(&to.bring, "bring", nil, "bring back what the job makes or changes and is called like this `PATTERN`, as 'out/*.dat' or results; again for more. none: standard output and error alone. Without it all comes back, up to 1 GiB")
}

// any tells that something is said which only a script may be given.
func (s spoken) any() bool {
	return len(s.arguments)+len(s.directives)+len(s.prefix)+len(s.bring) > 0
}

// nothing is the pattern that brings nothing.
const nothing = "none"

// brought are the patterns as they stand in a job.
func (s spoken) brought() ([]grid.Bring, error) {
	switch {
	case len(s.bring) == 0:
		return []grid.Bring{grid.Everything}, nil
	case len(s.bring) == 1 && s.bring[0] == nothing:
		return nil, nil
	case len(s.bring) > grid.MaxBring:
		return nil, cli.BadUsage("--bring is given %d times: at most %d", len(s.bring), grid.MaxBring)
	}
	var list []grid.Bring
	for _, p := range s.bring {
		b := grid.Bring{Pattern: path.Clean(p)}
		if err := b.Check(); err != nil {
			return nil, cli.BadUsage("--bring: %v", err)
		}
		list = append(list, b)
	}
	return list, nil
}

// of splits the words of a command line into a file and the arguments that its script gets.
func (s *spoken) of(args []string) (file string, err error) {
	if len(args) > 1 && !isScriptFile(args[0]) {
		return "", cli.BadUsage("%q stands behind %s, which is no batch script: only those take arguments", args[1], args[0])
	}
	s.arguments = args[1:]
	return args[0], nil
}

// options are what a script does not say itself.
func (s spoken) options() (script.Options, error) {
	brought, err := s.brought()
	if err != nil {
		return script.Options{}, err
	}
	o := script.Options{Arguments: s.arguments, Directives: s.directives, Prefix: s.prefix, Now: time.Now(), Environ: os.LookupEnv, Bring: brought, Fee: int64(s.fee)}
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	return o, nil
}

// isScript tells a batch script from a document.
func isScript(text []byte) bool {
	return !bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<")) && script.Looks(text)
}

// looksLikeDocument tells of a text that may be XML.
func looksLikeDocument(text []byte) bool {
	start := bytes.TrimLeft(text, "\ufeff \t\r\n")
	return len(start) == 0 || start[0] == '<' || bytes.IndexByte(start, 0) >= 0
}

// isScriptFile tells whether a file that can be read is a batch script.
func isScriptFile(file string) bool {
	text, err := readDocument(file)
	return err == nil && isScript(text)
}

// translate makes a document of a batch script.
func (d *document) translate(file string, s spoken) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	made, err := script.Parse(filepath.ToSlash(file), d.text, o)
	if err != nil {
		return err
	}
	d.take(made)
	return nil
}

// take makes the document that of a script or a command.
func (d *document) take(made *script.Script) {
	d.text, d.script = made.Document(), made.Base()
	for _, w := range made.Warnings {
		d.warnings = append(d.warnings, w.Error())
	}
}

func convert() *cobra.Command {
	var s spoken
	cmd := &cobra.Command{
		Use:   "convert FILE.sh [ARGUMENT...]",
		Short: "Print a batch script as a JSDL document",
		Long: `Print the JSDL document of a batch script, with #SBATCH lines or with #PBS lines (of
TORQUE or OpenPBS): that of the job which 'gclient submit' hands in. What the script says
and the job will not have is told on stderr as FILE:LINE:COL: MESSAGE. What cannot be
carried over is a mistake: exit code 1, and nothing is printed.

An array becomes a sweep. The document names the script as a file beside it.`,
		Example: "  gclient convert job.sh > job.jsdl\n  gclient convert -D --time=10 job.sh",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.arguments = args[1:]
			text, err := readDocument(args[0])
			if err != nil {
				return err
			}
			d := &document{text: text}
			if !isScript(text) {
				return cli.Exit(cli.No, fmt.Errorf("%s is no batch script: its first line names no interpreter, and it has neither #SBATCH nor #PBS lines", args[0]))
			}
			if err := d.translate(args[0], s); err != nil {
				return mistakes(cmd, err)
			}
			d.parsed = &jsdl.Document{}
			warn(cmd, d)
			_, err = cmd.OutOrStdout().Write(d.text)
			return err
		},
	}
	directiveFlags(cmd, &s)
	return cmd
}
