// Package slurmtest starts real Slurm clusters on the loopback for tests: slurmctld, one
// slurmd for each virtual node, and one munged for all clusters of a test binary. It needs
// the programs (Debian: slurm-wlm and munge), and neither root nor systemd nor cgroups.
// Nodes may have more CPUs than the machine.
//
// A cluster of a test is gone when the test has ended; one that tests share, when the test
// binary has: its TestMain is
//
//	func TestMain(m *testing.M) { os.Exit(slurmtest.Main(m)) }
//
// A program that is no test opens its clusters, and ends them by Close.
//
// Also where the binary is killed, nothing stays behind: a guard outside of it notices.
package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long something may take that takes a second on an idle machine.
const patience = 90 * time.Second

// searched is where programs are looked for: daemons are often not on a user's PATH.
const searched = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// find is the path of a program; PATH goes first.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range strings.Split(searched, ":") {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// Cluster is a Slurm cluster that runs.
type Cluster struct {
	Name string
	Conf string // the path of slurm.conf

	dir        string
	keeper     *keeper
	guard      *guard
	ports      []port
	controller *daemon
	nodes      map[string]*daemon
}

// Main runs the tests of a binary, and ends the clusters that they shared.
func Main(m *testing.M) int {
	code := m.Run()
	Close()
	return code
}

// Close ends the clusters that were opened or shared.
func Close() {
	shared.Lock()
	defer shared.Unlock()
	for _, c := range shared.clusters {
		c.close()
	}
	if shared.keeper != nil {
		shared.keeper.close()
	}
	shared.clusters, shared.keeper = nil, nil
}

// Missing is why there can be no cluster on this machine, or nil.
func Missing() error {
	for _, program := range []string{"slurmctld", "slurmd", "munged", "sbatch"} {
		if _, err := find(program); err != nil {
			return fmt.Errorf("%w: as root, apt-get install slurm-wlm munge (make tools does it)", err)
		}
	}
	return nil
}

// Need skips a test where Slurm is not installed.
func Need(t testing.TB) {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
}

// Start starts a cluster for one test.
func Start(t testing.TB, config Config) *Cluster {
	t.Helper()
	Need(t)
	shared.Lock()
	k, err := keep()
	shared.Unlock()
	if err != nil {
		t.Fatalf("munged: %v", err)
	}
	c, err := start(t.Context(), k, config)
	if err != nil {
		t.Fatalf("start a Slurm cluster: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the cluster's log ends with:\n%s", c.log())
		}
		c.close()
	})
	return c
}

// Shared is the cluster of a name that the tests of a binary share. The first to ask
// starts it; config must be the same each time.
func Shared(t testing.TB, name string, config Config) *Cluster {
	t.Helper()
	Need(t)
	c, err := Open(t.Context(), name, config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Open is the cluster of a name, started where it is new, until Close.
func Open(ctx context.Context, name string, config Config) (*Cluster, error) {
	shared.Lock()
	defer shared.Unlock()
	if c := shared.clusters[name]; c != nil {
		return c, nil
	}
	k, err := keep()
	if err != nil {
		return nil, fmt.Errorf("start munged: %w", err)
	}
	c, err := start(ctx, k, config)
	if err != nil {
		return nil, fmt.Errorf("start the Slurm cluster %s: %w", name, err)
	}
	if shared.clusters == nil {
		shared.clusters = make(map[string]*Cluster)
	}
	shared.clusters[name] = c
	return c, nil
}

// start tries a few times: a program that claims no ports may have taken one.
func start(ctx context.Context, k *keeper, config Config) (*Cluster, error) {
	var errs []error
	for range 4 {
		c, err := try(ctx, k, config.filled())
		if err == nil {
			return c, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func try(ctx context.Context, k *keeper, config Config) (*Cluster, error) {
	dir, err := os.MkdirTemp(k.dir, "c")
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Name: filepath.Base(dir), Conf: filepath.Join(dir, "slurm.conf"),
		dir: dir, keeper: k, nodes: make(map[string]*daemon),
	}
	if c.guard, err = newGuard(dir); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := c.bring(ctx, config); err != nil {
		err = fmt.Errorf("%w; its log ends with:\n%s", err, c.log())
		c.close()
		return nil, err
	}
	return c, nil
}

// bring writes the files, and starts everything.
func (c *Cluster) bring(ctx context.Context, config Config) error {
	var err error
	if c.ports, err = claimPorts(1 + config.count()); err != nil {
		return err
	}
	text, err := config.text(c.dir, c.Name, c.keeper.socket(), c.ports)
	if err != nil {
		return err
	}
	for _, sub := range []string{".", "state", "spool"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(c.dir, sub), 0o755), os.Chmod(filepath.Join(c.dir, sub), 0o755)); err != nil {
			return err
		}
	}
	if config.Gres != "" {
		if err := os.WriteFile(filepath.Join(c.dir, "gres.conf"), []byte(config.Gres), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.Conf, []byte(text), 0o644); err != nil {
		return err
	}
	if c.controller, err = startDaemon("slurmctld", "-D", "-f", c.Conf); err != nil {
		return err
	}
	for i := range config.count() {
		if err := c.startNode(fmt.Sprintf("node%02d", i+1)); err != nil {
			return err
		}
	}
	return c.awaitIdle(ctx)
}

func (c *Cluster) startNode(name string) error {
	if err := os.MkdirAll(filepath.Join(c.dir, "spool", name), 0o755); err != nil {
		return err
	}
	d, err := startDaemon("slurmd", "-D", "-f", c.Conf, "-N", name)
	if err == nil {
		c.nodes[name] = d
	}
	return err
}

// awaitIdle waits until all nodes are idle.
func (c *Cluster) awaitIdle(ctx context.Context) error {
	said := ""
	err := c.controller.await("all nodes are idle", func() bool {
		out, _ := c.Command(ctx, "sinfo", "-h", "-o", "%T").CombinedOutput()
		said = strings.TrimSpace(string(out))
		return said == "idle"
	})
	if err != nil {
		return fmt.Errorf("%w; sinfo says %q", err, said)
	}
	return nil
}

// log is the end of the log of the controller.
func (c *Cluster) log() string {
	text, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

func (c *Cluster) close() {
	c.guard.close()
	if c.controller != nil {
		<-c.controller.ended
	}
	for _, d := range c.nodes {
		<-d.ended
	}
	closePorts(c.ports)
}

// Environment is what a command needs to speak to this cluster.
func (c *Cluster) Environment() []string { return []string{"SLURM_CONF=" + c.Conf} }

// Command is a command of Slurm, as the cluster's operator.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, err := find(name)
	if err != nil {
		path = name // Run will say it
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append([]string{"PATH=" + searched, "LC_ALL=C", "TZ=UTC", "HOME=/"}, c.Environment()...)
	cmd.Dir = c.dir
	cmd.WaitDelay = time.Second
	return cmd
}

// Run runs a command as the operator, and gives what it printed.
func (c *Cluster) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := c.Do(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
