package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
	"gbroker/plan"

	"go.uber.org/zap"
)

// agentCommand makes this test's own binary an agent.
const agentCommand = "agent-of-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == agentCommand {
		if err := beAgent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == poolCommand {
		if err := bePool(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// station is what an agent process of a test is told, by its environment.
type station struct {
	Dir, Name, Code string
	Computer        line.Computer
	Apart           bool
	Grouped         bool
	Inside          bool
}

const stationVariable = "GBROKER_TEST_STATION"

func beAgent() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var s station
	if err := json.Unmarshal([]byte(os.Getenv(stationVariable)), &s); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(s.Dir, "pool.json")); err == nil {
			break
		}
		if err := agent.Join(ctx, s.Dir, s.Name, s.Code); err != nil {
			fmt.Fprintln(os.Stderr, s.Name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runner, err := agent.NewRunner(agent.Linux{Supervisor: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "supervise"}, Apart: s.Apart, Grouped: s.Grouped, Inside: s.Inside})
	if err != nil {
		return err
	}
	log := zap.NewNop()
	if os.Getenv("GBROKER_TEST_LOG") != "" {
		if log, err = zap.NewDevelopment(); err != nil {
			return err
		}
	}
	a, err := agent.New(agent.Config{
		Dir: s.Dir, Computer: s.Computer, Disk: s.Computer.Disk, Look: 100 * time.Millisecond, Patience: 500 * time.Millisecond, Runner: runner,
		Owner: agent.Scripted(filepath.Join(s.Dir, "owner")), Logger: log.Named(s.Name),
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// fleet is a pool of this machine: its agents are processes.
type fleet struct {
	t      testing.TB
	dir    string
	listen string
	nodes  []plan.Node
	loose  bool // jobs have no control groups, also where the system has some
	wide   bool // they may write outside their sandboxes, also where the system has Landlock

	mu     sync.Mutex
	agents map[string]*exec.Cmd
	codes  map[string]string
	system *pool.System
}

func newFleet(t testing.TB, nodes []plan.Node) *fleet {
	dir, err := os.MkdirTemp("", "pooltest")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f := &fleet{t: t, dir: dir, listen: l.Addr().String(), nodes: nodes, agents: map[string]*exec.Cmd{}, codes: map[string]string{}}
	t.Cleanup(f.end)
	return f
}

func (f *fleet) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.agents {
		f.awaitEmpty(name)
	}
	for _, a := range f.agents {
		a.Process.Signal(syscall.SIGTERM)
		a.Wait()
	}
	if err := os.RemoveAll(f.dir); err != nil {
		f.t.Error(err)
	}
}

// awaitEmpty waits until a computer has no folder of a job: it removes one a moment after the pool has heard the end.
func (f *fleet) awaitEmpty(name string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		left, _ := filepath.Glob(filepath.Join(f.dir, name, "jobs", "*"))
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.t.Errorf("computer %s still holds %v", name, left)
			return
		}
	}
}

func (f *fleet) config(spool string) pool.Config {
	log := zap.NewNop()
	if os.Getenv("GBROKER_TEST_LOG") != "" {
		log, _ = zap.NewDevelopment()
	}
	return pool.Config{
		Spool: spool, Listen: f.listen, Policy: plan.Policy{Kind: plan.EASY}, Logger: log,
		Interval: 250 * time.Millisecond, Poll: 20 * time.Second,
	}
}

// open opens the pool, and the first time starts its agents.
func (f *fleet) open(t testing.TB, config pool.Config) *pool.System {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		name := string(n.Name)
		if f.agents[name] != nil {
			continue
		}
		code, err := pool.Invite(config, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		f.codes[name] = code.String()
		f.launch(n)
	}
	system, err := pool.New(config)
	if err != nil {
		t.Fatal(err)
	}
	f.system = system
	return system
}

// launch starts the agent of a node; f.mu is held.
func (f *fleet) launch(n plan.Node) {
	s := station{
		Dir: f.folder(n.Name), Name: string(n.Name), Code: f.codes[string(n.Name)], Grouped: !f.loose, Inside: !f.wide,
		Computer: line.Computer{
			Architecture: "x86_64", System: "LINUX", Cores: n.Cores, Memory: n.Memory, Disk: 1 << 40, Speed: max(n.Speed, 0.001),
			Properties: n.Properties, Resources: map[string]int64{},
		},
	}
	if n.Speed == 0 {
		s.Computer.Speed = 1
	}
	for _, r := range n.Resources {
		s.Computer.Resources[r.Name] = r.Amount
	}
	data, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(self, agentCommand)
	cmd.Env = append(os.Environ(), stationVariable+"="+string(data), "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.agents[s.Name] = cmd
}

func (f *fleet) folder(n grid.NodeName) string { return filepath.Join(f.dir, string(n)) }

// ready tells that all computers may get jobs.
func (f *fleet) ready() bool {
	f.mu.Lock()
	system := f.system
	f.mu.Unlock()
	shot, err := system.Snapshot(context.Background())
	up := 0
	for _, n := range shot.Nodes {
		if !n.Down {
			up++
		}
	}
	return err == nil && up == len(f.nodes)
}

// job is the folder of an attempt at the computer that has it.
func (f *fleet) job(at grid.AttemptID) string {
	all, _ := filepath.Glob(filepath.Join(f.dir, "*", "jobs", at.Tag()))
	if len(all) == 0 {
		return filepath.Join(f.dir, string(f.nodes[0].Name), "jobs", at.Tag())
	}
	return all[0]
}

// crash kills an agent, and what the kernel kills with it.
func (f *fleet) crash(n grid.NodeName) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.agents[string(n)]
	err := a.Process.Kill()
	a.Wait()
	return err
}

func (f *fleet) revive(n grid.NodeName) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range f.nodes {
		if node.Name == n && f.agents[string(n)].ProcessState != nil {
			f.launch(node)
		}
	}
	return nil
}

func (f *fleet) owner(n grid.NodeName, does string) error {
	name := filepath.Join(f.folder(n), "owner")
	if err := os.WriteFile(name+".tmp", []byte(does), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// kind is the pool as the suite knows it.
func kind() pbstest.Kind {
	return pbstest.Kind{
		Name: "pool", Told: true, Supervised: true, Narrow: true, Ages: true, MemoryLimits: true, HostFile: true, Rounds: 20, Least: 1, Lasting: true,
		Patience: time.Minute,
		Take: func(t testing.TB, nodes []plan.Node) pbstest.Bench {
			f := newFleet(t, nodes)
			f.wide = true // the jobs of the suite note in a common folder when they run
			return pbstest.Bench{
				Nodes: nodes, Ready: f.ready,
				Private: func(at grid.AttemptID) string { return filepath.Join(f.job(at), "work") },
				Supervisor: func(at grid.AttemptID, _ string) (control.Process, error) {
					token, taken, err := control.ReadToken(filepath.Join(f.job(at), "ctl"), at)
					if !taken && err == nil {
						err = fmt.Errorf("nobody supervises %s", at)
					}
					return token.Process, err
				},
				Hand: pbstest.Hand{
					Crash:   f.crash,
					Revive:  f.revive,
					Drain:   func(n grid.NodeName) error { return f.owner(n, "paused") },
					Undrain: func(n grid.NodeName) error { return f.owner(n, "free") },
				},
				Open: func(t testing.TB, s pbstest.Setup) pbs.System {
					c := f.config(s.Spool)
					c.Site, c.Grace, c.Changed = s.Site, s.Grace, s.Changed
					return f.open(t, c)
				},
			}
		},
	}
}

func TestSuite(t *testing.T) {
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	pbstest.Run(t, kind())
}
