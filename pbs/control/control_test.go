package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gbroker/grid"
)

var at = grid.AttemptID{Job: "here.01ABCDEFGHJKMNPQRSTVWXYZ00", Epoch: grid.Epoch{Term: 2, Hop: 3}, Attempt: 4}

// Of many that take the token at once one gets it, and all see the same holder.
func TestOneTakesTheToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	var all sync.WaitGroup
	var taken [n]bool
	var held [n]Token
	for i := range n {
		all.Go(func() {
			p := self
			p.PID = i + 1
			var err error
			if taken[i], held[i], err = Take(dir, at, Holder(i%2), p); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	winner := -1
	for i := range n {
		if taken[i] && winner >= 0 {
			t.Fatalf("%d and %d took the same token", winner, i)
		}
		if taken[i] {
			winner = i
		}
	}
	for i := range n {
		if winner < 0 || held[i].Process.PID != winner+1 || held[i].Holder != Holder(winner%2) {
			t.Errorf("%d took it; %d sees %+v", winner, i, held[i])
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	other := at
	other.Attempt++
	if ok, _, err := Take(dir, other, Broker, self); !ok || err != nil {
		t.Errorf("another attempt's token: %v, %v", ok, err)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := End{At: 12, ExitCode: 143, Signal: 15, Cause: grid.ByWalltime, Detail: "a\nb\x00c ä \xff"}
	if err := WriteEnd(dir, at, want); err != nil {
		t.Fatal(err)
	}
	if err := WriteEnd(dir, at, End{At: 99}); err != nil {
		t.Fatal(err)
	}
	want.Detail = "a b c ä ?"
	if got, there, err := ReadEnd(dir, at); got != want || !there || err != nil {
		t.Errorf("read %+v, %v, %v; the first that was written was %+v", got, there, err, want)
	}
	if used, err := ReadUsage(dir, at); used != (grid.Usage{}) || err != nil {
		t.Errorf("a usage that nobody told: %+v, %v", used, err)
	}
	used := grid.Usage{CPU: 1234, Memory: 1 << 40}
	for _, u := range []grid.Usage{{}, used, {CPU: 99}} {
		if err := WriteUsage(dir, at, u); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadUsage(dir, at); got != used || err != nil {
		t.Errorf("read %+v, %v; the first that was written was %+v", got, err, used)
	}
	run := Run{At: 5, Leader: Process{PID: 7, Start: 1 << 40, Boot: "b"}}
	if err := WriteRun(dir, at, run); err != nil {
		t.Fatal(err)
	}
	if got, there, err := ReadRun(dir, at); got != run || !there || err != nil {
		t.Errorf("read %+v, %v, %v", got, there, err)
	}
	if was, err := Submitted(dir, at); was || err != nil {
		t.Errorf("never submitted: %v, %v", was, err)
	}
	for range 2 {
		if err := WriteSubmit(dir, at); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := Submitted(dir, at); !was || err != nil {
		t.Errorf("submitted: %v, %v", was, err)
	}
	if asked, err := KillAsked(dir, at); asked || err != nil {
		t.Errorf("a kill nobody asked for: %v, %v", asked, err)
	}
	if err := AskKill(dir, at); err != nil {
		t.Fatal(err)
	}
	if asked, err := KillAsked(dir, at); !asked || err != nil {
		t.Errorf("the kill: %v, %v", asked, err)
	}
}

func TestUnreadableIsUnknown(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	if _, _, err := ReadToken(gone, at); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a directory that is gone: %v", err)
	}
	if taken, _, err := Take(gone, at, Broker, Process{}); taken || !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a token in a directory that is gone: %v, %v", taken, err)
	}
	dir := t.TempDir()
	if _, there, err := ReadToken(dir, at); there || err != nil {
		t.Errorf("an empty directory: %v, %v", there, err)
	}
	good := "gbroker-ctl 1\nattempt " + at.String() + "\nholder broker\nat 1\npid 2\nstart 3\nboot b\n.\n"
	for mistake, content := range map[string]string{
		"":                   good,
		"torn":               good[:len(good)-2],
		"does not begin":     "",
		"is of version":      strings.Replace(good, "ctl 1", "ctl 2", 1),
		"is of attempt":      strings.Replace(good, "#4", "#5", 1),
		"holder":             strings.Replace(good, "broker\n", "nobody\n", 1),
		"must be a number":   strings.Replace(good, "at 1", "at -1", 1),
		"belongs":            strings.Replace(good, "at 1\n", "", 1),
		"which is unknown":   strings.Replace(good, "boot b\n", "boot b\nmore x\n", 1),
		"longer than":        strings.Replace(good, "boot b", "boot "+strings.Repeat("b", maxFile), 1),
		"control directory ": "link",
	} {
		name := path(dir, "start", at)
		os.Remove(name)
		if content == "link" {
			if err := os.Symlink("/etc/passwd", name); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadToken(dir, at)
		if (err == nil) != (mistake == "") || err != nil && !strings.Contains(err.Error(), mistake) {
			t.Errorf("%q: %v", mistake, err)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := "gbroker-ctl 1\nattempt " + at.String() + "\ncpu 1500\nmemory 0\n.\n"
	for mistake, content := range map[string]string{
		"":                      good,
		"torn":                  strings.TrimSuffix(good, ".\n"),
		"is of attempt":         strings.Replace(good, "#4", "#5", 1),
		"from 0 to 1000000000":  strings.Replace(good, "cpu 1500", "cpu 1000000000000001", 1),
		"memory \"-1\"":         strings.Replace(good, "memory 0", "memory -1", 1),
		"where \"cpu\" belongs": strings.Replace(good, "cpu 1500\n", "", 1),
		"which is unknown":      strings.Replace(good, "memory 0\n", "memory 0\ndisk 1\n", 1),
	} {
		if err := os.WriteFile(path(dir, "usage", at), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		used, err := ReadUsage(dir, at)
		if (err == nil) != (mistake == "") || err != nil && !strings.Contains(err.Error(), mistake) || err == nil && used != (grid.Usage{CPU: 1500}) {
			t.Errorf("%q: %+v, %v", mistake, used, err)
		}
	}
}

func TestAnotherProcessOfTheNumber(t *testing.T) {
	t.Parallel()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	later, before := self, self
	later.Start++
	before.Boot = "another"
	for _, c := range []struct {
		p    Process
		want bool
	}{{self, true}, {later, false}, {before, false}, {Process{}, false}} {
		if alive, err := c.p.Alive(); alive != c.want || err != nil {
			t.Errorf("%+v lives: %v, %v", c.p, alive, err)
		}
	}
}

// The nodes are those of the host file, each once; what is no name ends the list.
func TestTheNodesOfAnAttempt(t *testing.T) {
	t.Parallel()
	at := grid.AttemptID{Job: "a.1", Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	many, all := strings.Builder{}, strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(&many, "node%03d slots=2\n", i)
		fmt.Fprintf(&all, "node%03d,", i)
	}
	for hosts, want := range map[string]string{
		"":                          "",
		"n1\nn1\nn2\nn1\n":          "n1,n2",
		"n1.cluster slots=4\nn-2\n": "n1.cluster,n-2",
		"n1\n\x1b[31m\nn2\n":        "n1",
		"n1\nn,2\n":                 "n1",
		many.String():               all.String()[:124*8] + "…",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(HostFile(dir, at), []byte(hosts), 0o600); err != nil {
			t.Fatal(err)
		}
		if used, err := ReadUsage(dir, at); err != nil || used.Nodes != "" {
			t.Errorf("what never ran has run on %q, %v", used.Nodes, err)
		}
		if err := WriteRun(dir, at, Run{At: 5}); err != nil {
			t.Fatal(err)
		}
		used, err := ReadUsage(dir, at)
		if err != nil || used.Nodes != want || len(used.Nodes) > grid.MaxUsedNodes {
			t.Errorf("%.20q: it ran on %q, %v", hosts, used.Nodes, err)
		}
	}
	dir := t.TempDir()
	if used, err := ReadUsage(dir, at); err != nil || used != (grid.Usage{}) {
		t.Errorf("without a host file it is %+v, %v", used, err)
	}
	if err := WriteRun(dir, at, Run{At: 5}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(HostFile(dir, at), 0o600); err != nil {
		t.Fatal(err)
	}
	if used, err := ReadUsage(dir, at); err != nil || used.Nodes != "" {
		t.Errorf("of a pipe it is %+v, %v", used, err)
	}
}
