package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) where() *cobra.Command {
	var asJSON bool
	var more additions
	var include []string
	var rerunnable bool
	cmd := &cobra.Command{
		Use:   "where FILE.jsdl | FILE.sh [ARGUMENT...]",
		Short: "Tell where a job would run, and when, without handing it in",
		Long: `Ask every site when it would start the job that a document, or a batch script, describes, if it were handed in
now, and show them by the end that it would have there. Nothing is handed in, nothing kept.

START is when it is expected to start: its files are there, and the jobs before it have run
as long as such jobs really did. EARLIEST and LATEST are around it: of ten such jobs eight
start between the two, going by how far off earlier words of that site were; where too few jobs
tell, they are the first possible start and that by limits. BY LIMITS is the start if every job there runs to its limit, as the batch
system itself reckons ("-" where later jobs may overtake it, so that no bound holds). END is
START and the walltime at that site's speed. PRICE, where a site has one, is that of a core and hour. The job would go to the site marked *.

Of a job that may run at several sites at once it also tells the sites that would have parts of it, the processes and nodes
at each and when all begin and end; or why one site would have it, or none. Of a sweep it tells the first job. A job that is held, is not to start yet or depends on
others is told as if it were to start now.`,
		Example: `  gclient where job.jsdl
  gclient where job.sh
  gclient where -D --time=2:00:00 --fee 5 job.sh input.dat
  gclient where --sites-at-most 2 job.sh
  gclient where --json job.jsdl | jq -r '.sites[0] | .site, .start'`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeDocuments,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := more.said.of(args)
			if err != nil {
				return err
			}
			d, err := openDocument(file, more)
			if err != nil {
				if errors.Is(err, grid.ErrInvalid) {
					return mistakes(cmd, err)
				}
				return err
			}
			defer d.close()
			warn(cmd, d)
			if err := d.include(include); err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			bar := newCount(cmd.ErrOrStderr())
			bar.show("asking all sites")
			found, err := c.Where(cmd.Context(), api.Submission{Document: string(d.first()), Name: file, Files: d.files, Include: d.included, Rerunnable: rerunnable})
			bar.end()
			if err != nil {
				return err
			}
			if d.sweep != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "gclient: a sweep of %d jobs: this is the first of them\n", d.sweep.Jobs())
			}
			if asJSON {
				if err := cli.PrintJSON(cmd.OutOrStdout(), found); err != nil {
					return err
				}
			} else if err := printProspects(cmd.OutOrStdout(), found); err != nil {
				return err
			}
			if why := keptBack(&d.parsed.Job.Terms, time.Now()); len(why) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "gclient: it would be kept back at its home: %s. The times are as if it were to start now\n", strings.Join(why, ", and "))
			}
			if why, beyond := beyondFee(d.parsed.Job.Terms.Fee, found.Sites); beyond {
				warnings(cmd, []string{why})
			}
			if found.Chosen == nil && !together(found.Several) {
				return cli.Exit(cli.No, nobody(&found))
			}
			return nil
		},
	}
	more.flags(cmd)
	cmd.Flags().BoolVar(&rerunnable, "rerunnable", false, "as with 'gclient submit'")
	cmd.Flags().StringArrayVar(&include, "include", nil, "this `PATH` would be sent too, as with 'gclient submit'")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// keptBack is why a job would not be given a place at once, which those who are asked are not told.
func keptBack(t *grid.Terms, now time.Time) (why []string) {
	if t.Held {
		why = append(why, "until it is released")
	}
	if at := t.NotBefore.Time(); t.NotBefore != 0 && at.After(now) {
		why = append(why, "until "+at.Local().Format("2006-01-02 15:04:05"))
	}
	if len(t.After) > 0 {
		why = append(why, "for what other jobs come to")
	}
	return why
}

// nobody says that no site can run a job: now, or at all.
func nobody(p *api.Prospects) error {
	for _, s := range p.Sites {
		if s.Refusal != nil && s.Refusal.Kind != grid.Permanent.String() {
			return errors.New("no site can run it now")
		}
	}
	return errors.New("no site can run it")
}

func printProspects(w io.Writer, p api.Prospects) error {
	t := cli.Fitted(w, 1)
	var refused []api.Prospect
	for _, s := range p.Sites {
		if s.Refusal != nil {
			refused = append(refused, s)
		}
	}
	priced := slices.ContainsFunc(p.Sites, func(s api.Prospect) bool { return s.Price > 0 })
	if len(refused) < len(p.Sites) {
		fmt.Fprint(t, "\tSITE\tSTART\tEARLIEST\tLATEST\tBY LIMITS\tEND\t")
		if priced {
			fmt.Fprint(t, "PRICE\t")
		}
		fmt.Fprintln(t)
	}
	for _, s := range p.Sites {
		if s.Refusal != nil {
			continue
		}
		mark := ""
		if s.Chosen {
			mark = "*"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t", mark, printable(string(s.Site)), soon(p.At, s.Start), soon(p.At, s.StartEarly),
			soon(p.At, s.StartLate), soon(p.At, s.StartSafe), soon(p.At, s.End))
		if priced {
			fmt.Fprintf(t, "%g\t", s.Price)
		}
		fmt.Fprintln(t)
	}
	if err := flush(t); err != nil {
		return err
	}
	for _, s := range p.Sites {
		if s.Doubt != "" {
			fmt.Fprintf(w, "%s is not sure: %s\n", printable(string(s.Site)), printable(s.Doubt))
		}
	}
	for _, s := range refused {
		fmt.Fprintf(w, "%s cannot run it%s: %s\n", printable(string(s.Site)), passing(s.Refusal), refusal(s.Refusal))
	}
	if p.Several != nil {
		if err := printTogether(w, p.At, p.Several); err != nil || together(p.Several) {
			return err
		}
	}
	for _, s := range p.Sites {
		if s.Chosen {
			fmt.Fprintf(w, "It would go to %s, and end %s.\n", printable(string(s.Site)), within(p.At, s.End))
		}
	}
	return nil
}

// passing tells that a refusal holds only for now.
func passing(r *api.Refusal) string {
	switch {
	case r.Kind == grid.Permanent.String():
		return ""
	case r.AgainS != nil:
		return fmt.Sprintf(" now (ask again in %s)", rough(time.Duration(*r.AgainS*float64(time.Second))))
	}
	return " now"
}

// soon is an instant as short as it may be: the time of day if it is less than a day away.
func soon(now, at api.Time) string {
	if at == 0 {
		return "-"
	}
	a, b := time.UnixMilli(int64(now)), time.UnixMilli(int64(at))
	switch d := b.Sub(a).Abs(); {
	case d < 20*time.Hour:
		return b.Format("15:04:05")
	case d < 300*24*time.Hour:
		return b.Format("Jan 02 15:04")
	}
	return b.Format("2006-01-02")
}

// within is how far an instant lies ahead, in words.
func within(now, at api.Time) string {
	d := time.Duration(at-now) * time.Millisecond
	if d < time.Second {
		return "at once"
	}
	return "in " + rough(d)
}

// rough is a span for people, in its two largest units.
func rough(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	units := []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	first := 0
	for d < units[first].size {
		first++
	}
	var text strings.Builder
	for _, u := range units[first:min(first+2, len(units))] {
		if d >= u.size {
			fmt.Fprintf(&text, "%d%s", d/u.size, u.name)
		}
		d %= u.size
	}
	return text.String()
}
