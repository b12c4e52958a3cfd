package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/test/cluster"
)

// waits is a program that notes its start, and ends when a file is there.
func waits(dir, name string) string {
	return fmt.Sprintf("echo start %[1]s >> %[2]s/ledger; until test -e %[2]s/go; do sleep 0.2; done; echo end %[1]s >> %[2]s/ledger; echo this was %[1]s", name, dir)
}

// ledger counts the lines that programs wrote.
func ledger(t *testing.T, dir, line string) (n int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "ledger"))
	must(t, err)
	for l := range strings.Lines(string(b)) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

// A site is killed while it runs two jobs, and its neighbour forgets it. The one that
// may not run twice is LOST, the other starts again by a new term. Then the site comes
// back with both results.
func TestForgetAndReturn(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2, More: machine("arm")})
	start(t, a, b)
	introduce(t, a, b)
	once := work{script: waits(dir, "once"), arch: "arm", output: "out.txt"}.submit(t, a, dir, "once")
	often := strings.TrimSpace(client(t, a, "submit", "--rerunnable", work{script: waits(dir, "often"), arch: "arm", output: "out.txt"}.write(t, dir, "often")))
	for _, id := range []string{once, often} {
		becomes(t, a, id, "RUNNING")
	}
	b.Kill()

	var told api.Forgotten
	dry := a.Admin(t.Context(), "forget", "--config", a.Config(), "b", "--dry-run", "--json")
	if err := json.Unmarshal([]byte(dry.Stdout), &told); err != nil || dry.Code != 0 {
		t.Fatalf("a dry run: %d %v %s", dry.Code, err, dry.Stderr)
	}
	verdicts := map[string]string{}
	for _, f := range told.Jobs {
		verdicts[string(f.ID)] = f.Verdict
	}
	if len(verdicts) != 2 || verdicts[once] != "lost" || verdicts[often] != "again" {
		t.Errorf("it would do %v", verdicts)
	}
	if r := a.Admin(t.Context(), "forget", "--config", a.Config(), "b"); r.Code != 1 || !strings.Contains(r.Stderr, "--yes") || !strings.Contains(r.Stdout, once) {
		t.Errorf("with nobody to ask: %d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	for _, id := range []string{once, often} {
		if st := status(t, a, id); st.State != "RUNNING" {
			t.Errorf("before anybody decided, %s is %s", id, st.State)
		}
	}
	if r := a.Admin(t.Context(), "forget", "--config", a.Config(), "b", "--yes"); r.Code != 0 || !strings.Contains(r.Stdout, "jobs that were decided: 2") {
		t.Fatalf("forget: %d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if st := status(t, a, once); st.State != "LOST" || !strings.Contains(st.Reason, "forgotten") {
		t.Errorf("what may not run twice is %s (%s)", st.State, st.Reason)
	}
	again := status(t, a, often)
	if term(t, again) <= 1 || again.State != "READY" {
		t.Errorf("what may is %s at %s", again.State, again.Epoch)
	}

	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)) // both end, while their daemon is down
	eventually(t, "the programs do not end", func() bool { return ledger(t, dir, "end once")+ledger(t, dir, "end often") == 2 })
	start(t, b)
	for id, name := range map[string]string{once: "once", often: "often"} {
		eventually(t, name+" does not gain its result", func() bool { return status(t, a, id).State == "COMPLETED" })
		if got := output(t, a, dir, id, "out.txt"); got != "this was "+name+"\n" {
			t.Errorf("%s left %q", name, got)
		}
		if n := ledger(t, dir, "start "+name); n != 1 {
			t.Errorf("%s was started %d times", name, n)
		}
	}
	if st := status(t, a, often); st.Epoch != again.Epoch {
		t.Errorf("the term went from %s to %s", again.Epoch, st.Epoch)
	}
	eventually(t, "b keeps what was taken over", func() bool { return !cluster.Exists(folder(b, once)) && !cluster.Exists(folder(b, often)) })
}

