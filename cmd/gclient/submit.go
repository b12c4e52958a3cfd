package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// submission is what the flags of submit say.
type submission struct {
	wait        bool
	output      string
	force       bool
	rerunnable  bool
	require     bool
	anyway      bool
	reservation string
	guaranteed  bool
	key         string
	include     []string
	credentials string
	divided     string // the range of work that is cut
	json        bool
	additions
}

// additions are what flags say of a job, beside its document or script.
type additions struct {
	said    spoken
	spread  spread
	lenient bool
}

func (a *additions) flags(cmd *cobra.Command) {
	a.spread.flags(cmd)
	directiveFlags(cmd, &a.said)
	lenientFlag(cmd, &a.lenient)
}

// spread is over how many sites a job may lie, as flags say it.
type spread struct {
	sites, perSite int
	reach          bool
}

func (s *spread) flags(cmd *cobra.Command) {
	cli.CountVar(cmd, &s.sites, "sites-at-most", 0, 1, grid.MaxPartSites, "let the job run at so many sites at once, `K`, where no single one has room for it, or would only much later")
	cli.CountVar(cmd, &s.perSite, "per-site", 1, 1, grid.MaxProcesses, "with --sites-at-most, at least `M` processes at each")
	cmd.Flags().BoolVar(&s.reach, "reach", false, "with --sites-at-most, only sites whose nodes reach each other, as its processes talk to one another")
}

// of is what a job says of it when the flags have been heard.
func (s *spread) of(j *grid.Job) error {
	c := grid.Coallocation{}
	if j.Coallocation != nil {
		c = *j.Coallocation
	}
	c.Sites, c.PerSite, c.Reach = s.sites, s.perSite, c.Reach || s.reach
	if err := c.Check(); err != nil {
		return cli.BadUsage("--sites-at-most %d --per-site %d: %v", s.sites, s.perSite, err)
	}
	j.Coallocation = &c
	return nil
}

