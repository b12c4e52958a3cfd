package pbstest

import (
	"context"
	"reflect"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

func nowMillis() grid.Tick { return grid.InstantOf(time.Now()) }

// stubborn ignores TERM, as do its children: one in its group, one that left it by
// setsid, and one whose parent has ended. It writes all their numbers.
const stubborn = `trap '' TERM
sleep 1000 & echo $! >> p
setsid sleep 1000 & sleep 0.01; echo $! >> p
(setsid sh -c 'trap "" TERM; echo $$ >> p; echo x > away; while :; do sleep 1000; done' &)
while [ ! -e away ]; do sleep 0.01; done
echo $$ >> p; mv p pids
while :; do sleep 1000; done`

func testWalltimeEndsTheTree(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.shell(stubborn)
	j.Limit = grid.Second
	s.submit(j)
	s.awaitFile(j, "pids")
	all := s.processes(j, "pids")
	p := s.end(j)
	if p.Cause != grid.ByWalltime || p.Signal != 9 || p.ExitCode != 137 || p.Detail == "" {
		t.Errorf("ended %+v", p)
	}
	if ran := p.Finished - p.Started; ran < grid.Second || ran > 20*grid.Second {
		t.Errorf("it ran for %d ms under a limit of 1000", ran)
	}
	s.allDead(all)

	// One that heeds TERM has its grace, and its last word counts.
	s.stop()
	s.setup.Grace = s.patience
	s.start()
	j = s.shell(`trap 'echo bye; exit 4' TERM; while :; do sleep 0.02; done`)
	j.Limit = 3 * grid.Second // long enough for it to set its trap
	p = s.end(s.submit(j))
	if p.Cause != grid.ByWalltime || p.ExitCode != 4 || s.read(j, "stdout") != "bye\n" {
		t.Errorf("ended %+v with output %q", p, s.read(j, "stdout"))
	}
}

func testKillEndsTheTree(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(stubborn))
	s.awaitFile(j, "pids")
	all := s.processes(j, "pids")
	for range 3 {
		if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
			t.Fatal(err)
		}
	}
	p := s.end(j)
	if p.Cause != grid.ByRequest || p.Signal != 9 {
		t.Errorf("ended %+v", p)
	}
	s.allDead(all)
	if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
		t.Errorf("Kill after the end: %v", err)
	}
	if again := s.progress(j); !reflect.DeepEqual(again, p) {
		t.Errorf("a kill after the end changed it: %+v", again)
	}
	// A stopped program is ended too.
	j = s.submit(s.shell(`echo x > up; kill -STOP $$; sleep 1000`))
	s.awaitFile(j, "up")
	if err := s.Kill(context.Background(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByRequest {
		t.Errorf("ended %+v", p)
	}
}

// A program that ends well leaves no process behind, wherever it went.
func testNothingIsLeftBehind(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(`sleep 1000 & echo $! > p
(setsid sh -c 'echo $$ >> p; echo x > away; sleep 1000' &)
while [ ! -e away ]; do sleep 0.01; done
mv p pids; while [ ! -e go ]; do sleep 0.01; done; exit 5`))
	s.awaitFile(j, "pids")
	all := s.processes(j, "pids")
	s.write(j, "go", "", 0o644)
	if p := s.end(j); p.ExitCode != 5 || p.Cause != grid.ByItself {
		t.Errorf("ended %+v", p)
	}
	s.allDead(all)
}

// supervisor is the process that took the start token.
func (s *site) supervisor(j grid.Submission) control.Process {
	s.Helper()
	if s.bench.Supervisor != nil {
		p, err := s.bench.Supervisor(j.ID, j.Control)
		if err != nil {
			s.Fatal(err)
		}
		return p
	}
	token, taken, err := control.ReadToken(j.Control, j.ID)
	if err != nil || !taken {
		s.Fatalf("start token: %v, %v", taken, err)
	}
	return token.Process
}

func testSupervisorKilled(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(stubborn))
	s.awaitFile(j, "pids")
	s.await(j, grid.Started)
	all := s.processes(j, "pids")
	syscall.Kill(s.supervisor(j).PID, syscall.SIGKILL)
	p := s.end(j)
	if p.Cause != grid.Disappeared || p.Detail == "" || p.Started == 0 || p.Finished < p.Started {
		t.Errorf("ended %+v", p)
	}
	s.allDead(all)

	// The same while nobody watches: it is found at the restart.
	j = s.submit(s.shell(stubborn))
	s.awaitFile(j, "pids")
	s.await(j, grid.Started)
	all = s.processes(j, "pids")
	s.stop()
	syscall.Kill(s.supervisor(j).PID, syscall.SIGKILL)
	s.until("the supervisor is gone", func() bool {
		alive, err := s.supervisor(j).Alive()
		return err == nil && !alive
	})
	s.start()
	if p := s.end(j); p.Cause != grid.Disappeared {
		t.Errorf("ended %+v", p)
	}
	s.allDead(all)
	if shot, err := s.Snapshot(context.Background()); err != nil || len(shot.Running) > 0 {
		t.Errorf("vanished jobs still hold cores: %+v, %v", shot.Running, err)
	}
}

// A TERM that the broker did not ask for, as at a shutdown, is no kill by request.
func testSupervisorTerminated(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell(`echo x > up; sleep 1000`))
	s.awaitFile(j, "up")
	syscall.Kill(s.supervisor(j).PID, syscall.SIGTERM)
	if p := s.end(j); p.Cause != grid.Disappeared {
		t.Errorf("ended %+v", p)
	}
}