// term is that of a job's epoch.
func term(t *testing.T, st api.Status) int {
	t.Helper()
	text, _, _ := strings.Cut(st.Epoch, ".")
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// A user asks at a broker that is not the home of the job. It is the home that decides.
func TestAnyBrokerAnswersForAnyJob(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2, More: machine("arm")})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 2, More: machine("mips")})
	start(t, a, b, c)
	know(t, line(a, b, "--same-users"), line(b, a, "--same-users"), line(a, c), line(c, a), line(b, c), line(c, b))
	must(t, b.Sees(t.Context(), patience, "a", "c"))
	must(t, c.Sees(t.Context(), patience, "a", "b"))
	must(t, a.Sees(t.Context(), patience, "b", "c"))
	done := work{script: "echo this was done", output: "out.txt", arch: "x86_64"}.submit(t, a, dir, "done")
	exits(t, a, done, 0)
	long := work{script: waits(dir, "long"), arch: "x86_64"}.submit(t, a, dir, "long")
	becomes(t, a, long, "RUNNING")

	if st := status(t, b, done); st.State != "COMPLETED" || st.Home != "a" || st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("b says of a job of a: %+v", st)
	}
	if got := output(t, b, dir, done, "out.txt"); got != "this was done\n" {
		t.Errorf("its output, fetched at b: %q", got)
	}
	if st := status(t, b, long); st.State != "RUNNING" {
		t.Errorf("b says of a running job: %s", st.State)
	}
	if r := c.Client(t.Context(), "status", long); r.Code != 1 || !strings.Contains(r.Stderr, "another user") {
		t.Errorf("c, whose users are others: %d %s", r.Code, r.Stderr)
	}
	if r := c.Client(t.Context(), "cancel", long); r.Code != 1 {
		t.Errorf("cancelled from c: %d %s", r.Code, r.Stdout)
	}
	client(t, b, "cancel", long)
	becomes(t, a, long, "KILLED")
	becomes(t, b, long, "KILLED")
	a.Kill()
	if r := b.Client(t.Context(), "status", long); r.Code != 3 {
		t.Errorf("while the home is down: %d %s", r.Code, r.Stderr)
	}
}

// The data folder of a home is put back to what it was before a job was handed over.
// The job does not run twice, and its user gets the result.
func TestARestoredBackupRunsNothingTwice(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2, More: machine("arm")})
	start(t, a, b)
	introduce(t, a, b)
	must(t, b.Stop())
	id := work{script: waits(dir, "job"), arch: "arm", output: "out.txt"}.submit(t, a, dir, "job")
	eventually(t, "it does not wait for b", func() bool { return strings.Contains(status(t, a, id).Reason, "no site can take it now") })
	must(t, a.Stop())
	data, backup := filepath.Join(a.Dir, "data"), filepath.Join(dir, "backup")
	copyTree(t, backup, data)

	start(t, a, b)
	becomes(t, a, id, "RUNNING")
	must(t, a.Stop())
	must(t, os.RemoveAll(data))
	copyTree(t, data, backup)
	start(t, a)
	eventually(t, "a does not learn that b has the job", func() bool {
		st := status(t, a, id)
		return st.State == "RUNNING" && st.Owner == "b"
	})
	if log, err := os.ReadFile(a.Log); err != nil || !strings.Contains(string(log), "rolled back") {
		t.Errorf("the log of a does not tell its administrator: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	exits(t, a, id, 0)
	if got := output(t, a, dir, id, "out.txt"); got != "this was job\n" {
		t.Errorf("it left %q", got)
	}
	if n := ledger(t, dir, "start job"); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	exits(t, a, work{script: "true", arch: "x86_64"}.submit(t, a, dir, "next"), 0) // a goes on
}

// copyTree copies a folder, as private as it is.
func copyTree(t *testing.T, to, from string) {
	t.Helper()
	must(t, os.CopyFS(to, os.DirFS(from)))
	must(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error { // CopyFS leaves modes to the umask
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}))
}

// Somebody copies the folder of a site and runs the copy: both have one identity. A
// neighbour that meets both tells them, and they stop until an administrator decides.
func TestADuplicateStops(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1})
	start(t, a, b)
	introduce(t, a, b)
	must(t, b.Stop())
	duplicate := newSite(t, dir, "twin", cluster.Options{})
	must(t, os.RemoveAll(duplicate.Dir))
	copyTree(t, duplicate.Dir, b.Dir)
	start(t, b, duplicate)
	alarm := func(s site) string {
		var list []api.Site
		if json.Unmarshal([]byte(client(t, s, "sites", "--json")), &list) != nil || len(list) == 0 {
			return ""
		}
		return list[0].Alarm
	}
	const why = "another broker runs under the identity of this one"
	eventually(t, "not both stop", func() bool { return strings.Contains(alarm(b), why) && strings.Contains(alarm(duplicate), why) })
	eventually(t, "their neighbour does not name them", func() bool { return strings.Contains(alarm(a), "under the identity of b") })
	for name, s := range map[string]site{"first": b, "second": duplicate} {
		if r := s.Client(t.Context(), "submit", work{script: "true"}.write(t, dir, name)); r.Code != 3 || !strings.Contains(r.Stderr, "gbroker resume") {
			t.Errorf("a job handed to a broker with a duplicate: %d %s", r.Code, r.Stderr)
		}
	}
	stopped := b
	must(t, duplicate.Stop())
	if r := stopped.Admin(t.Context(), "resume", "--config", stopped.Config()); r.Code != 0 {
		t.Fatalf("resume: %d %s", r.Code, r.Stderr)
	}
	// What the other did it does not know: first it asks its neighbours, as one that was rolled back.
	eventually(t, "the alarm is not over", func() bool { return alarm(stopped) == "" && alarm(a) == "" })
	exits(t, stopped, work{script: "true"}.submit(t, stopped, dir, "taken"), 0)
}
