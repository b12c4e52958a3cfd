package supervise

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

// A program is warned in time, all of it or its first process alone; where a shell reads its script, not that.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const both = `trap 'touch first' USR1; sh -c "trap 'touch second' USR1; touch up; while [ ! -e second ]; do sleep 0.01; done" &
while [ ! -e done ]; do sleep 0.01; done`
	for name, k := range map[string]struct {
		change        func(s *Spec)
		first, second bool
	}{
		"all":             {func(s *Spec) {}, true, true},
		"its first alone": {func(s *Spec) { s.Warning.Leader = true }, true, false},
		"but its shell":   {func(s *Spec) { s.Program.Dialect = grid.DialectSlurm }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, both, func(s *Spec) {
				s.Limit, s.Warning = 30*grid.Second, grid.Warning{Signal: int(syscall.SIGUSR1), Before: 29500}
				k.change(s)
			})
			if r.Program.Dialect != "" {
				r.Program.Executable, r.Program.Arguments = "x", nil
				if err := pbstest.WriteFile(r.Work+"/x", []byte("#!/bin/sh\n"+both+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r.start()
			r.until("it is warned", func() bool { return r.exists("first") == k.first && r.exists("second") == k.second })
			if err := os.WriteFile(r.Work+"/done", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if end := r.end(); end.Cause != grid.ByItself || r.exists("first") != k.first || r.exists("second") != k.second {
				t.Errorf("ended %+v; warned were the first %t, the second %t", end, r.exists("first"), r.exists("second"))
			}
		})
	}
}

// While a program is suspended nothing of it runs, and its time does not either; it goes on where it stopped, and may still be ended.
func TestSuspendedPrograms(t *testing.T) {
	t.Parallel()
	r := newRun(t, `sh -c 'while :; do echo >> lines; sleep 0.01; done' & sleep 1000`, func(s *Spec) { s.Limit = 700 }).start()
	r.until("it runs", func() bool { return len(r.read("lines")) > 2 })
	r.tell(Suspend)
	stopped := func() bool {
		for _, pid := range Descendants(r.cmd.Process.Pid) {
			if s, err := control.ReadStat(pid); err == nil && !s.Ended() && s.State != 'T' {
				return false
			}
		}
		return true
	}
	r.until("it is stopped", stopped)
	begun, lines := time.Now(), len(r.read("lines"))
	r.until("its limit would be over", func() bool { return time.Since(begun) > 900*time.Millisecond })
	select {
	case <-r.done:
		t.Fatalf("its time ran while it was suspended: %+v", r.end())
	default:
	}
	if !stopped() || len(r.read("lines")) != lines {
		t.Errorf("it wrote %d lines while it was suspended", len(r.read("lines"))-lines)
	}
	r.tell(Resume)
	if end := r.end(); end.Cause != grid.ByWalltime || len(r.read("lines")) == lines {
		t.Errorf("ended %+v, with %d lines more", end, len(r.read("lines"))-lines)
	}
	r = newRun(t, `touch up; sleep 1000`, nil).start()
	r.until("it runs", func() bool { return r.exists("up") })
	r.tell(Suspend)
	r.until("it is stopped", stopped)
	if err := control.AskKill(r.Control, r.ID); err != nil {
		t.Fatal(err)
	}
	r.tell(syscall.SIGTERM)
	if end := r.end(); end.Cause != grid.ByRequest {
		t.Errorf("ended %+v", end)
	}
}

// Timers of a program ring when it has run for so long, without the time between, each once.
func TestTheMeterStandsStillInBetween(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeter()
		begun := time.Now()
		short, long := m.timer(2*time.Second), m.timer(5*time.Second)
		time.Sleep(time.Second)
		m.pause()
		m.pause()
		time.Sleep(time.Minute)
		m.resume()
		m.resume()
		<-short.C
		if got := time.Since(begun); got != time.Minute+2*time.Second {
			t.Errorf("the first rings after %v", got)
		}
		time.Sleep(time.Second)
		m.pause()
		time.Sleep(time.Minute)
		m.resume()
		<-long.C
		if got := time.Since(begun); got != 2*time.Minute+5*time.Second {
			t.Errorf("the second rings after %v", got)
		}
		m.pause()
		m.resume()
		time.Sleep(time.Hour)
		if len(short.C)+len(long.C) > 0 {
			t.Error("one rings again")
		}
	})
}

func atBarrier(t *testing.T, script string, change func(s *Spec)) *run {
	t.Helper()
	r := newRun(t, script, func(s *Spec) {
		s.Ports = grid.Ports{First: 41000, Last: 41999}
		s.Part = &grid.Part{Of: s.ID.Job, Round: 1, Rank: 1, Start: control.Now(), Grace: grid.Minute, Within: grid.Minute,
			Sites: []grid.PartSite{{Name: "there", Processes: 1}, {Name: "here", Processes: 3}}}
		if change != nil {
			change(s)
		}
	})
	return r
}

// A part says that it is here, and where it may be met, and runs when all have arrived, with the hosts of all sites.
func TestAPartThatMeetsTheOthers(t *testing.T) {
	t.Parallel()
	r := atBarrier(t, `cat "$GBROKER_SITES_HOSTFILE"; echo "$GBROKER_RENDEZVOUS"`, nil).start()
	if got := r.hears(); got != Arrived {
		t.Fatalf("it says %d first: %s", got, &r.said)
	}
	a, there, err := control.ReadArrived(r.Control, r.ID)
	if err != nil || !there || !slices.Equal(a.Hosts, []string{"n1:2", "n2:1"}) || a.Process.PID != r.cmd.Process.Pid || !strings.Contains(a.Address, ":41") || a.Rendezvous != "" {
		t.Errorf("it has arrived as %+v, %t, %v", a, there, err)
	}
	sites := []grid.Gathered{{Site: "there", Hosts: []string{"m1:1"}, Address: "m1:40123"}, {Site: "here", Hosts: a.Hosts, Address: a.Address}}
	if err := control.Gather(r.Control, r.ID, false, sites); err != nil {
		t.Fatal(err)
	}
	if got := r.hears(); got != Started {
		t.Errorf("it says %d then", got)
	}
	if end := r.end(); end.Cause != grid.ByItself || r.read(grid.DefaultOutput) != "m1 there\nn1 here\nn1 here\nn2 here\n"+grid.Meeting(sites)+"\n" {
		t.Errorf("ended %+v: %q", end, r.read(grid.DefaultOutput))
	}
	r = atBarrier(t, `true`, func(s *Spec) { s.Program.Parallel = "MPI" }).start()
	r.hears()
	if a, _, err := control.ReadArrived(r.Control, r.ID); err != nil || a.Address != "" || !strings.Contains(a.Rendezvous, ":41") {
		t.Errorf("one of MPI has arrived as %+v, %v", a, err)
	}
}

// A part that hears in time that all have begun runs to its end; another ends itself.
func TestAPartIsNotAloneForLong(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} {
		r := atBarrier(t, `sleep 0.6`, func(s *Spec) { s.Part.Within = 300 }).start()
		r.hears()
		if told {
			if err := control.Gather(r.Control, r.ID, true, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := control.Gather(r.Control, r.ID, false, nil); err != nil {
			t.Fatal(err)
		}
		end := r.end()
		if told && end.Cause != grid.ByItself || !told && (end.Cause != grid.Alone || !strings.Contains(end.Detail, "within 300ms")) {
			t.Errorf("told %t, it ended %+v", told, end)
		}
	}
}

// At the barrier a part gives up, and nothing of it has run, where its token is taken, its end is wished, nobody comes, or its folder is gone.
func TestAPartThatGivesUp(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		code   int
		change func(s *Spec)
		then   func(r *run) error
	}{
		"withdrawn": {ExitTaken, nil, func(r *run) error {
			_, _, err := control.Take(r.Control, r.ID, control.Broker, control.Process{})
			return err
		}},
		"told to end":      {143, nil, func(r *run) error { return r.cmd.Process.Signal(syscall.SIGTERM) }},
		"without a folder": {ExitControl, nil, func(r *run) error { return os.RemoveAll(r.Control) }},
		"forgotten":        {ExitAlone, func(s *Spec) { s.Part.Grace = -grid.Minute + 100 }, nil},
	} {
		r := atBarrier(t, `touch ran`, k.change).start()
		if got := r.hears(); got != Arrived {
			t.Fatalf("%s: it says %d: %s", name, got, &r.said)
		}
		if k.then != nil {
			if err := k.then(r); err != nil {
				t.Fatal(err)
			}
		}
		if code := r.wait(); code != k.code || r.exists("ran") || r.hears() != 0 {
			t.Errorf("%s: %d, ran %t: %s", name, code, r.exists("ran"), &r.said)
		}
	}
}
