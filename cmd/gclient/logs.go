package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) logs() *cobra.Command {
	var follow, failed bool
	var file string
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print what a job writes, while it runs and after",
		Long: `Print the standard output of a job so far, wherever it runs: it is read from the site that has
the job, by way of its home if need be. --stderr prints its standard error, --file NAME one of
the files that it brings back.

With -f the printing goes on as the job writes, until its end or Ctrl-C, which leaves the job
alone. It waits for the start, follows the job to another site, goes on where it was when the
output has come home, and over a restart of the broker of up to a minute. Where a site starts the job again
its output begins anew; that is said on stderr, as is where the job is.

Of jobs of a group, as GROUP[3-10,12], and of the parts of a job over several sites, it prints one after the other;
-f prints the lines of all parts as they come, each behind the name of its site.

Of a job that has not started it prints nothing, and ends with exit code 3 unless -f is given; of one that ended
without a start, or is LOST, it says so, with exit code 1.`,
		Example: `  gclient logs -f xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF
  gclient logs --stderr ID | tail
  gclient logs -f --file results/progress.csv ID`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.onSome(p.onJob(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			if failed && file != "" {
				return cli.BadUsage("--stderr and --file: name one of them")
			}
			l := &reader{cmd: cmd, to: cmd.OutOrStdout(), client: c, id: id, follow: follow, at: api.LogQuery{Error: failed, File: file}}
			if follow {
				if err := reached(cmd.Context(), c); err != nil {
					return err
				}
				return l.all(cmd.Context())
			}
			s, err := c.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			if parts := partsOf(&s); len(parts) > 0 {
				return logsOf(cmd, c, parts, *l)
			}
			return l.run(cmd.Context())
		}), func(cmd *cobra.Command, c *api.Client, ids []grid.JobID, _ []string) error {
			if follow && len(ids) > 1 {
				return cli.BadUsage("-f follows one job: name one")
			}
			return logsOf(cmd, c, ids, reader{follow: follow, at: api.LogQuery{Error: failed, File: file}})
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the job writes, until its end")
	cmd.Flags().BoolVar(&failed, "stderr", false, "its standard error, not its output")
	cmd.Flags().StringVar(&file, "file", "", "the file that comes back as `NAME`, not its standard output")
	return cmd
}

// logsOf prints what several jobs write, each below its identifier.
func logsOf(cmd *cobra.Command, c *api.Client, ids []grid.JobID, as reader) error {
	var failed error
	for i, id := range ids {
		if len(ids) > 1 {
			cmd.Printf("%s==> %s <==\n", map[bool]string{true: "\n"}[i > 0], id)
		}
		l := as
		l.cmd, l.to, l.client, l.id = cmd, cmd.OutOrStdout(), c, id
		if err := l.run(cmd.Context()); err != nil {
			if cmd.Context().Err() != nil {
				return err
			}
			cmd.PrintErrf("gclient: %v\n", err)
			failed = cmp.Or(failed, cli.Exit(cli.Code(err), errors.New("not all of the jobs have logs")))
		}
	}
	return failed
}

// reader prints what a job writes.
type reader struct {
	cmd    *cobra.Command
	to     io.Writer
	silent bool // tells nothing besides
	client *api.Client
	id     grid.JobID
	at     api.LogQuery
	follow bool
	told   string // what was said last on stderr
}

func (l *reader) run(ctx context.Context) error {
	heard := time.Now()
	for {
		p, err := l.client.ReadLog(ctx, l.id, l.at)
		switch {
		case interrupted(ctx, err) || ctx.Err() != nil:
			return nil
		case err != nil && l.follow && api.Interrupted(err) && time.Since(heard) < patience:
			l.tell(isAway(err))
			pause(ctx, time.Second)
			continue
		case errors.Is(err, grid.ErrNotFound) && !l.follow:
			return cmp.Or(l.unwritten(ctx), err)
		case err != nil:
			return err
		}
		heard = time.Now()
		l.say(&p)
		if _, err := l.to.Write(p.Data); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		l.at.Run, l.at.Offset, l.at.Follow = p.Run, p.Offset+int64(len(p.Data)), l.follow // the first answer comes at once
		switch {
		case p.End && !l.follow && l.at.Offset == 0:
			return l.unwritten(ctx)
		case p.End:
			return nil
		case l.follow || len(p.Data) == api.MaxLogPiece:
		case p.Run == "":
			return cli.Exit(cli.Failed, fmt.Errorf("job %s is %s and has written nothing yet; 'gclient logs -f %s' waits", l.id, p.State, l.id))
		default:
			return nil
		}
	}
}

// unwritten says why there is nothing of a job that has ended: one that ran may have written nothing, which is no error.
func (l *reader) unwritten(ctx context.Context) error {
	s, err := l.client.Job(ctx, l.id)
	switch {
	case err != nil:
		return err
	case s.State == grid.Lost.String():
		return cli.Exit(cli.No, fmt.Errorf("job %s is LOST, and what it wrote with it: %s", l.id, printable(s.Reason)))
	case s.Terminal() && s.Started == 0 && s.ExitCode == nil && s.Signal == nil && s.State != grid.Completed.String():
		return cli.Exit(cli.No, fmt.Errorf("job %s never started, and wrote nothing: it is %s", l.id, said(&s)))
	}
	return nil
}

// say tells on stderr what becomes of the job, of which the output says nothing.
func (l *reader) say(p *api.LogPiece) {
	if !l.follow || l.silent {
		return
	}
	text := ""
	switch {
	case p.Why != "":
		text = "nothing can be read now, and it is tried again: " + p.Why
	case p.Run == "":
		text = fmt.Sprintf("job %s is %s at %s; its output follows when it has started", l.id, p.State, p.Site)
	case l.at.Run != "" && (p.Run != l.at.Run):
		text = fmt.Sprintf("job %s was started again, at %s: its output begins anew", l.id, p.Site)
	case p.Offset < l.at.Offset:
		text = fmt.Sprintf("the file of job %s at %s has become shorter: it begins anew", l.id, p.Site)
	case p.End:
		text = fmt.Sprintf("job %s is %s", l.id, p.State)
	case l.at.Run == "" && l.told != "":
		text = fmt.Sprintf("job %s runs at %s", l.id, p.Site)
	}
	l.tell(printable(strings.TrimSpace(text)))
}

// tell says something on stderr, once.
func (l *reader) tell(text string) {
	if !l.silent && text != "" && text != l.told {
		l.told = text
		l.cmd.PrintErrf("gclient: %s\n", text)
	}
}
