package pool_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/cgroup"
	"gbroker/pbs/control"
	"gbroker/plan"
)

// flees starts a process in a session, a process group and an environment of its own, then goes on as lives does. That process makes another
// of its kind all the time, and counts in a file.
const flees = `cat > n <<'E'
echo x >> count; [ -e child ] || { echo $$ > c; mv c child; }; sh n & sleep 0.002
E
(env -i PATH="$PATH" setsid sh n &); ` + lives

// groupOf is the control group of a process.
func (s *site) groupOf(p control.Process) string {
	s.Helper()
	own, err := cgroup.Own()
	if err != nil {
		s.Skip(err)
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.PID))
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, path, is := strings.Cut(strings.TrimSpace(line), "0::"); is {
			if _, below, is := strings.Cut(path, "/gbroker/"); is {
				return filepath.Join(own, "gbroker", below)
			}
		}
	}
	s.Skipf("the agent can make no control groups: %s", data)
	return ""
}

// What a job starts stands still while the owner is there, however it has left its session and its process group, and however fast it makes others; and it ends
// with the job, also when nothing is left of who supervised it.
func TestNothingLeavesItsGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(flees, nil)
	leader := s.process(j, "pid")
	s.until("there is a child", func() bool { return there(s.at(j, "child")) })
	group := s.groupOf(leader)
	s.until("the supervisor is out of the group", func() bool {
		all, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		return err == nil && !strings.Contains("\n"+string(all), fmt.Sprintf("\n%d\n", s.supervisor(j).PID))
	})
	if err := s.fleet.owner("a", "active"); err != nil {
		t.Fatal(err)
	}
	s.until("all of it stands", func() bool {
		events, err := os.ReadFile(filepath.Join(group, "cgroup.events"))
		return err == nil && bytes.Contains(events, []byte("frozen 1"))
	})
	before := s.counted(j)
	time.Sleep(300 * time.Millisecond) //house:allow sleep: nothing is to happen in it
	if after := s.counted(j); after != before {
		t.Errorf("it counts on while the owner is there: %d, then %d", before, after)
	}
	if err := s.fleet.owner("a", "free"); err != nil {
		t.Fatal(err)
	}
	s.until("it goes on", func() bool { return s.counted(j) > before })
	if err := syscall.Kill(s.supervisor(j).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("its group is gone, with all that was in it", func() bool { return !there(group) })
	if p := s.end(j); p.Cause == grid.ByItself || p.Detail == "" {
		t.Errorf("it ended %+v", p)
	}
}

// counted is how often what flees has counted.
func (s *site) counted(j grid.Submission) int {
	data, err := os.ReadFile(s.at(j, "count"))
	if err != nil {
		s.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func (s *site) supervisor(j grid.Submission) control.Process {
	s.Helper()
	token, taken, err := control.ReadToken(filepath.Join(s.fleet.job(j.ID), "ctl"), j.ID)
	if err != nil || !taken {
		s.Fatalf("nobody supervises it: %v", err)
	}
	return token.Process
}

// A process that leaves its session, its process group and its environment, and whose parents have all ended, ends with its job: when the program ends by
// itself, and when the agent is killed; with control groups and without.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	const leaves = `(env -i PATH="$PATH" setsid sh -c '(trap "" HUP TERM INT; setsid sh -c "echo \$\$ > c; mv c child; while :; do sleep 0.1; done" &)' &); ` + lives
	for name, loose := range map[string]bool{"in a control group": false, "without": true} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the agent is killed: %v", name, killed), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, []plan.Node{{Name: "a", Cores: 1}})
				f.loose = loose
				s := newSiteOf(t, f)
				j := s.submit(leaves, nil)
				s.process(j, "pid")
				left := s.process(j, "child")
				if killed {
					if err := s.fleet.crash("a"); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				s.until("what it has left behind has ended", func() bool {
					alive, err := left.Alive()
					return !alive && err == nil
				})
				if killed {
					if err := s.fleet.revive("a"); err != nil {
						t.Fatal(err)
					}
				}
				if p := s.end(j); killed != (p.Cause == grid.CutOff) || killed == (p.Cause == grid.ByItself) {
					t.Errorf("it ended %+v", p)
				}
			})
		}
	}
}
