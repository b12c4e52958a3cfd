package embedded

import (
	"os"
	"os/exec"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/spool"
)

// A program that runs is not withdrawn though all files of its start are gone before its supervisor's word of it was read.
func TestAStartThatWasNotYetTold(t *testing.T) {
	t.Parallel()
	at := grid.AttemptID{Job: "here.01ABCDEFGHJKMNPQRSTVWXYZ00", Epoch: grid.Epoch{Term: 1}, Attempt: uint32(os.Getpid())}
	for name, runs := range map[string]bool{"its program runs": true, "nothing of it runs": false} {
		dir := t.TempDir()
		s := &System{known: map[grid.AttemptID]*entry{}, jobs: spool.Folder{Path: dir, Suffix: spoolSuffix}, wake: make(chan struct{}, 1)}
		e := &entry{spec: &supervise.Spec{ID: at, Control: dir}}
		s.known[at], s.busy = e, []*entry{e}
		program := exec.Command("sleep", "60")
		if runs {
			program.Env = []string{supervise.Mark(at)}
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		withdrawn, err := s.Withdraw(t.Context(), at, dir)
		program.Process.Kill()
		program.Wait()
		if _, taken, _ := control.ReadToken(dir, at); withdrawn == runs || taken == runs || err != nil {
			t.Errorf("%s: withdrawn %t, %v; the token was taken: %t", name, withdrawn, err, taken)
		}
	}
}
