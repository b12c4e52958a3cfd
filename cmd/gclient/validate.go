package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
)

// verdict is what `validate --json` prints.
type verdict struct {
	File      string         `json:"file"`
	Valid     bool           `json:"valid"`
	Errors    []string       `json:"errors"`   // FILE:LINE:COL: MESSAGE
	Warnings  []string       `json:"warnings"` // what will probably not do what is meant
	Name      string         `json:"name"`
	Processes int            `json:"processes"`
	Jobs      int            `json:"jobs,omitempty"`    // of a sweep; the rest is of its first job
	AtOnce    int            `json:"at_once,omitempty"` // of these; 0 is any number
	Demand    *api.Demand    `json:"demand"`            // null if it is not valid
	Queue     grid.QueueName `json:"queue"`
	WalltimeS *float64       `json:"walltime_s"` // null: the site's default
	Uploads   []api.File     `json:"uploads"`
	Outputs   []returned     `json:"outputs"`
	Job       *understood    `json:"job"` // the rest of it, as it is understood; null if it is not valid
}

// returned is a file that comes back.
type returned struct {
	Path     string `json:"path"`   // in the sandbox
	Target   string `json:"target"` // in the output folder
	Required bool   `json:"required"`
	URI      string `json:"uri,omitempty"` // where it goes instead
}

func validate() *cobra.Command {
	var asJSON bool
	var more additions
	cmd := &cobra.Command{
		Use:   "validate FILE.jsdl | FILE.sh [ARGUMENT...]",
		Short: "Check a JSDL document or a batch script, without a broker",
		Long: `Check a JSDL document, or a batch script, and the files beside it, without a broker. Each mistake is told as
FILE:LINE:COL: MESSAGE, exit code 1; what is not understood is a mistake, never
ignored, but for elements of other namespaces with --lenient. If there is none, it says
what the job would ask for, which files go with it and which come back, and warns of what
is certain in its meaning but not as it should be. Of a sweep it says how many jobs that are.`,
		Example:           "  gclient validate job.jsdl\n  gclient validate -D --time=2:00:00 job.sh input.dat",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeDocuments,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := more.said.of(args)
			if err != nil {
				return err
			}
			v := verdict{File: file, Errors: []string{}, Warnings: []string{}, Uploads: []api.File{}, Outputs: []returned{}}
			d, err := openDocument(file, more)
			if err != nil {
				if !errors.Is(err, grid.ErrInvalid) {
					return err
				}
				if asJSON {
					v.Errors = strings.Split(err.Error(), "\n")
					if err := cli.PrintJSON(cmd.OutOrStdout(), v); err != nil {
						return err
					}
				}
				return mistakes(cmd, err)
			}
			defer d.close()
			v.fill(d)
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), v)
			}
			return v.print(cmd.OutOrStdout())
		},
	}
	jsonFlag(cmd, &asJSON)
	more.flags(cmd)
	return cmd
}

func lenientFlag(cmd *cobra.Command, lenient *bool) {
	cmd.Flags().BoolVar(lenient, "lenient", false, "ignore what other namespaces add to the document, with a warning each")
}

func modes(lenient bool) []jsdl.Mode {
	if lenient {
		return []jsdl.Mode{jsdl.Lenient}
	}
	return nil
}

// warn tells what of a document is certain in its meaning, but not as it should be.
func warn(cmd *cobra.Command, d *document) {
	for _, text := range d.warnings {
		cmd.PrintErrf("gclient: warning: %s\n", printable(text))
	}
	for _, w := range d.parsed.Warnings {
		cmd.PrintErrf("gclient: warning: %s\n", printable(w.Error()))
	}
	for _, text := range windowsWarnings(d) {
		cmd.PrintErrf("gclient: warning: %s\n", text)
	}
}

// warnings tells what the broker says of what was handed in.
func warnings(cmd *cobra.Command, list []string) {
	for _, text := range list {
		cmd.PrintErrf("gclient: warning: %s\n", printable(text))
	}
}

func windowsWarnings(d *document) []string {
	var all []string
	for _, name := range d.windows() {
		all = append(all, fmt.Sprintf("%q has Windows line ends, so its first line names no interpreter: sed -i 's/\\r$//' %q", name, name))
	}
	return all
}

// mistakes prints those of a document so that an editor can jump to them.
func mistakes(cmd *cobra.Command, err error) error {
	cmd.PrintErrln(err)
	return cli.Exit(cli.No, nil)
}

func (v *verdict) fill(d *document) {
	job := &d.parsed.Job
	v.Valid = true
	v.Name = job.Name
	v.Processes = job.Demand.Processes()
	if d.sweep != nil {
		v.Jobs, v.AtOnce = d.sweep.Jobs(), d.sweep.AtOnce()
	}
	demand := api.NewDemand(job.Demand)
	v.Demand, v.Queue = &demand, job.Queue
	if job.Walltime > 0 {
		s := job.Walltime.Seconds()
		v.WalltimeS = &s
	}
	for _, u := range d.uploads {
		v.Uploads = append(v.Uploads, api.File(u))
	}
	for _, o := range d.outputs {
		v.Outputs = append(v.Outputs, returned{o.Path, o.Target, o.Required, o.URI})
	}
	v.Job = understand(job)
	for _, w := range d.parsed.Warnings {
		v.Warnings = append(v.Warnings, w.Error())
	}
	v.Warnings = append(v.Warnings, windowsWarnings(d)...)
	v.Warnings = append(v.Warnings, d.warnings...)
}

func (v *verdict) print(w io.Writer) error {
	t := cli.Table(w)
	fmt.Fprintf(t, "%s\tis valid\n", v.File)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, printable(value))
		}
	}
	line("name", v.Name)
	if v.Jobs > 0 {
		atOnce := ""
		if v.AtOnce > 0 {
			atOnce = fmt.Sprintf(", at most %d at once", v.AtOnce)
		}
		fmt.Fprintf(t, "jobs\t%d%s; of the first:\n", v.Jobs, atOnce)
	}
	line("queue", string(v.Queue))
	fmt.Fprintf(t, "processes\t%d\n", v.Processes)
	if v.Demand != nil {
		demandLines(*v.Demand, line)
	}
	walltime := "the site's default: the document names none"
	if v.WalltimeS != nil {
		walltime = span(*v.WalltimeS)
	}
	fmt.Fprintf(t, "walltime\t%s\n", walltime)
	v.Job.lines(line)
	for _, u := range v.Uploads {
		as := ""
		if u.From != u.Path {
			as = " as " + u.Path
		}
		fmt.Fprintf(t, "goes along\t%s%s (%s, mode %04o)\n", u.From, as, cli.Size(u.Size), u.Mode)
	}
	for _, o := range v.Outputs {
		switch {
		case o.URI != "":
			fmt.Fprintf(t, "goes\t%s to %s\n", o.Path, o.URI)
		case o.Path != o.Target:
			fmt.Fprintf(t, "comes back\t%s as %s\n", o.Path, o.Target)
		default:
			fmt.Fprintf(t, "comes back\t%s\n", o.Path)
		}
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(t, "warning\t%s\n", printable(text))
	}
	return flush(t)
}
