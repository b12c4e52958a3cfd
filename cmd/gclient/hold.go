package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) hold() *cobra.Command {
	return p.holding("hold", true, "Keep jobs from starting",
		`Keep jobs that wait from starting until they are released, wherever they wait: one at another
site comes home for it. A job that runs is not held. Exit code 3: it is recorded, but the site that has a job has not
answered yet, and may still start it.`)
}

func (p *program) release() *cobra.Command {
	cmd := p.holding("release", false, "Let held jobs go, or give reservations up",
		`Let jobs go that are held, by 'gclient hold' or as their documents say: a place is searched for them.
Reservations are given up: their identifiers have no dot.`)
	jobs := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isJob := func(s string) bool { return strings.Contains(s, ".") }
		ids := slices.DeleteFunc(slices.Clone(args), isJob)
		if err := p.giveUp(cmd, ids); err != nil || len(ids) == len(args) {
			return err
		}
		return jobs(cmd, slices.DeleteFunc(slices.Clone(args), func(s string) bool { return !isJob(s) }))
	}
	return cmd
}

// giveUp releases reservations.
func (p *program) giveUp(cmd *cobra.Command, ids []string) error {
	for _, id := range ids {
		if err := grid.CheckReservationID(id); err != nil {
			return cli.BadUsage("%v", err)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, id := range ids {
		h, err := c.ReleaseReservation(cmd.Context(), grid.ReservationID(id))
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", h.ID, h.State)
	}
	return nil
}

func (p *program) holding(use string, held bool, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use + " ID...", Short: short, Long: long,
		Example: "  gclient " + use + " xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF\n" +
			"  gclient " + use + " 'xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF[3-10,12]'    # jobs of a group",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completeAllJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.alterAll(cmd, args, api.Alteration{Held: &held})
		},
	}
}

// alterAll changes jobs one after the other, also where some cannot be.
func (p *program) alterAll(cmd *cobra.Command, args []string, to api.Alteration) error {
	names, err := named(args)
	if err != nil {
		return err
	}
	for _, r := range names {
		if r.Job == "" {
			return whichOf(r.Group)
		}
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	var failed []error
	for _, r := range names {
		err := alterOne(cmd, c, r.Job, to)
		if r.Group != "" && errors.Is(err, grid.ErrNotFound) {
			if _, as := c.GroupPage(cmd.Context(), r.Group, api.Members{Limit: 1}); as == nil {
				err = whichOf(r.Group)
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
}

// whichOf refuses a group in the place of jobs.
func whichOf(id grid.GroupID) error {
	return cli.BadUsage("%s is a group: write which of its jobs, as '%s[1-10]'", id, strings.TrimSuffix(string(id), ".all"))
}

func alterOne(cmd *cobra.Command, c *api.Client, id grid.JobID, to api.Alteration) error {
	a, err := c.Alter(cmd.Context(), id, to)
	switch {
	case err != nil && strings.Contains(err.Error(), string(id)):
		return err
	case err != nil:
		return fmt.Errorf("job %s: %w", id, err)
	}
	if state, err := grid.ParseState(a.Job.State); err == nil && state >= grid.Running && (to.Deadline == nil || to != api.Alteration{Deadline: to.Deadline}) {
		return cli.Exit(cli.No, fmt.Errorf("job %s has started meanwhile, as it was before: it is %s", id, a.Job.State))
	}
	if !a.Confirmed {
		return cli.Exit(cli.Failed, fmt.Errorf("job %s: recorded, not yet confirmed; 'gclient status %s' tells when it is", id, id))
	}
	cmd.Printf("%s %s\n", id, said(&a.Job))
	return nil
}

// said is the state of a job with its reason.
func said(s *api.Status) string {
	if s.Reason == "" {
		return s.State
	}
	return s.State + ": " + printable(s.Reason)
}