func (p *program) submit() *cobra.Command {
	var f submission
	cmd := &cobra.Command{
		Use:   "submit FILE.jsdl... | FILE.sh [ARGUMENT...] | - [ARGUMENT...]",
		Short: "Hand in a job, a sweep, or a group of jobs",
		Long: `Hand in the job that a JSDL document describes, with the files beside it that it names, and
print the job's identifier. From then on the job is safe: the broker has it on disk.

With --wait it waits for the end and ends with the job's own exit status: its exit
code, 128+n if signal n ended it, 255 with a reason on stderr if it has none. Ctrl-C
then ends only the waiting. --output DIR also fetches what the job leaves.

Several documents are the jobs of one group: all of them are taken, or none, and none begins
before the files of all are there. The group's identifier, which is printed, ends in .all;
status, wait, cancel, explain, output and remove take it as they take that of a job.
--output DIR fetches the output of each job into a folder of its own in DIR, which has the
job's name where all names differ, else its number.

A batch script, with #SBATCH or #PBS lines, is handed in as the job that it asks for ('gclient
convert' shows it); words behind it are its arguments, those with dashes behind a --. An array is a group.
With - the script is read from standard input, and called STDIN; what sbatch takes as flags is said with -D.

A document with a parameter sweep stands for many jobs, which are a group likewise. They are
made one after the other, as others end; until then each is no more than a number.

If it is not known whether the broker got the job, because its answer was lost, the
error tells the same command with a key: with --key KEY it never makes a second job.`,
		Example: `  gclient submit job.jsdl
  ID=$(gclient submit job.jsdl) && gclient wait $ID
  gclient submit job.jsdl --output results
  gclient submit first.jsdl second.jsdl third.jsdl
  gclient submit -D --time=2:00:00 job.sh input.dat`,
		Annotations:       map[string]string{cli.ExitCodes: "0 handed in; 1 refused; 2 wrong usage; 3 not known whether it was, or not possible now.\n\nWith --wait or --output: " + jobCodes},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeDocuments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.key == "" {
				f.key = rand.Text()
			}
			if args[0] == stdin {
				file, drop, err := scriptOf(cmd.InOrStdin())
				if err != nil {
					return err
				}
				defer drop()
				args = append([]string{file}, args[1:]...)
			}
			if isScriptFile(args[0]) {
				args, f.said.arguments = args[:1], args[1:]
			}
			if len(args) > 1 && f.divided != "" {
				return cli.BadUsage("--range is of one job, and %d documents are given", len(args))
			}
			if len(args) > 1 {
				return p.runSubmitGroup(cmd, args, f)
			}
			return p.runSubmit(cmd, args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the end, and end with the job's exit status")
	cli.FolderVar(cmd, &f.output, "output", "wait, then fetch the job's output into `DIR`")
	cmd.Flags().BoolVar(&f.force, "force", false, "let --output overwrite files")
	cmd.Flags().BoolVar(&f.rerunnable, "rerunnable", false, "the job may be started again if the site that runs it is lost")
	cmd.Flags().BoolVar(&f.anyway, "queue-anyway", false, "hand it in though no known site could ever run it: one may come")
	cmd.Flags().StringVar(&f.reservation, "reservation", "", "run it in this reservation of yours, by `ID`, and in no other place")
	cmd.Flags().BoolVar(&f.guaranteed, "guaranteed", false, "reserve at the site where it would end first, so that it begins as is estimated")
	cmd.Flags().StringArrayVar(&f.include, "include", nil, "send this file too, or all that is in this folder: a `PATH` from where you stand, or a pattern such as '*.dat'; again for more")
	cmd.Flags().StringVar(&f.divided, "range", "", "make a sweep of the job: the numbers `FIRST-LAST` in as many parts as make its deadline on the computers of pools, each in the variables RANGE_FIRST and RANGE_LAST")
	cmd.Flags().StringVar(&f.credentials, "credentials", "", "of the places that the document names by URI, a `FILE` of mode 0600; by default ~/.config/gbroker/credentials")
	f.flags(cmd)
	cmd.SetFlagErrorFunc(noDirective)
	requireFlag(cmd, &f.require)
	cli.KeyVar(cmd, &f.key, "key", "the same `KEY` is the same job; by default each submission makes its own")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (p *program) runSubmit(cmd *cobra.Command, file string, f submission) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := openDocument(file, f.additions)
	if err != nil {
		if errors.Is(err, grid.ErrInvalid) {
			return mistakes(cmd, err)
		}
		return err
	}
	defer d.close()
	warn(cmd, d)
	if f.divided != "" {
		told, err := d.divide(cmd.Context(), c, f.divided, file)
		if err != nil {
			return err
		}
		cmd.PrintErrf("gclient: %s\n", told)
	}
	if d.sweep != nil {
		warnOfFee(cmd, c, d, file)
		return handInGroup(cmd, c, []*document{d}, []string{file}, f)
	}
	if err := d.include(f.include); err != nil {
		return err
	}
	secrets, err := readCredentials(f.credentials, d.usesURIs())
	if err != nil {
		return err
	}
	if err := checkFolder(f.output, d.outputs, f.force); err != nil {
		return err
	}
	warnOfFee(cmd, c, d, file)
	a, err := c.Submit(cmd.Context(), api.Submission{
		Key: f.key, Document: string(d.text), Name: file, Rerunnable: f.rerunnable, QueueAnyway: f.anyway, Files: d.files,
		Include: d.included, Credentials: secrets, Reservation: grid.ReservationID(f.reservation), Guaranteed: f.guaranteed,
	})
	if err != nil {
		return notAccepted(cmd, "job", f.key, err)
	}
	if !f.json {
		cmd.Println(a.ID)
	}
	warnings(cmd, a.Warnings)
	status := a.Status
	if len(a.Wanted) > 0 && wantsFiles(&status) {
		if status, err = sendFiles(cmd, c, d, &a); err != nil {
			return lacking(cmd, fmt.Sprintf("job %s is accepted, but lacks files", a.ID), f.key, err)
		}
	}
	if !f.wait && f.output == "" {
		if f.json {
			return cli.PrintJSON(cmd.OutOrStdout(), status)
		}
		return nil
	}
	return p.follow(cmd, c, a.ID, f)
}

// follow waits for the end of the job that was handed in.
func (p *program) follow(cmd *cobra.Command, c *api.Client, id grid.JobID, f submission) error {
	status, err := waitForEnd(cmd.Context(), cmd, c, id)
	if err != nil {
		return err
	}
	if f.json {
		if err := cli.PrintJSON(cmd.OutOrStdout(), status); err != nil {
			return err
		}
	}
	if f.output != "" {
		if err := fetchJob(cmd, c, &status, f.output, f.force); err != nil {
			return fmt.Errorf("job %s has ended (%s), but its output is not here: %w; 'gclient output %s DIR' fetches it", id, status.State, err, id)
		}
	}
	return required(&status, f.require, jobExit(&status))
}

// wantsFiles reports that the broker still waits for the job's files.
func wantsFiles(s *api.Status) bool {
	return s.State == grid.Submitted.String() || s.State == grid.StageIn.String()
}

// sendFiles uploads what the broker wants.
func sendFiles(cmd *cobra.Command, c *api.Client, d *document, a *api.Accepted) (api.Status, error) {
	var total int64
	for _, w := range a.Wanted {
		total += w.Size
	}
	bar := newProgress(cmd.ErrOrStderr(), "sending", total)
	defer bar.end()
	for _, w := range a.Wanted {
		if err := sendFile(cmd.Context(), c, d, a.ID, w, bar); err != nil {
			return a.Status, err
		}
	}
	return c.Uploaded(cmd.Context(), a.ID)
}

func sendFile(ctx context.Context, c *api.Client, d *document, id grid.JobID, w api.File, bar *progress) error {
	f, name, err := d.wanted(w)
	if err != nil {
		return fmt.Errorf("sending %s: %w", name, err)
	}
	defer f.Close()
	if err := c.Upload(ctx, id, w.Path, w.Size, &shown{File: f, bar: bar}); err != nil {
		return fmt.Errorf("sending %s: %w", name, err)
	}
	return nil
}

// shown is a file of which the bar tells how far it was read.
type shown struct {
	*os.File
	bar *progress
	at  int64
}

func (s *shown) Read(b []byte) (int, error) {
	n, err := s.File.Read(b)
	s.bar.Write(b[:n])
	s.at += int64(n)
	return n, err
}

func (s *shown) Seek(offset int64, whence int) (int64, error) {
	n, err := s.File.Seek(offset, whence)
	s.bar.done += n - s.at // what is sent again counts once
	s.at = n
	return n, err
}

// WriteTo hides that of the file, which would go past the bar.
func (s *shown) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{s}) }
