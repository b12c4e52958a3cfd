package pbstest

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// part makes a job the part of a co-allocated one.
func (s *site) part(j grid.Submission, change func(*grid.Part)) grid.Submission {
	s.Helper()
	s.need(!s.kind.Narrow, "it takes no part of a co-allocated job")
	j.Job.Part = &grid.Part{
		Of: "home.01ABCDEFGHJKMNPQRSTVWXYZ00", Round: 1,
		Sites: []grid.PartSite{{Name: "here", Processes: j.Job.Demand.Processes()}, {Name: "there", Processes: 1}},
		Start: control.Now(), Grace: 10 * minute, Within: minute,
	}
	if change != nil {
		change(j.Job.Part)
	}
	return j
}

// arrive waits until a part has arrived.
func (s *site) arrive(j grid.Submission) grid.Progress {
	s.Helper()
	var p grid.Progress
	s.until("the part arrives", func() bool {
		p = s.progress(j)
		return p.Arrived
	})
	return p
}

func (s *site) gather(j grid.Submission, begun bool, p grid.Progress) {
	s.Helper()
	sites := []grid.Gathered{{Site: "here", Hosts: p.Hosts, Address: p.Address}, {Site: "there", Hosts: []string{"m1:1"}, Address: "m1:20001"}}
	s.did("telling a part", control.Gather(j.Control, j.ID, begun, sites))
}

// A part that has its nodes says so, and waits there: it counts as waiting, over a restart too, until
// all have arrived. Then it runs, and knows of the others.
func testBarrier(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.shell(`date +%s%3N > began; echo "$GBROKER_SITES/$GBROKER_SITE_RANK/$GBROKER_RENDEZVOUS"; cat "$GBROKER_SITES_HOSTFILE"; ` + untilGo)
	j.Job.Demand = cores(2)
	j = s.submit(s.part(j, nil))
	p := s.arrive(j)
	if p.Phase != grid.Waiting || len(p.Hosts) == 0 || !strings.Contains(p.Address, ":") {
		t.Errorf("it has arrived as %+v", p)
	}
	s.restart()
	s.until("it is known again", func() bool { return s.progress(j).Phase == grid.Waiting })
	time.Sleep(time.Second) //house:allow sleep: whoever waits there may have died of the restart, or another come, which has no event
	if again := s.progress(j); again.Phase != grid.Waiting || !again.Arrived || again.Address != p.Address {
		t.Errorf("after a restart it is %+v", again)
	}
	if s.exists(j, "began") {
		t.Fatal("its program runs before all have arrived")
	}
	said := grid.InstantOf(time.Now())
	for range 2 {
		s.gather(j, false, p)
	}
	s.awaitFile(j, "up")
	began, err := strconv.ParseInt(strings.TrimSpace(s.read(j, "began")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ms from go to the program", grid.Tick(began)-said)
	s.gather(j, true, p)
	s.release(j)
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 || !p.Arrived || p.Started < said-s.fuzz() {
		t.Errorf("ended %+v", p)
	}
	want := "here there/0/" + p.Address + "\n"
	for _, h := range p.Hosts {
		node, n, err := grid.ParseHost(h)
		if err != nil {
			t.Fatal(err)
		}
		want += strings.Repeat(node+" here\n", n)
	}
	if got := s.read(j, "stdout"); got != want+"m1 there\n" {
		t.Errorf("it was told %q, and not %q", got, want)
	}
}

// A part that starts a parallel program by its own site's mpirun is told of the others too, and where all may meet.
func testBarrierParallel(t *testing.T, k Kind) {
	s := newSite(t, k)
	_, err := os.Stat("/usr/bin/mpirun.mpich")
	s.need(err == nil, "there is no mpirun.mpich (Debian: mpich)")
	j := s.job(grid.Program{Executable: "/bin/sh", Parallel: "MPICH", Arguments: []string{"-c",
		`[ "$PMI_RANK" -ne 0 ] || { echo "$PMI_SIZE $GBROKER_SITES/$GBROKER_SITE_RANK/$GBROKER_RENDEZVOUS"; cat "$GBROKER_SITES_HOSTFILE"; }`}})
	j.Job.Demand = cores(2)
	j = s.submit(s.part(j, func(p *grid.Part) {
		p.Rank, p.Sites = 1, []grid.PartSite{{Name: "there", Processes: 1}, {Name: "here", Processes: 2}}
	}))
	p := s.arrive(j)
	if p.Address != "" || !strings.Contains(p.Rendezvous, ":") {
		t.Errorf("a program of MPI that stays within its site has arrived as %+v", p)
	}
	sites := []grid.Gathered{{Site: "there", Hosts: []string{"m1:1"}, Rendezvous: "m1:20001"}, {Site: "here", Hosts: p.Hosts, Rendezvous: p.Rendezvous}}
	s.did("telling a part", control.Gather(j.Control, j.ID, false, sites))
	s.did("telling a part", control.Gather(j.Control, j.ID, true, nil))
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("ended %+v", p)
	}
	if got := s.read(j, "stdout"); !strings.HasPrefix(got, "2 there here/1/m1:20001\nm1 there\n") || strings.Count(got, " here\n") != 2 {
		t.Errorf("it was told %q", got)
	}
}

// A part that is withdrawn at the barrier leaves it soon, and its nodes are free.
func testWithdrawAtBarrier(t *testing.T, k Kind) {
	s := newSite(t, k)
	for _, kill := range []bool{false, true} {
		j := s.submit(s.part(s.wholly(s.shell("echo ran > ran")), nil))
		p := s.arrive(j)
		begun := time.Now()
		if kill {
			s.did("Kill", s.Kill(context.Background(), j.ID, j.Control))
		} else if ok, err := s.Withdraw(context.Background(), j.ID, j.Control); !ok || err != nil {
			t.Fatalf("Withdraw at the barrier: %v, %v", ok, err)
		}
		s.gather(j, false, p) // late
		if p := s.progress(j); p.Phase != grid.Withdrawn {
			t.Errorf("it is %s", p.Phase)
		}
		s.until("its nodes are free", func() bool {
			shot := s.snapshot()
			return len(shot.Running)+len(shot.Waiting) == 0
		})
		s.end(s.submit(s.wholly(s.shell("exit 0"))))
		t.Logf("after %v its nodes had been used again", time.Since(begun).Round(time.Millisecond))
		if s.exists(j, "ran") {
			t.Error("it ran")
		}
	}
}

// A part that has begun, and is not told in time that the others have, is ended with all that it started.
func testAlone(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.part(s.shell(`(echo $$ > p; echo x > up; sleep 1000) & wait`), func(p *grid.Part) { p.Within = 2 * grid.Second })
	s.submit(j)
	s.gather(j, false, s.arrive(j))
	s.awaitFile(j, "up")
	var all []control.Process
	if k.Supervised { // a node of the others may be another machine
		all = s.processes(j, "p")
	}
	if p := s.end(j); p.Cause != grid.Alone || p.Detail == "" || p.Started == 0 {
		t.Errorf("ended %+v", p)
	}
	s.allDead(all)
}

// A part for which nobody comes leaves the barrier by itself, and has not begun.
func testForgottenAtBarrier(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.part(s.shell("echo ran > ran"), func(p *grid.Part) { p.Start, p.Grace = control.Now()-minute, 3*grid.Second }))
	p := s.end(j)
	if p.Cause != grid.NeverRan || p.Started != 0 || p.Detail == "" {
		t.Errorf("ended %+v", p)
	}
	if _, err := os.Stat(j.Control); err != nil || s.exists(j, "ran") {
		t.Errorf("it ran, or its folder is gone: %v", err)
	}
}
