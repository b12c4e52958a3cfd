package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// cancellation is what the flags of cancel say.
type cancellation struct {
	selection
	json, yes bool
}

func (p *program) cancel() *cobra.Command {
	var f cancellation
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "End jobs",
		Long: `End jobs, wherever they are. It ends with exit code 0 only when the sites that have the jobs
confirmed that they will not run (again), or that they have ended. Else the wish is
recorded, and will be followed as soon as that site can be reached: exit code 3. (A
job that waits at a site which is down may start for a moment when the site returns,
before it hears of the wish.) Exit code 1: one of them is not known, or not yours; the others are cancelled.

Jobs can be chosen by flags too, of those that have not ended; then it asks first, on a terminal,
and --yes answers. A sweep is cancelled as a whole, with the jobs whose turn has not come, unless --state leaves some of its
live jobs out, or --site is given: then those that fit end, and others have their turn. A workflow (ID.flow) is named alone.`,
		Example: `  gclient cancel xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF
  gclient cancel --state READY,ASSIGNED --name 'mesh-*'
  gclient cancel --state live --since 2h --yes`,
		Args:              idsOrFlags(&f.selection),
		ValidArgsFunction: p.completeAllJobs,
		RunE:              p.orFlow(cancelFlow(&f.json), func(cmd *cobra.Command, args []string) error { return p.runCancel(cmd, args, &f) }),
	}
	jsonFlag(cmd, &f.json)
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	p.selectionFlags(cmd, &f.selection)
	return cmd
}

func (p *program) runCancel(cmd *cobra.Command, args []string, f *cancellation) error {
	filter, err := f.filter()
	if err != nil {
		return err
	}
	if f.chosen() && len(filter.States) == 0 {
		if filter.States, err = parseStates([]string{"live"}); err != nil {
			return err
		}
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := f.targets(cmd, c, args, filter)
	if err != nil {
		return err
	}
	ids := all.ids
	if len(ids) == 0 {
		cmd.PrintErrln(noneFits)
	}
	if f.chosen() && !f.yes {
		if err := sure(cmd, all.jobs); err != nil {
			return err
		}
	}
	if len(ids) == 1 {
		return cancelOne(cmd, c, ids[0], f.json)
	}
	return cancelAll(cmd, c, ids, f.json)
}

// sure asks a person.
func sure(cmd *cobra.Command, n int) error {
	if n == 0 {
		return nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !cli.Terminal(in) {
		return cli.BadUsage("%s would be cancelled, and nobody can be asked here: say --yes", jobsText(n))
	}
	cmd.PrintErrf("Cancel %s? [y/N] ", jobsText(n))
	line, err := bufio.NewReader(in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return cli.Exit(cli.No, errors.New("nothing was cancelled"))
	}
	return nil
}

func cancelOne(cmd *cobra.Command, c *api.Client, r grid.Reference, asJSON bool) error {
	return either(&r, func(id grid.JobID) error {
		return cancelJob(cmd, c, id, asJSON)
	}, func(id grid.GroupID) error {
		return cancelGroup(cmd, c, id, asJSON)
	})
}

func cancelJob(cmd *cobra.Command, c *api.Client, id grid.JobID, asJSON bool) error {
	r, err := c.Cancel(cmd.Context(), id)
	if err != nil {
		return err
	}
	if asJSON {
		if err := cli.PrintJSON(cmd.OutOrStdout(), r); err != nil {
			return err
		}
	}
	if err := recorded(&r); err != nil {
		return err
	}
	if !asJSON {
		cmd.Printf("%s %s\n", id, cancelled(&r.Job))
	}
	return nil
}

// recorded is what to say of a job whose cancel is not confirmed.
func recorded(r *api.Confirmation) error {
	if r.Confirmed {
		return nil
	}
	id := r.Job.ID
	return cli.Exit(cli.Failed, fmt.Errorf("job %s: recorded, not yet confirmed; 'gclient status %s' tells when it is", id, id))
}

// atATime are the cancels under way: each may wait for a site.
const atATime = 8

// cancelledJob is what came of one of many.
type cancelledJob struct {
	ID        string           `json:"id"`
	Confirmed bool             `json:"confirmed"`
	Error     string           `json:"error,omitempty"`
	Job       *api.Status      `json:"job,omitempty"`
	Group     *api.GroupStatus `json:"group,omitempty"`
	err       error
}

// cancelAll cancels all, also where some cannot be.
func cancelAll(cmd *cobra.Command, c *api.Client, ids []grid.Reference, asJSON bool) error {
	results := make([]cancelledJob, len(ids))
	bar := newCount(cmd.ErrOrStderr())
	var all sync.WaitGroup
	next := make(chan int)
	var mu sync.Mutex
	done := 0
	for range min(atATime, len(ids)) {
		all.Go(func() {
			for i := range next {
				results[i] = cancelQuietly(cmd, c, ids[i])
				mu.Lock()
				done++
				bar.show(fmt.Sprintf("%d of %d", done, len(ids)))
				mu.Unlock()
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	all.Wait()
	bar.end()
	var worst error
	confirmed := 0
	for i := range results {
		r := &results[i]
		switch {
		case r.err == nil:
			confirmed++
			if !asJSON {
				cmd.Printf("%s %s\n", r.ID, r.told())
			}
		case !asJSON:
			cmd.PrintErrf("gclient: %v\n", r.err)
		}
		if r.err != nil && (worst == nil || cmp.Less(cli.Code(r.err), cli.Code(worst))) {
			worst = r.err // a no tells more than a not yet
		}
	}
	if asJSON {
		if err := cli.PrintJSON(cmd.OutOrStdout(), results); err != nil {
			return err
		}
	}
	if worst != nil {
		return cli.Exit(cli.Code(worst), fmt.Errorf("%d of %d are confirmed", confirmed, len(ids)))
	}
	return nil
}

// told says what became of what is confirmed.
func (r *cancelledJob) told() string {
	if r.Group != nil {
		return "has ended: " + statesText(r.Group)
	}
	return cancelled(r.Job)
}

func cancelQuietly(cmd *cobra.Command, c *api.Client, ref grid.Reference) (r cancelledJob) {
	r.err = either(&ref, func(id grid.JobID) error {
		s, err := c.Cancel(cmd.Context(), id)
		if err != nil {
			return err
		}
		r.Job, r.Confirmed = &s.Job, s.Confirmed
		return recorded(&s)
	}, func(id grid.GroupID) error {
		s, err := endGroup(cmd.Context(), c, id)
		if err != nil {
			return err
		}
		r.Group, r.Confirmed = &s, s.Ended != 0
		return recordedOf(&s)
	})
	if r.ID = ref.String(); r.err != nil {
		r.Error = r.err.Error()
	}
	return r
}
