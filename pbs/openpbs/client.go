package openpbs

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Config is one OpenPBS complex as this host reaches it.
type Config struct {
	// Runner runs the commands; its environment must say TZ=UTC.
	Runner command.Runner
	// Resources gives OpenPBS's name of a resource by ours; nil is gpu: ngpus.
	Resources map[string]string
	// SchedConfig is the scheduler's sched_config, where this host can read it; "" is not.
	SchedConfig string
	// Policy is the scheduler's where SchedConfig is "".
	Policy plan.Policy
	// Operator is the account that makes reservations, which the server does not take from
	// root; "" is this process's.
	Operator string
	// Account is whose reservations are ours; "" is Operator, or this process's.
	Account string
	// Rate is how many commands may begin per second, over time; 0 is 7, below 0 any number.
	Rate int
}

// Client is one OpenPBS complex.
type Client struct {
	Config
	words words
	pace  pace
	own   string // under which the commands run

	mu     sync.Mutex
	traits external.Traits
}

var (
	_ external.Client   = (*Client)(nil)
	_ external.Reserver = (*Client)(nil)
)

// slack is how much longer a reservation is than its job's limit: walltimes are looked at
// lazily, and at the end of a reservation its jobs are killed.
const slack = 10 * grid.Second

// New makes a client; it asks nobody.
func New(c Config) (*Client, error) {
	if c.Resources == nil {
		c.Resources = map[string]string{"gpu": "ngpus"}
	}
	w, err := newWords(c.Resources)
	if err != nil {
		return nil, fmt.Errorf("%w: openpbs: %w", grid.ErrInvalid, err)
	}
	if c.Runner.Environment != nil && !slices.Contains(c.Runner.Environment, "TZ=UTC") {
		return nil, fmt.Errorf("%w: openpbs: the commands' environment must say TZ=UTC: their dates have no zone", grid.ErrInvalid)
	}
	own := c.Account
	if own == "" || c.Operator != "" {
		u, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("openpbs: whose reservations are ours: %w", err)
		}
		own = u.Username
	}
	c.Account = cmp.Or(c.Account, c.Operator, own)
	cl := &Client{Config: c, words: w, own: own}
	if rate := c.Rate; rate >= 0 {
		if rate == 0 {
			rate = perSecond
		}
		cl.pace.every = time.Second / time.Duration(rate)
	}
	cl.traits = external.Traits{Kind: "openpbs", NameLimit: 230, Least: grid.Second, Slack: slack, RequeueFlag: "qsub -r n"}
	return cl, nil
}

// Traits are what the system is known to be; version and memory as the last listing said.
func (c *Client) Traits() external.Traits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traits
}

// start runs a command in its turn.
func (c *Client) start(ctx context.Context, call command.Call) (command.Result, error) {
	if err := c.pace.wait(ctx); err != nil {
		return command.Result{}, fmt.Errorf("%w: %s: %w", grid.ErrUnavailable, call, err)
	}
	return c.Runner.Run(ctx, call)
}

// run runs a command that changes something. fine are the exit codes besides 0 that are no trouble.
func (c *Client) run(ctx context.Context, call command.Call, fine ...int) (command.Result, error) {
	r, err := c.start(ctx, call)
	if err == nil && r.Exit != 0 && !slices.Contains(fine, r.Exit) {
		err = trouble(call, r)
	}
	return r, err
}

// ask runs a command that only tells something, and reads it.
func (c *Client) ask(ctx context.Context, call command.Call, read func(text []byte) error, fine ...int) error {
	r, err := c.start(ctx, call)
	if err != nil {
		return err
	}
	return understood(call, r, read, fine...)
}

// Look reads jobs afresh, ended ones too, as long as the server remembers them.
func (c *Client) Look(ctx context.Context, ids ...grid.LocalID) ([]external.Job, error) {
	list, err := c.look(ctx, ids)
	var out []external.Job
	for _, j := range list {
		out = append(out, j.Job)
	}
	return out, err
}

