package embedded_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded"
)

// What ran when the machine was restarted has ended, with the reason; what waited runs.
// A restart is another boot identifier than the one in the start token, and a process
// that is no more.
func TestMachineRestarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changed := make(chan grid.AttemptID, 100)
	open := func() *embedded.System {
		s, err := smallSite(dir, quick(t), func(at grid.AttemptID) { changed <- at })
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ran, waited := shellJob(dir, "A", waitForGo), shellJob(dir, "B", "exit 8")
	s := open()
	submit(t, s, ran, waited)
	during(t, s, func() { awaitPath(t, filepath.Join(ran.Work, "stdout")) })
	token, _, err := control.ReadToken(ran.Control, ran.ID)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(token.Process.PID, syscall.SIGKILL)
	earlier(t, filepath.Join(ran.Control, "start.1.0.1"), token.Process.Boot)

	ends := awaitEnds(t, open(), changed, ran, waited)
	if p := ends[0]; p.Cause != grid.Disappeared || !strings.Contains(p.Detail, "the machine was restarted") || p.Started == 0 {
		t.Errorf("what ran ended %+v", p)
	}
	if p := ends[1]; p.Cause != grid.ByItself || p.ExitCode != 8 {
		t.Errorf("what waited ended %+v", p)
	}
}

// earlier makes a control file be of an earlier boot of the machine.
func earlier(t *testing.T, name, boot string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(data, []byte(boot), []byte(strings.Repeat("0", len(boot))), 1)
	if bytes.Equal(data, other) {
		t.Fatalf("%s names no boot", name)
	}
	if err := os.WriteFile(name, other, 0o600); err != nil {
		t.Fatal(err)
	}
}
