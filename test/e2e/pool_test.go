package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// desktops makes a site a pool, and starts the agent of one computer of it.
func desktops(t *testing.T, dir string) *cluster.Site {
	t.Helper()
	s := newSite(t, dir, "desks", cluster.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	text, err := os.ReadFile(s.Config())
	must(t, err)
	at := strings.Index(string(text), "batch:\n")
	end := strings.Index(string(text), "# The other sites")
	pool := "batch: {system: pool, listen: " + l.Addr().String() + ", interval: 1s}\n\n"
	must(t, os.WriteFile(s.Config(), []byte(string(text[:at])+pool+string(text[end:])), 0o600))
	start(t, s)
	agent := filepath.Join(filepath.Dir(programs.Gbroker), "gbroker-agent")
	home := filepath.Join(dir, "agent")
	run := func(program string, args ...string) string {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(agent, "join", "--dir", home, "--name", "desk1", run(programs.Gbroker, "pool", "invite", "--config", s.Config()))
	a := exec.Command(agent, "run", "--dir", home, "--cores", "1", "--speed", "1", "--account", run("id", "-un"), "--owner-file", filepath.Join(home, "owner"))
	log, err := os.Create(filepath.Join(dir, "agent.log"))
	must(t, err)
	defer log.Close()
	a.Stderr = log
	a.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, a.Start())
	t.Cleanup(func() {
		a.Process.Signal(syscall.SIGTERM)
		a.Wait()
	})
	eventually(t, 30*time.Second, "the computer has joined", func() bool {
		return strings.Contains(run(programs.Gbroker, "pool", "list", "--config", s.Config()), "desk1")
	})
	if out := run(programs.Gbroker, "pool", "forecast", "--config", s.Config(), "desk1"); strings.Count(out, "0.50") != 7*24 {
		t.Errorf("of a computer that was never seen half is presumed, in each hour of the week: %s", out)
	}
	return s
}

// A user of a pool is told at once that a deadline cannot be met there, when it could be, and of a job that runs, when it is foreseen to end.
func TestDeadlineAtAPool(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := desktops(t, dir)
	by := func(span time.Duration) string {
		return "<gb:Deadline>" + time.Now().Add(span).UTC().Format(time.RFC3339) + "</gb:Deadline>"
	}
	late := work{script: "true", walltime: 3600, terms: by(90 * time.Minute)}
	r := s.Client(t.Context(), "submit", late.write(t, dir, "late"))
	if r.Code == 0 || !strings.Contains(r.Stderr, "it would end after its deadline (asked ") || !strings.Contains(r.Stderr, "available ") {
		t.Errorf("an hour of work on half a computer, in one and a half: exit code %d, %s", r.Code, r.Stderr)
	}
	id := work{script: "true", walltime: 3600, terms: by(3 * time.Hour)}.submit(t, s, dir, "good")
	exits(t, s, id, 0)
	text := client(t, s, "explain", id)
	if !regexp.MustCompile(`(?m)^\S*\s*desks\s.*\s(2h|7200|2:00:00)`).MatchString(text) {
		t.Errorf("the run that was foreseen is not told:\n%s", text)
	}
}
