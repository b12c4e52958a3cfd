package pool_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// Who keeps a computer full does not keep an older job of another from it: it takes no more of that user until the other has had a turn.
func TestTurnOfEachUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 2})
	of := func(user string) func(*grid.Submission) {
		return func(j *grid.Submission) { j.Job.User.Name = user }
	}
	first := s.submit(lives, of("anna"))
	s.process(first, "pid")
	other := s.submit("exit 0", of("bert"))
	more := s.submit(lives, of("anna"))
	time.Sleep(500 * time.Millisecond) //house:allow sleep: nothing tells that a job will not begin
	if there(s.fleet.job(more.ID)) {
		t.Fatal("a younger job begins beside those of the same user, while an older one of another waits")
	}
	if err := os.WriteFile(s.at(first, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.end(first)
	s.end(other)
	s.process(more, "pid")
	if err := os.WriteFile(s.at(more, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.end(more)
}

// A computer that did not hear that it has joined joins again with the same code; nobody else does.
func TestAnswerToJoinIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	join := func(dir string) error { return agent.Join(t.Context(), dir, "desk", code.String()) }
	if err := join(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pool.json", "identity/certificate.pem"} { // as if it had not come
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := join(dir); err != nil {
		t.Errorf("it cannot join again: %v", err)
	}
	if err := join(t.TempDir()); err == nil {
		t.Error("another computer joins with the same code")
	}
	if err := pool.Revoke(s.conf.Spool, "desk"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "pool.json")); err != nil {
		t.Fatal(err)
	}
	if err := join(dir); err == nil {
		t.Error("a computer that was removed joins again")
	}
}

// A file that a computer was bringing when it lost its job does not keep who has the job now from bringing it.
func TestFileOfWhoLostTheJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.puppet("a")
	j := s.submit("true", func(j *grid.Submission) { j.Job.Rerunnable = true })
	r := a.start(j)
	read, write := io.Pipe()
	slow := make(chan int)
	go func() { slow <- a.put(r, "out", "", 4, read) }()
	if _, err := write.Write([]byte("la")); err != nil {
		t.Fatal(err)
	}
	s.until("it is on its way", func() bool {
		all, _ := filepath.Glob(filepath.Join(j.Work, ".gbroker-incoming.*"))
		return len(all) > 0
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	b := s.puppet("b")
	for ctx.Err() == nil && len(b.report().Jobs) == 0 { // until a has lost it
		a.must(line.ReportPath, line.Status{Session: a.session, Availability: line.Paused}, nil)
	}
	again := b.start(j)
	if status := b.put(again, "out", empty, 0, http.NoBody); status != http.StatusOK {
		t.Errorf("who has the job now brings the file and is answered %d", status)
	}
	write.Close()
	if status := <-slow; status == http.StatusOK {
		t.Error("who lost the job has brought the file")
	}
}

// What ends since its agent was killed was cut off, also where the agent is back before the supervisor of the job has heard of that: it once swept the
// program away first, which then counted as having ended by itself.
func TestAgentIsBackAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 12})
	var jobs []grid.Submission
	for range 12 {
		jobs = append(jobs, s.submit(lives, nil))
	}
	for _, j := range jobs {
		s.process(j, "pid")
	}
	if err := s.fleet.crash("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.fleet.revive("a"); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if p := s.end(j); p.Cause != grid.CutOff {
			t.Errorf("it ended %+v", p)
		}
	}
}
