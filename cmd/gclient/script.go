package main

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/jsdl/script"
)

// spoken is what is said beside a batch script, on the command line.
type spoken struct {
	arguments  []string // of the script
	directives []string // as its own
	prefix     string   // of qsub's directives
}

// directiveFlags adds the flags by which directives of a script are given.
func directiveFlags(cmd *cobra.Command, to *spoken) {
	cmd.Flags().StringArrayVarP(&to.directives, "directive", "D", nil, "a `DIRECTIVE` of sbatch or qsub, as '--time=10' or '-l mem=4gb', which counts before those of the script; may be given several times")
	cmd.Flags().StringVarP(&to.prefix, "prefix", "C", "", "read qsub's directives with this `PREFIX` in place of #PBS, as its -C")
}

// any tells that something is said.
func (s spoken) any() bool { return len(s.arguments)+len(s.directives)+len(s.prefix) > 0 }

// options are what a script does not say itself.
func (s spoken) options() script.Options {
	o := script.Options{Arguments: s.arguments, Directives: s.directives, Prefix: s.prefix, Now: time.Now(), Environ: os.LookupEnv}
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	return o
}

// isScript tells a batch script from a document.
func isScript(text []byte) bool {
	return !bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<")) && script.Looks(text)
}

// isScriptFile tells whether a file that can be read is a batch script.
func isScriptFile(file string) bool {
	text, err := readDocument(file)
	return err == nil && isScript(text)
}

// translate makes a document of a batch script.
func (d *document) translate(file string, s spoken) error {
	made, err := script.Parse(filepath.ToSlash(file), d.text, s.options())
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
