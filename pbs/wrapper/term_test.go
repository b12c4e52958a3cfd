package wrapper

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// The token is on disk before it appears, and its name before the program starts.
func TestTheTokenIsOnDisk(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("echo run >> ../synced"))
		log := filepath.Join(filepath.Dir(n.Work), "synced")
		n.tool("sync", `case $1 in
*/.tmp.start.*) [ -e "${1%/*}/start.1.2.3" ] || echo token ;;
*/.tmp.end.*) [ -e "${1%/*}/end.1.2.3" ] || echo end ;;
*/ctl) [ ! -e "$1/start.1.2.3" ] || echo name ;;
esac >> `+log+`; exec /bin/sync "$@"`)
		n.run()
		if got, err := os.ReadFile(log); err != nil || string(got) != "token\nname\nrun\nend\n" {
			t.Errorf("in this order: %q, %v", got, err)
		}
	})
}

// A token that cannot be linked, and is nobody's, is tried again.
func TestTheTokenIsTriedAgain(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("exit 3"))
		n.tool("ln", `case $2 in */start.*) mkdir "$2.failed" 2>/dev/null && exit 1 ;; esac; exec /bin/ln "$@"`)
		if code, said := n.run(); code != 3 {
			t.Errorf("code %d: %s", code, said)
		}
	})
}

// TERM that comes while the token is taken ends the attempt before its program.
func TestTermWithTheToken(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("echo ran > ran"))
		n.tool("sync", `case $1 in */.tmp.start.*) kill -TERM "$PPID" ;; esac; exec /bin/sync "$@"`)
		n.run()
		if end := n.end(); n.exists("ran") || end.Signal != 15 || !strings.Contains(end.Detail, "before its program was started") {
			t.Errorf("it ran: %v; ended %+v", n.exists("ran"), end)
		}
	})
}

// TERM that comes while the program is made ready may end the commands that do so too: that is no reason why it cannot be started.
// It is not started in either case.
func TestTermWhileMadeReady(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, process := range []string{"0", `"$leader"`} {
			n := newNode(t, shell, sh("echo ran > ran"))
			n.tool("awk", `case $* in *want=*) read -r _ _ _ _ _ leader _ </proc/self/stat; kill -TERM `+process+` ;; esac; exec /usr/bin/awk "$@"`)
			n.run()
			_, ran, err := control.ReadRun(n.Control, n.ID)
			if end := n.end(); err != nil || ran || end.Signal != 15 || end.Cause != grid.Disappeared {
				t.Errorf("TERM to %s: it ran: %v, %v; ended %+v", process, ran, err, end)
			}
		}
	})
}

// Wrappers of one attempt and the broker meet: exactly one has the token.
func TestRaces(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for round := range 10 {
			n := newNode(t, shell, sh("echo ran >> ran"))
			var all sync.WaitGroup
			codes := make([]int, 3)
			cmds := []*exec.Cmd{n.command(), n.command(), n.command()}
			for i, cmd := range cmds {
				all.Go(func() {
					cmd.Run()
					codes[i] = cmd.ProcessState.ExitCode()
				})
			}
			if round%2 == 0 {
				n.until("a wrapper is at work", func() bool {
					names, _ := filepath.Glob(filepath.Join(n.Control, ".tmp.start*"))
					_, taken, _ := control.ReadToken(n.Control, n.ID)
					return len(names) > 0 || taken
				})
			}
			_, held, err := control.Take(n.Control, n.ID, control.Broker, control.Process{})
			if err != nil {
				t.Fatal(err)
			}
			all.Wait()
			ran, want := "", "ran\n"
			if n.exists("ran") {
				ran = n.read("ran")
			}
			if held.Holder == control.Broker {
				want = ""
			}
			if ran != want {
				t.Errorf("round %d: the token is %v's, and it ran %q; codes %v", round, held.Holder, ran, codes)
			}
		}
	})
}

