package embedded

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"

	"go.uber.org/zap"
)

// Config is all that an embedded batch system needs to know.
type Config struct {
	Site  grid.Site
	Nodes []plan.Node // as declared; more cores than the machine has is allowed
	// Queues are partitions of the nodes; a job that names none may go to all nodes.
	Queues []plan.Queue
	// Policy decides who starts. A pass knows nothing of the one before but who was
	// overtaken: reservations are made anew in each, under ConsCompress as well.
	Policy plan.Policy
	Spool  string // absolute folder, made if absent; one system at a time uses it
	// Supervisor is the command before the SPECFILE; nil is this program and "supervise".
	Supervisor []string
	// Changed is called, from any goroutine, whenever the progress of an attempt may
	// have changed. It must not wait for a method of the System. nil: nobody is told.
	Changed func(grid.AttemptID)
	// Full tells that the disk of the jobs has no room: until it tells otherwise no program is
	// started. nil: there is always room.
	Full func() bool
	// Grace is what a program gets between SIGTERM and SIGKILL; 0 is 5 s.
	Grace time.Duration
	// FileLimit is the largest file that a job may write, in bytes, its output among
	// them; 0 is any. What all files together may take is not limited: give the jobs a
	// disk of their own, or quotas, for that.
	FileLimit int64
	// Confine puts each job into a control group (version 2) of its own, if one can be made
	// with the controllers memory, cpu and pids: what it asked of memory is then a limit
	// for all its processes together. Where none can be made the log and Confinement say why.
	Confine bool
	// Path is the jobs' PATH, where mpirun is looked for too; "" is the daemon's.
	Path string
	// MaxQueue bounds the jobs that wait or run; more are refused. 0 is 20,000.
	MaxQueue int
	// Ports are those of which one is offered to programs of co-allocated jobs to meet at; zero is
	// grid.DefaultPorts.
	Ports  grid.Ports
	Logger *zap.Logger // nil: silent
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// withDefaults fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if len(c.Supervisor) == 0 {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("finding this program, which is to supervise jobs: %w", err)
		}
		c.Supervisor = []string{self, supervise.Command}
	}
	if c.Changed == nil {
		c.Changed = func(grid.AttemptID) {}
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if c.Path == "" {
		c.Path = os.Getenv("PATH")
	}
	if c.Path == "" {
		c.Path = defaultPath
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 20_000
	}
	if c.Ports == (grid.Ports{}) {
		c.Ports = grid.DefaultPorts
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c, nil
}

// Validate says what is wrong with c and what to write instead.
func (c Config) Validate() error {
	if !filepath.IsAbs(c.Spool) {
		return fmt.Errorf("%w: the spool folder %q must be an absolute path", grid.ErrInvalid, c.Spool)
	}
	if len(c.Nodes) == 0 {
		return fmt.Errorf("%w: the embedded batch system has no nodes: declare at least one", grid.ErrInvalid)
	}
	seen := map[grid.NodeName]bool{}
	for _, n := range c.Nodes {
		if err := grid.CheckName(string(n.Name)); err != nil {
			return fmt.Errorf("%w: a node of the embedded batch system: %w", grid.ErrInvalid, err)
		}
		if seen[n.Name] {
			return fmt.Errorf("%w: two nodes are called %s", grid.ErrInvalid, n.Name)
		}
		seen[n.Name] = true
		if err := checkNode(n); err != nil {
			return fmt.Errorf("%w: node %s: %w", grid.ErrInvalid, n.Name, err)
		}
		if n.Cores < 1 || n.Cores > grid.MaxProcesses || n.Memory < 0 {
			return fmt.Errorf("%w: node %s declares %d cores and %d bytes of memory: cores are 1 to %d, memory is not negative",
				grid.ErrInvalid, n.Name, n.Cores, n.Memory, grid.MaxProcesses)
		}
	}
	if c.Ports != (grid.Ports{}) {
		if err := c.Ports.Check(); err != nil {
			return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
	}
	if err := c.checkQueues(); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if c.Grace < 0 || c.MaxQueue < 0 || c.FileLimit < 0 {
		return fmt.Errorf("%w: grace %v, max queue %d and file limit %d must not be negative", grid.ErrInvalid, c.Grace, c.MaxQueue, c.FileLimit)
	}
	return nil
}

// checkNode says what is wrong with what a node has beside cores and memory.
func checkNode(n plan.Node) error {
	if err := grid.CheckResources(n.Resources); err != nil {
		return err
	}
	if !(n.Speed >= 0 && n.Speed <= maxSpeed) {
		return fmt.Errorf("its speed is %v: write one above 0 and at most %d, or leave it out", n.Speed, maxSpeed)
	}
	return grid.CheckProperties(n.Properties)
}

const maxSpeed = 1000

func (c Config) checkQueues() error {
	seen := map[grid.QueueName]bool{}
	for _, q := range c.Queues {
		if err := grid.CheckName(string(q.Name)); err != nil {
			return fmt.Errorf("a queue: %w", err)
		}
		if seen[q.Name] {
			return fmt.Errorf("two queues are called %s", q.Name)
		}
		seen[q.Name] = true
		if q.Limit < 0 || q.Limit > grid.MaxWalltime {
			return fmt.Errorf("queue %s has a limit of %d ms: at most %d, 0 for none", q.Name, q.Limit, grid.MaxWalltime)
		}
		for _, i := range q.Nodes {
			if i < 0 || i >= len(c.Nodes) {
				return fmt.Errorf("queue %s has the node number %d: there are %d nodes", q.Name, i, len(c.Nodes))
			}
		}
	}
	return nil
}

// baseEnvironment is what every program gets, under its own variables. What a daemon that was started without a session lacks is told by
// the account's entry.
func (c Config) baseEnvironment() []string {
	base := []string{"PATH=" + c.Path}
	name, home := "", "/"
	if who, err := user.Current(); err == nil {
		name, home = who.Username, cmp.Or(who.HomeDir, home)
	}
	for _, v := range []struct{ name, otherwise string }{
		{"HOME", home}, {"LANG", "C.UTF-8"}, {"USER", name}, {"LOGNAME", name}, {"TMPDIR", ""}, {"TZ", ""},
	} {
		value := os.Getenv(v.name)
		if value == "" {
			value = v.otherwise
		}
		if value != "" {
			base = append(base, v.name+"="+value)
		}
	}
	return base
}
