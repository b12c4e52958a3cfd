package torque

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Config says how TORQUE is asked.
type Config struct {
	Runner command.Runner
	// Policy of the scheduler, where it does not tell: there is no Maui, or Maui does not
	// let us see its configuration.
	Policy plan.Policy
	// Administrator is the account as which Maui is asked; "" is the daemon's own. It must
	// be one of ADMIN1 or ADMIN2 in maui.cfg.
	Administrator string
}

// Client is TORQUE alone. It has no reservations.
type Client struct {
	runner command.Runner
	policy plan.Policy
	now    func() time.Time
	seen   atomic.Pointer[server] // as it was last
}

var _ external.Client = (*Client)(nil)

// New makes a client of TORQUE without Maui.
func New(c Config) *Client {
	return &Client{runner: c.Runner, policy: c.Policy, now: time.Now}
}

// nameLimit is the longest name that was tried, and kept whole.
const nameLimit = 40

// Traits are those of TORQUE; version and Forgets are known once there was a Listing.
func (c *Client) Traits() external.Traits {
	t := external.Traits{Kind: "torque", NameLimit: nameLimit, Least: grid.Second, RequeueFlag: "-r n"}
	if s := c.seen.Load(); s != nil {
		t.Version, t.Forgets = s.version, s.keep
	}
	return t
}

// Listing asks the server for its jobs, nodes and queues. The server does not tell the
// order in which its scheduler takes jobs: it is that of submission.
func (c *Client) Listing(ctx context.Context) (external.Listing, error) {
	l := external.Listing{At: c.instant(), Policy: c.policy}
	srv, err := query(ctx, c, parseServer, "qstat", "-B", "-f", "-1")
	if err != nil {
		return external.Listing{}, err
	}
	c.seen.Store(&srv)
	l.Default = srv.queue
	if l.Stopped = srv.idle; l.Stopped {
		l.Why = "the server's scheduling is False"
	}
	queues, err := query(ctx, c, parseQueues, "qstat", "-Q", "-f", "-1")
	if err != nil {
		return external.Listing{}, err
	}
	all, err := query(ctx, c, parseFarm, "pbsnodes", "-x")
	if err != nil {
		return external.Listing{}, err
	}
	l.Nodes, l.Silent = all.nodes, all.silent
	for _, n := range l.Nodes {
		if all.odd(n) {
			l.LeaveOut("node "+string(n.Name), all.unread[n.Name])
		}
	}
	l.Queues = offered(queues, srv, l.Nodes)
	l.Shapes = srv.shapes(len(l.Nodes))
	jobs, err := query(ctx, c, parseJobs, "qstat", "-x", "-t")
	if err != nil {
		return external.Listing{}, err
	}
	l.Jobs = jobs.jobs
	for _, j := range l.Jobs {
		if why := jobs.unread[j.Local]; why != nil {
			l.LeaveOut("job "+string(j.Local), why)
		}
	}
	slices.SortStableFunc(l.Jobs, func(a, b external.Job) int { return int(min(max(a.Submitted-b.Submitted, -1), 1)) })
	return l, nil
}

func (c *Client) instant() grid.Tick { return grid.InstantOf(c.now()) }

// query runs a command that must end with 0, and reads what it prints.
func query[T any](ctx context.Context, c *Client, parse func(call string, text []byte) (T, error), name string, args ...string) (T, error) {
	var none T
	call := command.Call{Name: name, Args: args}
	r, err := c.runner.Run(ctx, call)
	if err != nil {
		return none, err
	}
	if r.Exit != 0 {
		return none, unanswered(call, r)
	}
	return parse(call.String(), r.Stdout)
}

// Look asks for jobs by their identifiers, all in one call.
func (c *Client) Look(ctx context.Context, ids ...grid.LocalID) ([]external.Job, error) {
	list, err := c.look(ctx, ids)
	return list.jobs, err
}

// unknownJob is the exit code, and the beginning of the word, for a job that is not there.
const (
	unknownJob  = 153
	unknownWord = "qstat: Unknown Job Id Error "
)

func (c *Client) look(ctx context.Context, ids []grid.LocalID) (shown, error) {
	if len(ids) == 0 {
		return shown{}, nil
	}
	call := command.Call{Name: "qstat", Args: []string{"-x"}}
	for _, id := range ids {
		if err := checkID(string(id)); err != nil {
			return shown{}, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
		call.Args = append(call.Args, string(id))
	}
	r, err := c.runner.Run(ctx, call)
	if err != nil {
		return shown{}, err
	}
	return looked(call, r, ids)
}

// looked reads what qstat -x ID ... left: documents of those that there are, and a word about each other.
func looked(call command.Call, r command.Result, ids []grid.LocalID) (shown, error) {
	if r.Exit != 0 && r.Exit != unknownJob {
		return shown{}, unanswered(call, r)
	}
	if missing := strings.Count(string(r.Stderr), unknownWord); r.Exit == unknownJob && missing == len(ids) && len(r.Stdout) == 0 {
		return shown{}, nil
	} else if (missing > 0) != (r.Exit == unknownJob) {
		return shown{}, unanswered(call, r)
	}
	list, err := parseJobs(call.String(), r.Stdout)
	if err != nil {
		return shown{}, err
	}
	for _, j := range list.jobs {
		if why := list.unread[j.Local]; why != nil {
			return shown{}, unreadable(call.String(), "job "+string(j.Local), r.Stdout, why)
		}
		if !slices.Contains(ids, j.Local) {
			return shown{}, unreadable(call.String(), "", nil, fmt.Errorf("it tells of job %s, which was not asked for", j.Local))
		}
	}
	return list, nil
}

// Hold keeps a waiting job from starting. TORQUE lets it succeed for a job that runs, which
// then runs on, or is checkpointed: the caller looks again.
func (c *Client) Hold(ctx context.Context, as string, id grid.LocalID) error {
	_, err := c.act(ctx, as, "qhold", id)
	return err
}

// notHeld is the exit code of qrls for a job that has no such hold.
const notHeld = 70

// Release ends the user's hold; a job that has none stays as it is.
func (c *Client) Release(ctx context.Context, as string, id grid.LocalID) error {
	exit, err := c.act(ctx, as, "qrls", id, "-h", "u")
	if exit == notHeld {
		return nil
	}
	return err
}

// wrongState is the exit code of qdel for a job that cannot be deleted (any more).
const wrongState = 170

// Remove deletes a job, running or not. One that is not there, or has ended, is no error.
func (c *Client) Remove(ctx context.Context, as string, id grid.LocalID) error {
	exit, err := c.act(ctx, as, "qdel", id)
	over := err != nil && exit == wrongState && (strings.Contains(err.Error(), "COMPLETE") || strings.Contains(err.Error(), "EXITING"))
	if exit == unknownJob || over {
		return nil
	}
	return err
}

// act runs a command on one job; exit is that of the command if it was run.
func (c *Client) act(ctx context.Context, as, name string, id grid.LocalID, args ...string) (exit int, err error) {
	if err := checkID(string(id)); err != nil {
		return 0, fmt.Errorf("%w: %s: %w", grid.ErrInvalid, name, err)
	}
	call := command.Call{Name: name, Args: append(args, string(id)), As: as}
	r, err := c.runner.Run(ctx, call)
	if err != nil {
		return 0, err
	}
	if r.Exit == 0 {
		return 0, nil
	}
	err = refused(call, r)
	if r.Exit == unknownJob { // qhold and qrls say nothing at all
		err = errors.Join(err, fmt.Errorf("%w: the server does not know job %s", grid.ErrNotFound, id))
	}
	return r.Exit, err
}
