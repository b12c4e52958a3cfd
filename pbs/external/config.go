package external

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/plan"

	"go.uber.org/zap"
)

// Config is all that a System needs to know.
type Config struct {
	Client Client
	// Owner is a word for this very broker, by which its local jobs are told from those of
	// other brokers and from those made by hand under the same account.
	Owner string
	Spool string // absolute folder, made if absent; one System at a time uses it
	Site  grid.Site
	// Queue takes jobs that name none; "" is the system's default. Charge is the account that
	// is charged, in the system's words; "" is the user's default.
	Queue  grid.QueueName
	Charge string
	// Refresh is how often the system is polled; a short one loads the controller. 0 is 10 s.
	Refresh time.Duration
	// Age is how old a listing may be that is still told; 0 is six times Refresh. A short one
	// turns a slow controller into one that is down.
	Age time.Duration
	// Policy stands in place of what the Client finds; nil: that counts.
	Policy *plan.Policy
	// Blind tells that the nodes do not see the control directories (see blind.go).
	Blind bool
	// Accounts maps a user to the local account of his jobs; "" is the daemon's own. An error
	// refuses the job. nil: all jobs run as the daemon's own.
	Accounts func(grid.User) (string, error)
	// Lend opens the sandbox and the control folder of a job to the account under which it will
	// run, and to nobody else; nil: none runs under another.
	Lend func(ctx context.Context, job grid.JobID, account string) error
	// Own is the daemon's own account; "" is asked of the operating system.
	Own string
	// Runner tries in the name of mapped accounts whether they can write.
	Runner command.Runner
	// Environment, NAME=VALUE, is under the programs' own; nil is PATH and LANG of the daemon.
	Environment []string
	// Path is where starters of parallel programs are sought on the nodes; "" is the daemon's PATH.
	Path     string
	Starters map[string][]string // see wrapper.Spec
	Grace    time.Duration       // between TERM and KILL; 0 is 5 s
	Ports    grid.Ports          // see wrapper.Spec; zero is grid.DefaultPorts
	// Changed is called, from any goroutine, when the progress of an attempt may have changed.
	// It must not wait for a method of the System. nil: nobody is told.
	Changed func(grid.AttemptID)
	Logger  *zap.Logger // nil: silent
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: the batch system's side: %s", grid.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Client == nil:
		return wrong("no client is given")
	case !filepath.IsAbs(c.Spool):
		return wrong("the spool folder %q must be an absolute path", c.Spool)
	case c.Owner == "" || len(c.Owner) > 40 || strings.Trim(c.Owner, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return wrong("the owner %q must be 1 to 40 of a-z, 0-9 and -", c.Owner)
	case c.Refresh < 0 || c.Age < 0 || c.Grace < 0:
		return wrong("refresh %v, age %v and grace %v must not be negative", c.Refresh, c.Age, c.Grace)
	}
	return nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Refresh == 0 {
		c.Refresh = 10 * time.Second
	}
	if c.Age == 0 {
		c.Age = 6 * c.Refresh
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if c.Ports == (grid.Ports{}) {
		c.Ports = grid.DefaultPorts
	}
	if c.Own == "" {
		u, err := user.Current()
		if err != nil {
			return c, fmt.Errorf("the daemon's own account: %w", err)
		}
		c.Own = u.Username
	}
	if c.Path == "" {
		c.Path = os.Getenv("PATH")
	}
	if c.Environment == nil {
		c.Environment = []string{"PATH=" + c.Path, "LANG=C.UTF-8"}
	}
	if c.Changed == nil {
		c.Changed = func(grid.AttemptID) {}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c, nil
}

// jitter is d, up to a tenth more or less, so that many brokers do not poll in step.
func jitter(d time.Duration) time.Duration {
	if d < 10 {
		return d
	}
	return d - d/10 + rand.N(d/5)
}
