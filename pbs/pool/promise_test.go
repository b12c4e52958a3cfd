package pool_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// site is a pool that runs, in the hands of one test.
type site struct {
	*testing.T
	*pool.System
	fleet *fleet
	conf  pool.Config
	stop  func()
}

func newSite(t *testing.T, nodes ...plan.Node) *site {
	return newSiteOf(t, newFleet(t, nodes))
}

// newSiteOf is the pool of a fleet.
func newSiteOf(t *testing.T, f *fleet) *site {
	s := &site{T: t, fleet: f, conf: f.config(filepath.Join(f.dir, "spool"))}
	s.conf.Site = grid.Site{Name: "here", Speed: 1, Architecture: "x86_64", System: "LINUX", Processes: len(f.nodes)}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *site) start() {
	s.Helper()
	s.System = s.fleet.open(s, s.conf)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func(p *pool.System) { done <- p.Run(ctx) }(s.System)
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("Run: %v", err)
		}
		s.stop = func() {}
	}
	s.until("it listens", func() bool {
		c, err := net.Dial("tcp", s.conf.Listen)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	s.until("all computers are there", s.fleet.ready)
}

func (s *site) until(what string, is func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(30 * time.Second); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			s.Fatalf("it never comes that %s", what)
		}
	}
}

// submit hands in a script.
func (s *site) submit(script string, change func(*grid.Submission)) grid.Submission {
	s.Helper()
	j := s.draft(script, change)
	if _, err := s.Submit(s.Context(), j); err != nil {
		s.Fatal(err)
	}
	return j
}

// draft is a script with its folders, to be handed in.
func (s *site) draft(script string, change func(*grid.Submission)) grid.Submission {
	s.Helper()
	id := grid.NewJobID("here", fmt.Sprintf("%026d", time.Now().UnixNano()))
	dir := s.TempDir()
	j := grid.Submission{
		ID:   grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 1},
		Work: filepath.Join(dir, "work"), Control: filepath.Join(dir, "ctl"), Limit: grid.Hour, Expected: grid.Hour,
	}
	j.Job = grid.Job{
		ID: id, User: grid.User{Name: "anna"}, Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}},
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
	if change != nil {
		change(&j)
	}
	for _, d := range []string{j.Work, j.Control} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			s.Fatal(err)
		}
	}
	return j
}

func (s *site) end(j grid.Submission) (p grid.Progress) {
	s.Helper()
	s.until("the job ends", func() bool {
		var err error
		if p, err = s.Progress(s.Context(), j.ID, j.Control); err != nil {
			s.Fatal(err)
		}
		return p.Phase == grid.Ended
	})
	return p
}

// at is a file of a job at its computer.
func (s *site) at(j grid.Submission, name string) string {
	return filepath.Join(s.fleet.job(j.ID), "work", name)
}

func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// process is the one whose number stands in a file of a job.
func (s *site) process(j grid.Submission, name string) control.Process {
	s.Helper()
	s.until("the program writes "+name, func() bool { return there(s.at(j, name)) })
	data, err := os.ReadFile(s.at(j, name))
	if err != nil {
		s.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		s.Fatal(err)
	}
	p, err := control.Describe(pid)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// computer is the one that has a job.
func (s *site) computer(j grid.Submission) grid.NodeName {
	return grid.NodeName(filepath.Base(filepath.Dir(filepath.Dir(s.fleet.job(j.ID)))))
}

// lives writes its number, once it is whole, and goes on until it is told.
const lives = `echo $$ > p; mv p pid; while [ ! -e go ]; do sleep 0.05; done; echo done > out`

// halted tells that a process is stopped, or will be before it does anything more: it stands in a frozen control group, or waits for one that it has made by
// vfork and that was stopped before its exec; neither is left as long as a stop is to come.
func halted(pid int) bool {
	stat, err := control.ReadStat(pid)
	if err != nil || stat.State == 'T' || stat.State == 'R' {
		return err == nil && stat.State == 'T'
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var pending uint64
	for line := range strings.Lines(string(status)) {
		if bits, is := strings.CutPrefix(line, "ShdPnd:"); is {
			pending, _ = strconv.ParseUint(strings.TrimSpace(bits), 16, 64)
		}
	}
	return pending&(1<<(syscall.SIGSTOP-1)) != 0
}

// While the owner is at work all processes of a job are stopped, within a second; they go on afterwards.
func TestOwnerFirst(t *testing.T) {
	t.Parallel()
	for name, loose := range map[string]bool{"in a control group": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, []plan.Node{{Name: "a", Cores: 1}})
			f.loose = loose
			ownerFirst(t, newSiteOf(t, f))
		})
	}
}

