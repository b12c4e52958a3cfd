package pool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// another is an agent of this process over a folder, which says that the computer is twice as fast.
func another(t *testing.T, dir string) *agent.Agent {
	t.Helper()
	runner, err := agent.NewRunner(agent.Linux{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Dir: dir, Computer: line.Computer{Architecture: "x86_64", System: "LINUX", Cores: 1, Speed: 2}, Runner: runner, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The owner sees what runs on the computer at once, however rarely it reports.
func TestOwnerSeesJobsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, []plan.Node{{Name: "a", Cores: 1}})
	s := &site{T: t, fleet: f, conf: f.config(filepath.Join(f.dir, "spool"))}
	s.conf.Site, s.conf.Interval = grid.Site{Name: "here", Speed: 1, Processes: 1}, 5*time.Minute
	s.start()
	defer func() { s.stop() }()
	is := func(state line.JobState) func() bool {
		return func() bool {
			told, err := agent.ReadState(f.folder("a"))
			if err != nil {
				s.Fatal(err)
			}
			return told.Connected && len(told.Jobs) == 1 && told.Jobs[0].State == state
		}
	}
	j := s.submit(lives, nil)
	s.until("it runs", is(line.Running))
	if err := f.owner("a", "active"); err != nil {
		t.Fatal(err)
	}
	s.until("it stands still", is(line.Suspended))
	if err := f.owner("a", "free"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.at(j, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.end(j)
}

// speed is that of a computer, as the pool has it.
func (s *site) speed(name grid.NodeName) float64 {
	s.Helper()
	shot, err := s.Snapshot(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, n := range shot.Nodes {
		if n.Name == name {
			return n.Speed
		}
	}
	return 0
}

// A folder has one agent. A second is refused, and changes nothing of what the first has said of its computer.
func TestOneAgentOfAFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	dir := s.fleet.folder("a")
	short, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := another(t, dir).Run(short); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second agent is answered %v", err)
	}
	if speed := s.speed("a"); speed != 1 {
		t.Errorf("the computer is of speed %v", speed)
	}
	if runs, err := agent.Runs(dir); !runs || err != nil {
		t.Errorf("it runs: %v, %v", runs, err)
	}
	if err := s.fleet.crash("a"); err != nil {
		t.Fatal(err)
	}
	if runs, err := agent.Runs(dir); runs || err != nil {
		t.Errorf("it was killed, and runs: %v, %v", runs, err)
	}
	if err := s.fleet.revive("a"); err != nil {
		t.Fatal(err)
	}
	s.until("it runs again", func() bool { runs, err := agent.Runs(dir); return runs && err == nil })
}

// What a session has said of a computer does not outlive it: who has the session says what the computer is. Of two agents over copies of one folder that is
// the one which stays.
func TestWhoHasTheSessionSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	copied := filepath.Join(t.TempDir(), "a")
	if err := os.CopyFS(filepath.Join(copied, "identity"), os.DirFS(filepath.Join(s.fleet.folder("a"), "identity"))); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(s.fleet.folder("a"), "pool.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(copied, "pool.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	a := another(t, copied)
	go func() { ended <- a.Run(ctx) }()
	s.until("the pool hears the other", func() bool { return s.speed("a") == 2 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.until("the pool hears the first again", func() bool { return s.speed("a") == 1 && s.fleet.ready() })
}
