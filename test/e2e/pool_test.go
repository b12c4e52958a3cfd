package e2e

import (
	"context"
	"fmt"
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

// desktops makes a site a pool that does not trust some computers, and starts its daemon.
func desktops(t *testing.T, dir string, untrusted ...string) *cluster.Site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	s := newSite(t, dir, "desks", cluster.Options{Batch: "pool", Agents: l.Addr().String()})
	text, err := os.ReadFile(s.Config())
	must(t, err)
	quick := strings.NewReplacer("  # interval: 30s\n", "  interval: 1s\n", "  # silence: 10m\n", "  silence: 10s\n",
		"  # untrusted: []\n", fmt.Sprintf("  untrusted: [%s]\n", strings.Join(untrusted, ", "))).Replace(string(text))
	must(t, os.WriteFile(s.Config(), []byte(quick), 0o600))
	start(t, s)
	return s
}

// desk is a computer of a pool: its agent, as a process of its own.
type desk struct {
	t    *testing.T
	name string
	home string
	args []string
	cmd  *exec.Cmd // nil while none runs
}

// newDesk joins a computer to a pool and starts its agent.
func newDesk(t *testing.T, s *cluster.Site, dir, name string, args ...string) *desk {
	t.Helper()
	d := &desk{t: t, name: name, home: filepath.Join(dir, name)}
	d.args = append([]string{"run", "--dir", d.home, "--cores", "1", "--account", printed(t, "id", "-un"), "--owner-file", d.owner()}, args...)
	printed(t, programs.Agent, "join", "--dir", d.home, "--name", name, printed(t, programs.Gbroker, "pool", "invite", "--config", s.Config()))
	t.Cleanup(func() { d.end(syscall.SIGTERM) })
	d.start()
	return d
}

func (d *desk) owner() string { return filepath.Join(d.home, "owner") }

func (d *desk) start() {
	d.t.Helper()
	log, err := os.OpenFile(d.home+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(d.t, err)
	defer log.Close()
	d.cmd = exec.Command(programs.Agent, d.args...)
	d.cmd.Stderr = log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(d.t, d.cmd.Start())
}

// end ends the agent by a signal; what it ran ends with it.
func (d *desk) end(by syscall.Signal) {
	if d.cmd == nil {
		return
	}
	d.cmd.Process.Signal(by)
	d.cmd.Wait()
	d.cmd = nil
	if cluster.Until(context.Background(), 30*time.Second, func() bool { return len(cluster.Leftovers(d.home)) == 0 }) != nil {
		d.t.Errorf("the agent of %s has ended, and these have not: %v", d.name, cluster.Leftovers(d.home))
	}
}

// printed runs a command and gives what it printed.
func printed(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// within is the deadline after a span from now, for a document.
func within(span time.Duration) string {
	return "<gb:Deadline>" + time.Now().Add(span).UTC().Format(time.RFC3339) + "</gb:Deadline>"
}

// A user of a pool is told at once that a deadline cannot be met there, when it could be, and of a job that runs, when it is foreseen to end.
func TestDeadlineAtAPool(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := desktops(t, dir)
	d := newDesk(t, s, dir, "desk1", "--speed", "1")
	list := func(what ...string) string {
		return printed(t, programs.Gbroker, append([]string{"pool", what[0], "--config", s.Config()}, what[1:]...)...)
	}
	eventually(t, "the computer takes jobs", func() bool { return strings.Contains(list("list"), "free") })
	if out := list("forecast", "desk1"); strings.Count(out, "0.50") != 7*24 {
		t.Errorf("of a computer that was never seen half is presumed, in each hour of the week: %s", out)
	}
	eventually(t, "the site tells its groups", func() bool {
		return regexp.MustCompile(`"groups": \[\s*\{[^}]*"cores": 1,[^}]*"computers": 1,\s*"free": 1,`).MatchString(client(t, s, "sites", "--json"))
	})
	late := work{script: "true", walltime: 3600, terms: within(90 * time.Minute)}
	r := s.Client(t.Context(), "submit", late.write(t, dir, "late"))
	if r.Code == 0 || !strings.Contains(r.Stderr, "it would end after its deadline (asked ") || !strings.Contains(r.Stderr, "available ") {
		t.Errorf("an hour of work on half a computer, in one and a half: exit code %d, %s", r.Code, r.Stderr)
	}
	id := work{script: "true", walltime: 3600, terms: within(3 * time.Hour)}.submit(t, s, dir, "good")
	exits(t, s, id, 0)
	text := client(t, s, "explain", id)
	if !regexp.MustCompile(`(?m)^\S*\s*desks\s.*\s(2h|7200|2:00:00)`).MatchString(text) {
		t.Errorf("the run that was foreseen is not told:\n%s", text)
	}
	sleeps(t, s, d, dir, list)
	newDesk(t, s, dir, "desk2", "--speed", "1")
	isCut(t, s, dir)
}

// isCut hands in a range that neither of two computers does in time, and both together do: each gets half of it.
func isCut(t *testing.T, s *cluster.Site, dir string) {
	t.Helper()
	eventually(t, "the site tells of both computers", func() bool {
		return regexp.MustCompile(`"computers": 2,`).MatchString(client(t, s, "sites", "--json"))
	})
	job := work{script: "seq $RANGE_FIRST $RANGE_LAST", walltime: 2 * 3600, output: "out", terms: within(150 * time.Minute)}
	r := s.Client(t.Context(), "submit", "--range", "1-10", job.write(t, dir, "cannot"))
	if r.Code != 1 || !strings.Contains(r.Stderr, "(2 places for such a job) would do 8 of its 10 numbers") {
		t.Errorf("exit code %d, %s", r.Code, r.Stderr)
	}
	job.terms = within(200 * time.Minute)
	out := filepath.Join(dir, "cut")
	if r = s.Client(t.Context(), "submit", "--range", "1-10", "--output", out, job.write(t, dir, "both")); r.Code != 0 || !strings.Contains(r.Stderr, "1-10 in 2 parts, by what pools foresee of 2 places") {
		t.Fatalf("exit code %d, %s", r.Code, r.Stderr)
	}
	var all []string
	for _, n := range []string{"1", "2"} {
		text, err := os.ReadFile(filepath.Join(out, n, "out"))
		must(t, err)
		all = append(all, strings.Fields(string(text))...)
	}
	if got := strings.Join(all, " "); got != "1 2 3 4 5 6 7 8 9 10" {
		t.Errorf("the parts did %s", got)
	}
}

// sleeps has the owner of the only computer say pause: who asks then hears that nothing is sure, and why.
func sleeps(t *testing.T, s *cluster.Site, d *desk, dir string, list func(...string) string) {
	t.Helper()
	const why = "paused by its owner"
	must(t, os.WriteFile(d.owner(), []byte("paused"), 0o600))
	eventually(t, "the pool shows the pause", func() bool { return strings.Contains(list("list"), why) })
	job := work{script: "true", walltime: 60}
	if out := client(t, s, "where", job.write(t, dir, "asks")); !strings.Contains(out, "desks is not sure: ") || !strings.Contains(out, why) {
		t.Errorf("where says no word of it:\n%s", out)
	}
	id := job.submit(t, s, dir, "sleeps")
	eventually(t, "the job says why it waits", func() bool { return strings.Contains(client(t, s, "status", id), why) })
	must(t, os.Remove(d.owner()))
	exits(t, s, id, 0)
}
