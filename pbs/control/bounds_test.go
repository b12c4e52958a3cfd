package control

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
)

// Each number of a control file has its bounds, and what is at a bound counts.
func TestNumbersHaveTheirBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end := func(field string, v int64) error {
		lines := map[string]int64{"at": 1, "code": 2, "signal": 3}
		lines[field] = v
		content := fmt.Sprintf("gbroker-ctl 1\nattempt %s\nat %d\ncode %d\nsignal %d\ncause itself\ndetail \n.\n", at, lines["at"], lines["code"], lines["signal"])
		if err := os.WriteFile(path(dir, "end", at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		e, there, err := ReadEnd(dir, at)
		if err == nil && (!there || e != End{At: grid.Tick(lines["at"]), ExitCode: int(lines["code"]), Signal: int(lines["signal"])}) {
			t.Errorf("%s: read %+v, %v", content, e, there)
		}
		return err
	}
	run := func(field string, v int64) error {
		lines := map[string]int64{"pid": 1, "start": 2}
		lines[field] = v
		content := fmt.Sprintf("gbroker-ctl 1\nattempt %s\nat 1\npid %d\nstart %d\nboot b\n.\n", at, lines["pid"], lines["start"])
		if err := os.WriteFile(path(dir, "run", at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadRun(dir, at)
		return err
	}
	for _, c := range []struct {
		field       string
		read        func(string, int64) error
		least, most int64
	}{
		{"at", end, 0, 1 << 53}, {"code", end, 0, 255}, {"signal", end, 0, 127},
		{"pid", run, 0, 1<<31 - 1}, {"start", run, 0, 1 << 62},
	} {
		for v, good := range map[int64]bool{c.least: true, c.most: true, c.least - 1: false, c.most + 1: false} {
			if err := c.read(c.field, v); (err == nil) != good || err != nil && !errors.Is(err, grid.ErrDamaged) {
				t.Errorf("%s %d: %v", c.field, v, err)
			}
		}
	}
}

// The trace of a start that is the oldest says since when the attempt runs; what is no file is none.
func TestTheOldestTraceCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, kind := range []string{"usage", "end", "kill"} {
		name := path(dir, kind, at)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.UnixMilli([]int64{70_000, 50_000, 60_000}[i])
		if err := os.Chtimes(name, began, began); err != nil {
			t.Fatal(err)
		}
	}
	if held, there, err := ReadToken(dir, at); !there || !held.Inferred || held.At != 50_000 || held.Process != (Process{}) || err != nil {
		t.Errorf("%+v, %v, %v", held, there, err)
	}
	other := t.TempDir()
	if err := os.Mkdir(path(other, "run", at), 0o700); err != nil {
		t.Fatal(err)
	}
	if held, there, err := ReadToken(other, at); there || err != nil {
		t.Errorf("a folder is taken for a trace: %+v, %v", held, err)
	}
}

// Of an attempt whose token is lost and whose leader runs, the supervisor is the leader's parent.
func TestTheSupervisorIsTheParentOfTheLeader(t *testing.T) {
	t.Parallel()
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	leader, err := Describe(sleep.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := WriteRun(dir, at, Run{At: 7, Leader: leader}); err != nil {
		t.Fatal(err)
	}
	if held, _, err := ReadToken(dir, at); held.Process != self || held.At != 7 || err != nil {
		t.Errorf("while it runs: %+v, %v", held, err)
	}
	if err := errors.Join(sleep.Process.Kill(), ignoreExit(sleep.Wait())); err != nil {
		t.Fatal(err)
	}
	if held, there, err := ReadToken(dir, at); held.Process != (Process{}) || !there || err != nil {
		t.Errorf("when it has ended: %+v, %v", held, err)
	}
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// What /proc says of a process is read as the system calls say it, whatever its name looks like.
func TestAProcessIsReadAsItIs(t *testing.T) {
	t.Parallel()
	odd := filepath.Join(t.TempDir(), "a) Z 1 (b")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(odd, "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	s, err := ReadStat(pid)
	if err != nil || s.Parent != os.Getpid() || s.Group != pid || s.Session != pid || s.Ended() || s.Start == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	p, err := Describe(pid)
	if err != nil || p.PID != pid || p.Start != s.Start {
		t.Errorf("%+v, %v", p, err)
	}
	if again, err := p.Rebooted(); again || err != nil {
		t.Errorf("the machine was started again: %v, %v", again, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !s.Ended() { // nobody has waited for it: its entry stays
		if s, err = ReadStat(pid); err != nil {
			t.Fatal(err)
		}
	}
	if alive, err := p.Alive(); alive || err != nil {
		t.Errorf("an ended process lives: %v, %v", alive, err)
	}
	if err := ignoreExit(cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if alive, err := p.Alive(); alive || err != nil {
		t.Errorf("a process that is gone lives: %v, %v", alive, err)
	}
	if _, err := ReadStat(pid); !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("/proc/%d: %v", pid, err)
	}
	if again, err := (Process{PID: pid, Boot: "another"}).Rebooted(); !again || err != nil {
		t.Errorf("another boot: %v, %v", again, err)
	}
	if again, err := (Process{}).Rebooted(); again || err != nil {
		t.Errorf("a process that nobody knows: %v, %v", again, err)
	}
}

// The wrapper may read what was submitted as another account; where it cannot be written, nothing is left.
func TestTheSubmissionIsReadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WriteSubmit(dir, at); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path(dir, "submit", at))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path(dir, "submit", at), []byte("gbroker-ctl 1\nattempt "+strings.Replace(at.String(), "#4", "#5", 1)+"\nat 1\n.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if was, err := Submitted(dir, at); was || !errors.Is(err, grid.ErrDamaged) {
		t.Errorf("the submission of another attempt: %v, %v", was, err)
	}
	broken := t.TempDir()
	if err := os.MkdirAll(filepath.Join(path(broken, "submit", at), strconv.Itoa(1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteSubmit(broken, at); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("over a folder: %v", err)
	}
	if left, err := os.ReadDir(broken); len(left) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
