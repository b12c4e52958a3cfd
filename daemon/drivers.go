package daemon

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/command"
	"gbroker/pbs/embedded"
	"gbroker/pbs/external"
	"gbroker/pbs/openpbs"
	"gbroker/pbs/pool"
	"gbroker/pbs/slurm"
	"gbroker/pbs/torque"
	"gbroker/plan"
)

// runner runs the commands of the batch system.
func (c Config) runner() command.Runner {
	x := c.Batch.External
	r := command.Runner{Environment: slices.Concat(command.Environment(), x.Environment), Limit: x.CommandLimit}
	for _, folder := range []string{x.Commands, x.MauiCommands} {
		if folder != "" {
			r.Folders = append(r.Folders, folder)
		}
	}
	return r
}

// client is the driver of an external batch system.
func (c Config) client() (external.Client, error) {
	x := c.Batch.External
	switch c.Batch.System {
	case Slurm:
		return slurm.New(slurm.Config{Runner: c.runner(), Operator: x.Operator}), nil
	case Torque:
		t := torque.Config{Runner: c.runner(), Policy: c.Batch.Policy, Administrator: x.Operator}
		if x.Maui {
			return torque.NewMaui(t), nil
		}
		return torque.New(t), nil
	case OpenPBS:
		p := openpbs.Config{Runner: c.runner(), Resources: x.Resources, SchedConfig: x.SchedConfig, Policy: c.Batch.Policy, Operator: x.Operator}
		if !c.Batch.Ruled { // as it is delivered
			p.Policy = plan.Policy{Kind: plan.FirstFit}
		}
		return openpbs.New(p)
	}
	return nil, fmt.Errorf("%w: the batch system %s has no commands", grid.ErrInvalid, c.Batch.System)
}

// ours is how one program holds the batch system: the daemon, or a command by hand.
type ours struct {
	Owner string // marks our local jobs and reservations: those of another are never ours
	Site  grid.Site
	Spool string // what it keeps
	// Accounts gives the local account of a user; nil is the daemon's own for all.
	Accounts func(grid.User) (string, error)
	// Lend opens the folders of a job to its account.
	Lend    func(ctx context.Context, job grid.JobID, account string) error
	Changed func(grid.AttemptID)
	Full    func() bool // the disk of the jobs has no room
	Log     *zap.Logger
}

// system makes our side of the batch system.
func (c Config) system(o ours) (pbs.System, error) {
	if c.Batch.System == Embedded {
		return embedded.New(embedded.Config{
			Site: o.Site, Nodes: c.Nodes(), Queues: c.Queues(), Policy: c.Batch.Policy,
			FileLimit: c.Batch.FileLimit, Confine: c.Batch.Confine,
			Spool: o.Spool, Changed: o.Changed, Full: o.Full, Logger: o.Log,
		})
	}
	if c.Batch.System == Pool {
		p := c.pool(o.Site, o.Spool)
		p.Changed, p.Logger = o.Changed, o.Log
		return pool.New(p)
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	x := c.Batch.External
	e := external.Config{
		Client: client, Owner: o.Owner, Spool: o.Spool, Site: o.Site, Queue: x.Queue, Charge: x.Account,
		Refresh: c.Batch.Refresh, Blind: x.Blind, Accounts: o.Accounts, Lend: o.Lend, Runner: c.runner(), Changed: o.Changed, Logger: o.Log,
		Ports: x.Ports,
	}
	if c.Batch.Ruled {
		e.Policy = &c.Batch.Policy
	}
	return external.New(e)
}

// facts is what this site says of itself before its batch system was seen.
func (c Config) facts() grid.Site {
	return grid.Site{
		Name: c.Site, Processes: c.Processes(), Speed: c.Speed, Architecture: c.Architecture, System: c.System, Each: c.Each, Batch: c.Batch.System,
		Reach: c.Batch.External.Reach,
	}
}

// grace is how long good listings must lack an attempt before it counts as vanished. The
// embedded system's listing is its own memory; others are polled, and may be told late.
func (c Config) grace() grid.Tick {
	if c.Batch.System == Embedded || c.Batch.System == Pool {
		return 10 * grid.Second
	}
	return max(2*grid.Minute, 6*grid.Span(c.Batch.Refresh))
}
