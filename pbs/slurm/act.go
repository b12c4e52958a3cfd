package slurm

import (
	"context"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// look reads one job; none is not known.
func (c *Client) look(ctx context.Context, id grid.LocalID) ([]shown, error) {
	text, err := jobID(id)
	if err != nil {
		return nil, err
	}
	call := command.Call{Name: "scontrol", Args: []string{"--oneliner", "show", "job", text}}
	got, err := c.run(ctx, call)
	if err != nil {
		return nil, err
	}
	if got.Exit != 0 {
		if strings.Contains(string(got.Stderr), "Invalid job id specified") {
			return nil, nil
		}
		return nil, refused(call, got)
	}
	jobs, err := parseJob(got.Stdout)
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("it shows no job")
	}
	if err != nil {
		return nil, command.Unreadable(spoken(call), "", got.Stdout, err)
	}
	return jobs, nil
}

// act runs a command on one job.
func (c *Client) act(ctx context.Context, as string, id grid.LocalID, name string, args ...string) error {
	text, err := jobID(id)
	if err != nil {
		return err
	}
	call := command.Call{Name: name, Args: append(args, text), As: as}
	got, err := c.run(ctx, call)
	if err != nil {
		return err
	}
	// scancel may end with 0 and say that it has failed.
	if got.Exit != 0 || strings.Contains(string(got.Stderr), "error:") {
		return refused(call, got)
	}
	return nil
}

// Hold is a user's hold, also where root makes it.
func (c *Client) Hold(ctx context.Context, as string, id grid.LocalID) error {
	return c.act(ctx, as, id, "scontrol", "uhold")
}

// Release ends a user's hold. Root could end an operator's too, so it looks first.
func (c *Client) Release(ctx context.Context, as string, id grid.LocalID) error {
	jobs, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.State == external.Held && !job.OurHold {
			return fmt.Errorf("%w: job %s is held by others: %s", grid.ErrInvalid, id, job.Reason)
		}
		if !job.OurHold {
			return nil
		}
	}
	return c.act(ctx, as, id, "scontrol", "release")
}

// Remove cancels a job: TERM to all of its processes, KillWait later KILL. One that has
// ended, or is not known, is no error.
func (c *Client) Remove(ctx context.Context, as string, id grid.LocalID) error {
	return c.act(ctx, as, id, "scancel", "--quiet")
}
