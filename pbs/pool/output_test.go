package pool_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

// All that lies in the sandbox comes back: links, empty folders, and what the program has closed to itself.
func TestAllComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(`mkdir -p empty/inner d && echo x > d/f && ln -s d/f link && ln -s / out && echo y > closed && chmod 0 closed && mkdir c && echo z > c/g && chmod 0 c`, nil)
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("it ended %+v", p)
	}
	if to, err := os.Readlink(filepath.Join(j.Work, "link")); err != nil || to != "d/f" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	for _, name := range []string{"empty/inner", "closed", "c/g"} {
		if !there(filepath.Join(j.Work, name)) {
			t.Errorf("%s has not come back", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(j.Work, "out")); err == nil {
		t.Error("a link that leads out has come back")
	}
}

// A link that goes up from behind a folder, or from behind another link, stays inside for all that: it comes with the inputs, and back.
func TestLinksThatGoUpLate(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(`cat cur > got && mkdir bin lib share && echo tool > share/tool && ln -s ../lib/../share/tool bin/tool && ln -s bin/../../away away`, func(j *grid.Submission) {
		if err := errors.Join(os.MkdirAll(filepath.Join(j.Work, "rel"), 0o755), os.WriteFile(filepath.Join(j.Work, "data"), []byte("data\n"), 0o644),
			os.Symlink("rel/../data", filepath.Join(j.Work, "cur"))); err != nil {
			t.Fatal(err)
		}
	})
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("it ended %+v", p)
	}
	for name, want := range map[string]string{"got": "data\n", "bin/tool": "tool\n"} {
		if data, err := os.ReadFile(filepath.Join(j.Work, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(j.Work, "away")); err == nil {
		t.Error("a link that leads out has come back")
	}
}

// A job may put a file where a folder was, and a folder where a file was.
func TestFileInPlaceOfAFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(`rm -r thing && echo x > thing && rm file && mkdir file && echo y > file/inside`, func(j *grid.Submission) {
		for name, write := range map[string]func(string) error{
			"thing/inner": func(at string) error { return os.MkdirAll(at, 0o755) },
			"file":        func(at string) error { return os.WriteFile(at, nil, 0o644) },
		} {
			at := filepath.Join(j.Work, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), write(at)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Errorf("it ended %+v", p)
	}
	for name, want := range map[string]string{"thing": "x\n", "file/inside": "y\n"} {
		if data, err := os.ReadFile(filepath.Join(j.Work, name)); err != nil || string(data) != want {
			t.Errorf("%s has come back as %q, %v", name, data, err)
		}
	}
}

// A job whose output cannot be taken has an end of its own, which says why, and which is taken once.
func TestOutputIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	j := s.submit("true", nil)
	r := p.start(j)
	p.must(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.Unbrought, Detail: "its disk is broken"}, nil)
	if e := s.end(j); e.Cause != grid.Unbrought || e.Detail != "its disk is broken" {
		t.Errorf("it ended %+v", e)
	}
}

// Whoever kills a job whose output does not come is obeyed.
func TestKillWhileOutputIsBrought(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	j := s.submit(lives, nil)
	s.process(j, "pid")
	if err := os.Rename(j.Work, j.Work+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.until("it has ended there", func() bool {
		_, ended, err := control.ReadEnd(filepath.Join(s.fleet.job(j.ID), "ctl"), j.ID)
		return ended && err == nil
	})
	if err := s.Kill(t.Context(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByRequest {
		t.Errorf("it ended %+v", p)
	}
}

// The jobs of two users are never at once on a computer; those of one are.
func TestOneUserAtATime(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 4})
	by := func(user string) func(*grid.Submission) {
		return func(j *grid.Submission) { j.Job.User.Name = user }
	}
	first, second := s.submit(lives, by("anna")), s.submit(lives, by("anna"))
	other := s.submit(lives, by("bert"))
	s.process(first, "pid")
	s.process(second, "pid")
	time.Sleep(500 * time.Millisecond) //house:allow sleep: nothing tells that a job will not begin
	if there(s.fleet.job(other.ID)) {
		t.Fatal("the jobs of two users run on one computer")
	}
	for _, j := range []grid.Submission{first, second} {
		if err := os.WriteFile(s.at(j, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s.end(j)
	}
	s.process(other, "pid")
	if err := os.WriteFile(s.at(other, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.end(other)
}

// A job that its computer does not name any more is cut off, though the session goes on.
func TestComputerForgetsAJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	j := s.submit("true", nil)
	r := p.start(j)
	p.report() // it may have been written before the start
	p.report(r)
	p.report()
	if e, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || e.Phase != grid.Started {
		t.Fatalf("one report without it made it %+v, %v", e, err)
	}
	p.report()
	if e := s.end(j); e.Cause != grid.CutOff || !strings.Contains(e.Detail, "has lost it") {
		t.Errorf("it ended %+v", e)
	}
}

// A file that is on its way when its job ends does not come into its sandbox any more.
func TestFileComesTooLate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	j := s.submit("true", nil)
	r := p.start(j)
	const good, bad = "good", "late"
	sum := func(text string) string { h := sha256.Sum256([]byte(text)); return hex.EncodeToString(h[:]) }
	if status := p.put(r, "out", sum(good), int64(len(good)), strings.NewReader(good)); status != http.StatusOK {
		t.Fatalf("the output is answered with %d", status)
	}
	read, write := io.Pipe()
	late := make(chan int)
	go func() { late <- p.put(r, "out", sum(bad), int64(len(bad)), read) }()
	fmt.Fprint(write, bad[:2])
	s.until("it is on its way", func() bool {
		all, _ := filepath.Glob(filepath.Join(j.Work, ".gbroker-incoming.*"))
		return len(all) > 0
	})
	p.must(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.ByItself}, nil)
	s.end(j)
	fmt.Fprint(write, bad[2:])
	write.Close()
	if status := <-late; status != http.StatusForbidden {
		t.Errorf("it is answered with %d", status)
	}
	if data, err := os.ReadFile(filepath.Join(j.Work, "out")); err != nil || string(data) != good {
		t.Errorf("the output is %q, %v", data, err)
	}
}

// A name is one computer's, also of a pool that was restarted before the computer ran.
func TestNamesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join := func() error {
		code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return agent.Join(t.Context(), t.TempDir(), "desk", code.String())
	}
	if err := join(); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.start()
	if err := join(); err == nil || !strings.Contains(err.Error(), "there is a computer called desk") {
		t.Errorf("another computer has the same name: %v", err)
	}
}
