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

// client is the driver of an external batch system, with the reservations of owner.
func (c Config) client(owner string) (external.Client, error) {
	x := c.Batch.External
	var client external.Client
	switch c.Batch.System {
	case Torque:
		t := torque.Config{Runner: c.runner(), Policy: c.Batch.Policy, Administrator: x.Operator}
		if client = torque.New(t); x.Maui {
			client = torque.NewMaui(t)
		}
	case Slurm:
		client = slurm.New(slurm.Config{Runner: c.runner(), Prefix: "gbroker_" + owner + "_", Operator: x.Operator})
	case OpenPBS:
		o, err := openpbs.New(openpbs.Config{
			Runner: c.runner(), Resources: x.Resources, SchedConfig: x.SchedConfig, Policy: c.Batch.Policy,
		})
		if err != nil {
			return nil, err
		}
		client = o
	default:
		return nil, fmt.Errorf("%w: this gbroker has no driver for batch.system: %s", grid.ErrInvalid, c.Batch.System)
	}
	if c.Batch.Ruled {
		client = ruled(client, c.Batch.Policy)
	}
	return client, nil
}

// overruled is a client whose scheduler's policy is the administrator's word.
type overruled struct {
	external.Client
	policy plan.Policy
}

func ruled(c external.Client, p plan.Policy) external.Client {
	o := overruled{c, p}
	if b, is := c.(external.Booker); is {
		return struct {
			overruled
			external.Booker
		}{o, b}
	}
	return o
}

func (o overruled) Listing(ctx context.Context) (external.Listing, error) {
	l, err := o.Client.Listing(ctx)
	l.Policy = o.policy
	return l, err
}

// ours is how one program holds the batch system: the daemon, or a command by hand.
type ours struct {
	Owner   string // marks our local jobs and reservations: those of another are never ours
	Site    grid.Site
	Spool   string // what it keeps
	Changed func(grid.AttemptID)
	Log     *zap.Logger
}

// system makes our side of the batch system.
func (c Config) system(o ours) (pbs.System, error) {
	if c.Batch.System != Embedded {
		return nil, fmt.Errorf("%w: this gbroker can look at batch.system: %s, and run jobs only by: %s", grid.ErrInvalid, c.Batch.System, Embedded)
	}
	return embedded.New(embedded.Config{
		Site: o.Site, Nodes: c.Nodes(), Queues: c.Queues(), Policy: c.Batch.Policy,
		Spool: o.Spool, Changed: o.Changed, Logger: o.Log,
	})
}

// facts is what this site says of itself before its batch system was seen.
func (c Config) facts() grid.Site {
	return grid.Site{
		Name: c.Site, Processes: c.Processes(), Speed: c.Speed, Architecture: c.Architecture, System: c.System,
	}
}

// grace is how long good listings must lack an attempt before it counts as vanished. The
// embedded system's listing is its own memory; others are polled, and may be told late.
func (c Config) grace() grid.Tick {
	if c.Batch.System == Embedded {
		return 10 * grid.Second
	}
	return max(2*grid.Minute, 6*grid.Span(c.Batch.Refresh))
}
