package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// followed is a gclient logs -f under way.
type followed struct {
	cmd       *exec.Cmd
	out, errs string // files
}

func follow(t *testing.T, s site, dir, name, id string, args ...string) followed {
	t.Helper()
	f := followed{s.Command(t.Context(), append([]string{"logs", "-f", id}, args...)...), filepath.Join(dir, name+".out"), filepath.Join(dir, name+".err")}
	for file, to := range map[string]*os.File{f.out: nil, f.errs: nil} {
		var err error
		to, err = os.Create(file)
		must(t, err)
		t.Cleanup(func() { to.Close() })
		if file == f.out {
			f.cmd.Stdout = to
		} else {
			f.cmd.Stderr = to
		}
	}
	must(t, f.cmd.Start())
	return f
}

func (f followed) text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return string(b)
}

// prints waits until it has printed something.
func (f followed) prints(t *testing.T, want string) {
	t.Helper()
	if err := cluster.Until(t.Context(), patience, func() bool { return strings.Contains(f.text(t, f.out), want) }); err != nil {
		t.Fatalf("logs -f does not print %q: %v; it printed %q and told %q", want, err, f.text(t, f.out), f.text(t, f.errs))
	}
}

// A job that waits at one site moves to another, and is followed all the way: from its home, whose broker is
// restarted meanwhile, and from a broker that knows only the home. What is printed is what comes home.
func TestLogsFollowAJobThatMoves(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm")})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm")})
	x := newSite(t, dir, "x", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64")})
	start(t, a, b, c, x)
	introduce(t, a, b, c)
	know(t, line(a, x, "--same-users"), line(x, a, "--same-users"))
	must(t, x.Sees(t.Context(), patience, "a"))
	admin(t, c, "drain")
	busy := work{script: waits(dir, "busy"), arch: "arm"}.submit(t, b, dir, "busy")
	becomes(t, b, busy, "RUNNING")
	const all = "one\ntwo\nthis was moved\nthree\n"
	script := "echo one; echo oops >&2; until [ -e " + dir + "/second ]; do sleep 0.2; done; echo two; " + waits(dir, "moved") + "; echo three"
	id := work{script: script, arch: "arm", output: "out.txt"}.submit(t, a, dir, "moved")
	becomes(t, a, id, "ASSIGNED")
	if r := a.Client(t.Context(), "logs", id); r.Code != 3 || !strings.Contains(r.Stderr, "has written nothing yet") {
		t.Errorf("before its start: %d %q %q", r.Code, r.Stdout, r.Stderr)
	}
	home, far := follow(t, a, dir, "home", id), follow(t, x, dir, "far", id)

	admin(t, c, "undrain")
	admin(t, b, "drain")
	for _, f := range []followed{home, far} {
		f.prints(t, "one\n")
	}
	if st := status(t, a, id); st.Owner != "c" {
		t.Errorf("it runs at %s", st.Owner)
	}
	if got := client(t, x, "logs", "--stderr", id); got != "oops\n" {
		t.Errorf("its standard error, seen from x: %q", got)
	}
	a.Kill()
	start(t, a)
	must(t, os.WriteFile(filepath.Join(dir, "second"), nil, 0o644))
	for _, f := range []followed{home, far} {
		f.prints(t, "two\n")
	}
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	for _, f := range []followed{home, far} {
		err := f.cmd.Wait()
		if text := f.text(t, f.out); err != nil || text != all {
			t.Errorf("printed %q, %v; told %q", text, err, f.text(t, f.errs))
		}
		if told := f.text(t, f.errs); !strings.Contains(told, "its output follows when it has started") || f == home && !strings.Contains(told, "runs at c") || strings.Contains(told, "anew") {
			t.Errorf("told %q", told)
		}
	}
	if got := output(t, a, dir, id, "out.txt"); got != all {
		t.Errorf("what came home: %q", got)
	}
	if got := client(t, x, "logs", id, "--file", "out.txt"); got != all {
		t.Errorf("after the end, seen from x: %q", got)
	}
}

// A file that a program writes anew is printed anew, with a word; what belongs to others is not printed.
func TestLogsOfAFileWrittenAnew(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	script := "echo aaaaaaaa >p.txt; until [ -e " + dir + "/second ]; do sleep 0.2; done; echo b >p.txt; " + waits(dir, "file")
	id := work{script: script, takes: []string{"p.txt"}}.submit(t, s, dir, "file")
	f := follow(t, s, dir, "file", id, "--file", "p.txt")
	f.prints(t, "aaaaaaaa\n")
	must(t, os.WriteFile(filepath.Join(dir, "second"), nil, 0o644))
	f.prints(t, "b\n")
	if r := s.Client(t.Context(), "logs", id, "--file", "/etc/passwd"); r.Code != 1 {
		t.Errorf("a file of the machine: %d %q", r.Code, r.Stdout)
	}
	if r := s.Client(t.Context(), "logs", id, "--file", "other"); r.Code != 1 || !strings.Contains(r.Stderr, "brings back no file") {
		t.Errorf("a file that does not come back: %d %s", r.Code, r.Stderr)
	}
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	err := f.cmd.Wait()
	if text := f.text(t, f.out); err != nil || text != "aaaaaaaa\nb\n" {
		t.Errorf("printed %q, %v", text, err)
	}
	if told := f.text(t, f.errs); !strings.Contains(told, "has become shorter: it begins anew") {
		t.Errorf("told %q", told)
	}
}