func TestTermEndsTheTree(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for name, c := range map[string]struct {
			change func(n *node)
			cause  grid.Cause
			detail string
		}{
			"by request":    {func(n *node) { control.AskKill(n.Control, n.ID) }, grid.ByRequest, "on request"},
			"by walltime":   {func(n *node) { n.Limit = 2 }, grid.ByWalltime, "its limit"},
			"by the system": {func(n *node) {}, grid.Disappeared, "not by the broker"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, shell, sh(stubborn))
				if c.cause == grid.ByWalltime {
					c.change(n)
				}
				cmd, done := n.start()
				all := n.pids()
				if c.cause == grid.ByRequest {
					c.change(n)
				}
				cmd.Process.Signal(syscall.SIGTERM)
				n.await(done)
				end := n.end()
				if end.Cause != c.cause || end.Signal != 9 || end.ExitCode != 137 || !strings.Contains(end.Detail, c.detail) || cmd.ProcessState.ExitCode() != 137 {
					t.Errorf("ended %+v, code %d", end, cmd.ProcessState.ExitCode())
				}
				n.dead(all)
			})
		}
	})
}

func TestTermIsHeeded(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for script, want := range map[string]int{
			`trap 'echo bye; exit 4' TERM; echo x > up; while :; do sleep 0.02; done`:   4,
			`trap 'echo bye; exit 127' TERM; echo x > up; while :; do sleep 0.02; done`: 127,
			`echo bye; echo x > up; kill -STOP $$; sleep 1000`:                          143,
			`echo bye; echo x > up; exec sleep 1000`:                                    143,
		} {
			n := newNode(t, shell, sh(script))
			n.Grace = 10 * time.Second
			cmd, done := n.start()
			cmd.Process.Signal(syscall.SIGTERM)
			n.await(done)
			if end := n.end(); end.Cause != grid.Disappeared || end.ExitCode != want || n.read("stdout") != "bye\n" {
				t.Errorf("%q: ended %+v with output %q", script, end, n.read("stdout"))
			}
		}
	})
}

// TERM that comes between the last look for it and the wait ends the wait all the same.
func TestTermJustBeforeTheWait(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("exec sleep 1000"))
		cmd := n.command()
		file := cmd.Args[len(cmd.Args)-1]
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const wait = "\twait \"$child\"\n\tcode="
		told := strings.Replace(string(script), wait, "\tkill -TERM $$\n"+wait, 1)
		if err := os.WriteFile(file, []byte(told), 0o700); err != nil || told == string(script) {
			t.Fatalf("the wait is not found, %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		cmd.Run()
		stop()
		if end := n.end(); end.Signal != 15 || end.Cause != grid.Disappeared {
			t.Errorf("ended %+v", end)
		}
	})
}

// Batch systems signal all processes of a job, in any order.
func TestTermToAll(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, first := range []bool{false, true} {
			n := newNode(t, shell, sh(`echo $$ > pids; echo x > up; exec sleep 1000`))
			cmd, done := n.start()
			all := n.pids()
			if err := control.AskKill(n.Control, n.ID); err != nil {
				t.Fatal(err)
			}
			if first {
				syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			} else {
				syscall.Kill(all[0].PID, syscall.SIGTERM)
			}
			n.await(done)
			if end := n.end(); end.Cause != grid.ByRequest || end.Signal != 15 {
				t.Errorf("ended %+v", end)
			}
		}
	})
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh(`sleep 1000 & echo $! > p
(setsid sh -c 'echo $$ >> p; echo x > away; exec sleep 1000' &)
while [ ! -e away ]; do sleep 0.01; done
mv p pids; echo x > up; while [ ! -e go ]; do sleep 0.01; done; exit 5`))
		_, done := n.start()
		all := n.pids()
		n.write("go", "", 0o644)
		n.await(done)
		if end := n.end(); end.ExitCode != 5 || end.Cause != grid.ByItself {
			t.Errorf("ended %+v", end)
		}
		n.dead(all)
	})
}

func TestKillAskedBefore(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("echo ran > ran"))
		if err := control.AskKill(n.Control, n.ID); err != nil {
			t.Fatal(err)
		}
		n.run()
		if end := n.end(); end.Cause != grid.ByRequest || n.exists("ran") {
			t.Errorf("ended %+v, ran %v", end, n.exists("ran"))
		}
	})
}