// atOnce is how many jobs one command is asked for.
const atOnce = 200

func (c *Client) look(ctx context.Context, ids []grid.LocalID) ([]job, error) {
	var all []job
	for some := range slices.Chunk(ids, atOnce) {
		// Without -E only the first one is shown, without -x none that has ended.
		call := command.Call{Name: "qstat", Args: []string{"-x", "-E", "-f", "-F", "json"}}
		for _, id := range some {
			if !isJobID(string(id)) {
				return nil, fmt.Errorf("%w: %.80q is no job of OpenPBS, such as 12.server", grid.ErrInvalid, id)
			}
			call.Args = append(call.Args, string(id))
		}
		err := c.ask(ctx, call, func(text []byte) error {
			_, list, err := c.words.jobs(text)
			for _, j := range list {
				if j.unread != nil && err == nil {
					err = at("Jobs", at(string(j.Local), j.unread))
				}
			}
			all = append(all, list...)
			return err
		}, exitUnknownJob, exitFinished)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// act runs a command on one job.
func (c *Client) act(ctx context.Context, as string, id grid.LocalID, name string, args []string, fine ...int) error {
	if !isJobID(string(id)) {
		return fmt.Errorf("%w: %.80q is no job of OpenPBS, such as 12.server", grid.ErrInvalid, id)
	}
	_, err := c.run(ctx, command.Call{Name: name, Args: append(args, string(id)), As: as}, fine...)
	return err
}

// Hold puts a user hold on a job. On one that runs it has no effect until it is requeued.
func (c *Client) Hold(ctx context.Context, as string, id grid.LocalID) error {
	return c.act(ctx, as, id, "qhold", []string{"-h", "u"})
}

// Release ends a user hold.
func (c *Client) Release(ctx context.Context, as string, id grid.LocalID) error {
	return c.act(ctx, as, id, "qrls", []string{"-h", "u"})
}

// Remove deletes a job, which may run on for seconds after. One that is ending (qdel refuses
// those in state E), has ended, or that the server does not know, is no error.
func (c *Client) Remove(ctx context.Context, as string, id grid.LocalID) error {
	return c.act(ctx, as, id, "qdel", nil, exitFinished, exitUnknownJob, exitBadState)
}

// Submit hands a job over and reads back that it is rerunnable or not as asked.
func (c *Client) Submit(ctx context.Context, o external.Order) (grid.LocalID, error) {
	call, err := c.words.submission(o)
	if err != nil {
		return "", fmt.Errorf("submitting %s: %w", o.Tag, err)
	}
	r, err := c.run(ctx, call)
	if err != nil {
		return "", fmt.Errorf("submitting %s: %w", o.Tag, err)
	}
	id := strings.TrimSuffix(string(r.Stdout), "\n")
	if !isJobID(id) {
		return "", command.Unreadable(call.String(), "", r.Stdout, fmt.Errorf("%.80q is no job, such as 12.server", id))
	}
	list, err := c.look(ctx, []grid.LocalID{grid.LocalID(id)})
	if err != nil {
		return "", fmt.Errorf("reading %s back: %w", id, err)
	}
	if len(list) == 0 && c.Traits().Forgets > 0 { // ended ones are shown too: it was never taken up
		return "", fmt.Errorf("%w: %s was accepted, and is gone without a trace: it came into a routing queue, and no destination of that takes it", grid.ErrInvalid, id)
	}
	for _, j := range list {
		if j.rerunnable == o.Rerunnable || j.State == external.Done {
			continue
		}
		err := fmt.Errorf("%w: %s was submitted with -r %s and is the contrary at the server (a hook?)", grid.ErrInvalid, id, yes(o.Rerunnable))
		if gone := c.Remove(ctx, o.As, grid.LocalID(id)); gone != nil {
			err = fmt.Errorf("%w: and cannot be removed: %w", grid.ErrUnavailable, gone)
		}
		return "", err
	}
	return grid.LocalID(id), nil
}
