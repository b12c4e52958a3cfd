package pool_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// restart stops the pool, lets something happen to what it keeps, and starts it.
func (s *site) restart(change func()) {
	s.Helper()
	s.stop()
	change()
	s.start()
}

// A computer that is cut off and heard again within the pool's silence has its job as before; after it the job is cut off, and what the computer
// brings then is refused.
func TestComputerIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.restart(func() { s.conf.Silence = 3 * time.Second })
	p := s.puppet("a")
	j := s.submit("true", nil)
	r := p.start(j)
	heard := time.Now()
	time.Sleep(time.Second) //house:allow sleep: the computer is cut off
	p.report(r)
	if e, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || e.Phase != grid.Started && time.Since(heard) < s.conf.Silence {
		t.Fatalf("it was silent for a second, and its job is %+v, %v", e, err)
	}
	heard = time.Now()
	if e := s.end(j); e.Cause != grid.CutOff || !strings.Contains(e.Detail, "has not been heard for 3s") || time.Since(heard) < 2*time.Second {
		t.Errorf("it ended %+v after %v", e, time.Since(heard))
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if status := p.put(r, "out", empty, 0, http.NoBody); status != http.StatusForbidden {
		t.Errorf("its output comes too late, and is answered %d", status)
	}
	if status := p.post(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.ByItself}, nil); status != http.StatusForbidden {
		t.Errorf("its end comes too late, and is answered %d", status)
	}
	if orders := p.report(r); len(orders.Jobs) != 0 {
		t.Errorf("it is still to hold %+v", orders.Jobs)
	}
}

// A computer that connects without what it was told to start has lost it: that is cut off at once. What it had no token for it is given again.
func TestComputerLosesItsFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	j := s.submit("true", nil)
	r := p.start(j)
	other := s.submit("true", nil)
	s.until("it is given another", func() bool { return len(p.report(r).Jobs) > 1 })
	p.session = line.Nonce()
	p.must(line.ConnectPath, line.Connect{Version: line.Version, Session: p.session}, nil)
	if e, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || e.Cause != grid.CutOff || !strings.Contains(e.Detail, "its computer a has lost it") {
		t.Errorf("it is %+v, %v", e, err)
	}
	s.until("it is given the other again", func() bool {
		o := p.report()
		return len(o.Jobs) == 1 && o.Jobs[0].Tag == other.ID.Tag() && o.Jobs[0].Assignment != nil
	})
}

// While the pool is down jobs go on, and what ends is kept until the pool has it.
func TestPoolIsRestarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 2})
	ends, lasts := s.submit(lives, nil), s.submit(lives, nil)
	program := s.process(ends, "pid")
	going := s.process(lasts, "pid")
	s.restart(func() {
		if err := os.WriteFile(s.at(ends, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s.until("it ends", func() bool { alive, err := program.Alive(); return !alive && err == nil })
		if _, ended, err := control.ReadEnd(ends.Control, ends.ID); ended || err != nil {
			t.Fatalf("its end is heard by a pool that is down: %v", err)
		}
	})
	if p := s.end(ends); p.Cause != grid.ByItself || p.ExitCode != 0 || !there(filepath.Join(ends.Work, "out")) {
		t.Errorf("it ended %+v", p)
	}
	if alive, err := going.Alive(); !alive || err != nil {
		t.Errorf("the other does not go on: %v", err)
	}
	if err := os.WriteFile(s.at(lasts, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := s.end(lasts); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("the other ended %+v", p)
	}
}

// Of what waited, a pool that has lost its database says that it knows nothing; its computers register again, the broker submits the job again, and it starts once.
func TestPoolLosesWhatWaited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	j := s.submit("true", nil)
	s.restart(func() {
		for _, lost := range []string{"jobs", "computers"} {
			if err := os.RemoveAll(filepath.Join(s.conf.Spool, lost)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if p, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || p.Phase != grid.Unknown {
		t.Errorf("it is %+v, %v", p, err)
	}
	if status := p.post(line.ReportPath, line.Status{Session: p.session, Availability: line.Free, Idle: 1, Speed: 1}, nil); status != http.StatusConflict {
		t.Errorf("a computer that it knows no more is answered %d", status)
	}
	p.enter()
	if _, err := s.Submit(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	r := p.start(j)
	if _, err := s.Submit(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	p.must(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.ByItself}, nil)
	if e := s.end(j); e.Cause != grid.ByItself {
		t.Errorf("it ended %+v", e)
	}
	if o := p.report(); len(o.Jobs) != 0 {
		t.Errorf("it is to run again: %+v", o.Jobs)
	}
}

// A pool that has lost its identity is another: its computers refuse it, and join by new codes.
func TestPoolLosesItsIdentity(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	s.restart(func() {
		if err := os.RemoveAll(s.conf.Spool); err != nil {
			t.Fatal(err)
		}
	})
	p.http.CloseIdleConnections()
	got, err := p.http.Post(p.base+line.ReportPath, "application/json", strings.NewReader("{}"))
	if err == nil {
		got.Body.Close()
		t.Errorf("it talks to a pool that is not its own, and is answered %s", got.Status)
	} else if !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("it refuses it, and not for its fingerprint: %v", err)
	}
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Join(t.Context(), t.TempDir(), "a", code.String()); err != nil {
		t.Errorf("a new code is no good: %v", err)
	}
}
