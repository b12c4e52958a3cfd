package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/pool/line"
)

// begin starts a script as a job of this process, and waits until it runs.
func begin(t *testing.T, script string) (Process, Folder) {
	t.Helper()
	p, f := launch(t, script)
	<-p.Began()
	return p, f
}

// launch starts a script as a job of this process.
func launch(t *testing.T, script string) (Process, Folder) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(Linux{Supervisor: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, supervise.Command}, Idle: true, Grouped: true, Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	f := Folder(filepath.Join(home, "jobs", "job"))
	for _, dir := range []string{f.work(), f.ctl(), identityFolder(home)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j := Job{Stint: line.Nonce(), Node: "a", Assignment: line.Assignment{
		Site: "here", Job: string(grid.NewJobID("here", fmt.Sprintf("%026d", time.Now().UnixNano()))), Term: 1, Number: 1,
		Executable: []byte("/bin/sh"), Arguments: [][]byte{[]byte("-c"), []byte(script)}, Limit: int64(grid.Hour), Grace: 100, Processes: 1, Cores: 1,
	}}
	p, err := r.Start(f, j)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if _, err := p.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, f
}

// A job has the least share of the processor beside the owner's programs, also where the kernel groups sessions: in each session that it makes.
func TestJobsGiveWay(t *testing.T) {
	t.Parallel()
	if !grouping() {
		t.Skip("this kernel does not group sessions")
	}
	p, f := begin(t, `echo $$ > p; mv p leader; setsid sh -c 'echo $$ > c; mv c child; sleep 1000'; sleep 1000`)
	share := func(name string) string {
		pid, err := os.ReadFile(filepath.Join(f.work(), name))
		if err != nil {
			return ""
		}
		text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/autogroup")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, when := range map[string]string{"leader": "it began", "child": "the next look"} {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(10 * time.Second); share(name) == "" && time.Now().Before(deadline); <-tick.C {
		}
		if name == "child" {
			if err := p.Yield(); err != nil {
				t.Fatal(err)
			}
		}
		if got := share(name); !strings.Contains(got, "nice 19") {
			t.Errorf("the session of the %s has %q after %s", name, got, when)
		}
	}
}
