package slurm

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// Config is how Slurm's commands are run.
type Config struct {
	// Runner runs them; its environment may name SLURM_CONF.
	Runner command.Runner
	// Prefix begins the names of our reservations; "" is "gbroker_". Brokers that share one
	// Slurm need different ones.
	Prefix string
	// Operator is the account that makes reservations: SlurmUser, where the daemon is
	// neither that nor root; "" is the daemon's own.
	Operator string
}

// Client speaks to one Slurm controller.
type Client struct {
	config  Config
	version atomic.Value // string
	age     atomic.Int64 // MinJobAge
	down    atomic.Bool  // the last command has found no controller
	limits  external.Limits
	self    func() (string, error)
	invent  func() string // an account's name that nobody has
}

var (
	_ external.Client   = (*Client)(nil)
	_ external.Reserver = (*Client)(nil)
)

// New makes a client. It runs nothing.
func New(config Config) *Client {
	env := config.Runner.Environment
	if env == nil {
		env = command.Environment()
	}
	// Times are printed in the caller's zone and form.
	config.Runner.Environment = append(append([]string{}, env...), "LC_ALL=C", "TZ=UTC", "SLURM_TIME_FORMAT=standard")
	if config.Prefix == "" {
		config.Prefix = "gbroker_"
	}
	return &Client{config: config, invent: func() string { return "gb" + strings.ToLower(rand.Text()[:16]) }, self: sync.OnceValues(func() (string, error) {
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("the daemon's own account: %w", err)
		}
		return u.Username, nil
	})}
}

// Traits says what Slurm can do. Version and Forgets are as of the last listing.
func (c *Client) Traits() external.Traits {
	version, _ := c.version.Load().(string)
	return external.Traits{
		Kind: "slurm", Version: version, NameLimit: 1000, Forgets: grid.Tick(c.age.Load()),
		Least: grid.Minute,
		// The limit is rounded up to a minute, and the scheduler may look a minute late.
		Slack:       2 * grid.Minute,
		RequeueFlag: "--no-requeue",
	}
}

// answers is how long scontrol ping may take: it comes in 13 ms, whereas every other
// command waits 9 to 18 s for a controller that is down.
const answers = 5 * time.Second

// run runs a command, and tells its result where it is that of a controller that answers.
func (c *Client) run(ctx context.Context, call command.Call) (command.Result, error) {
	if c.down.Load() {
		got, err := c.config.Runner.Run(ctx, command.Call{Name: "scontrol", Args: []string{"ping"}, Limit: answers})
		if err == nil && got.Exit != 0 {
			err = fmt.Errorf("%w: the controller of Slurm does not answer: %.200s", grid.ErrUnavailable, got.Said())
		}
		if err != nil {
			return got, err
		}
	}
	got, err := c.config.Runner.Run(ctx, call)
	c.down.Store(err != nil || got.Exit != 0 && silent(string(got.Stderr)))
	return got, err
}

// read runs a command that must succeed, and parses what it prints.
func (c *Client) read(ctx context.Context, parse func([]byte) error, name string, args ...string) error {
	call := command.Call{Name: name, Args: args}
	got, err := c.run(ctx, call)
	if err != nil {
		return err
	}
	if got.Exit != 0 {
		return refused(call, got)
	}
	if err := parse(got.Stdout); err != nil {
		c.down.Store(true) // squeue --json ends with 0 where the controller is down
		return command.Unreadable(spoken(call), "", got.Stdout, err)
	}
	return nil
}

// jobID checks an identifier before it becomes a word of a command: NUMBER or NUMBER_TASK.
func jobID(id grid.LocalID) (string, error) {
	text := string(id)
	rest := text
	for i, c := range []byte(text) {
		if c == '_' && i > 0 {
			rest = text[i+1:]
			break
		}
	}
	if _, err := strconv.ParseUint(rest, 10, 32); err != nil || len(text) > 24 || text[0] < '0' || text[0] > '9' {
		return "", fmt.Errorf("%w: %.40q is no identifier of a job of Slurm", grid.ErrInvalid, text)
	}
	return text, nil
}