func ownerFirst(t *testing.T, s *site) {
	j := s.submit(`(setsid sh -c 'echo $$ > c; mv c child; while :; do sleep 0.02; done' &); `+lives, nil)
	all := []control.Process{s.process(j, "pid"), s.process(j, "child")}
	stopped := func() bool {
		for _, p := range all {
			if !halted(p.PID) {
				return false
			}
		}
		return true
	}
	if err := s.fleet.owner("a", "active"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s.until("all of it is stopped", stopped)
	t.Logf("stopped after %v", time.Since(begun).Round(time.Millisecond))
	s.until("the computer takes no job", func() bool { return !s.fleet.ready() })
	if err := s.fleet.owner("a", "free"); err != nil {
		t.Fatal(err)
	}
	s.until("it goes on", func() bool { return !stopped() })
	if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 || !there(filepath.Join(j.Work, "out")) {
		t.Errorf("it ended %+v", p)
	}
}

// An agent that is killed leaves no process. A job that may run twice ends elsewhere, from its checkpoint;
// another is lost, with the reason.
func TestAgentIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 2}, plan.Node{Name: "b", Cores: 2})
	onA := func(rerunnable bool) func(*grid.Submission) {
		return func(j *grid.Submission) {
			j.Job.Rerunnable = rerunnable
			j.Job.Demand.Hosts = []string{"a"}
			if rerunnable {
				j.Job.Demand.Hosts = nil
				j.Job.Program.Environment = []grid.Variable{{Name: pool.Checkpoint, Value: "state"}}
			}
		}
	}
	once := s.submit(lives, onA(false))
	twice := s.submit(`if [ -e state ]; then cp state out; exit 0; fi; echo half > state; `+lives, onA(true))
	all := []control.Process{s.process(once, "pid"), s.process(twice, "pid")}
	s.until("the checkpoint is at the pool", func() bool { return there(filepath.Join(twice.Work, "state")) })
	victims := map[grid.NodeName]bool{s.computer(once): true, s.computer(twice): true}
	for n := range victims {
		if err := s.fleet.crash(n); err != nil {
			t.Fatal(err)
		}
	}
	s.until("nothing of them runs", func() bool {
		for _, p := range all {
			if alive, err := p.Alive(); alive || err != nil {
				return false
			}
		}
		return true
	})
	for n := range victims {
		if err := s.fleet.revive(n); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.end(once); p.Cause != grid.CutOff || p.Detail == "" {
		t.Errorf("what may not run twice ended %+v", p)
	}
	if p := s.end(twice); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("what may run twice ended %+v", p)
	}
	if data, err := os.ReadFile(filepath.Join(twice.Work, "out")); err != nil || string(data) != "half\n" {
		t.Errorf("it did not go on from its checkpoint: %q, %v", data, err)
	}
}

// A pool that has lost its database, but not its identity, is found again by its computers, and what they
// run comes to its end.
func TestPoolLosesItsDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(lives, nil)
	s.process(j, "pid")
	s.until("the pool knows that it runs", func() bool {
		_, ran, err := control.ReadRun(j.Control, j.ID)
		return ran && err == nil
	})
	s.stop()
	for _, lost := range []string{"jobs", "computers", "codes"} {
		if err := os.RemoveAll(filepath.Join(s.conf.Spool, lost)); err != nil {
			t.Fatal(err)
		}
	}
	system, err := pool.New(s.conf)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := system.Progress(t.Context(), j.ID, j.Control); err != nil || p.Phase != grid.Started { // as the broker asks
		t.Fatalf("it is %s, %v", p.Phase, err)
	}
	s.start()
	if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 || !there(filepath.Join(j.Work, "out")) {
		t.Errorf("it ended %+v", p)
	}
}

// A stranger gets nothing, a code is good once, and a computer trusts nobody but the pool of its code.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	j := s.submit(lives, nil)
	s.process(j, "pid")
	for _, path := range []string{line.RegisterPath, line.ConnectPath, line.ReportPath, line.OrdersPath, line.JobsPath + j.ID.Tag() + "/start"} {
		got, err := stranger.Post("https://"+s.conf.Listen+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("%s answers a stranger with %s", path, got.Status)
		}
	}
	if err := agent.Join(t.Context(), t.TempDir(), "b", s.fleet.codes["a"]); err == nil {
		t.Error("a code is good twice")
	}
	code, err := pool.Invite(s.conf, time.Now().Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Join(t.Context(), t.TempDir(), "b", code.String()); err == nil {
		t.Error("a code is good after its time")
	}
	if code, err = pool.Invite(s.conf, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	other := code
	other.Fingerprint[0] ^= 1
	if err := agent.Join(t.Context(), t.TempDir(), "b", other.String()); err == nil || !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("a computer joins a pool that is not the one of its code: %v", err)
	}
	dir := t.TempDir()
	if err := agent.Join(t.Context(), dir, "b", code.String()); err != nil {
		t.Fatal(err)
	}
	// Another computer of the pool sees nothing of the job.
	id, err := line.LoadIdentity(filepath.Join(dir, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	b := &http.Client{Transport: &http.Transport{TLSClientConfig: line.Client(code.Fingerprint, id)}}
	got, err := b.Get("https://" + s.conf.Listen + line.JobsPath + j.ID.Tag() + "/files")
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("another computer is answered %s about a job that is not its own", got.Status)
	}
	if err := pool.Revoke(s.conf.Spool, "b"); err != nil {
		t.Fatal(err)
	}
	if got, err = b.Post("https://"+s.conf.Listen+line.ReportPath, "application/json", strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("a computer that was removed is answered %s", got.Status)
	}
	if err := s.Kill(t.Context(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	s.end(j)
}
