package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/pbs/slurm/slurmtest"
)

// alarm waits until the site has an alarm, or none.
func alarm(t *testing.T, c *api.Client, there bool) string {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); <-tick.C {
		sites, err := c.Sites(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text := sites[0].Alarm; (text != "") == there {
			return text
		}
	}
	t.Fatalf("an alarm: want %v, and have the contrary for minutes", there)
	return ""
}

// While Slurm's controller is down the site says so, and what to do; a job that is handed in waits,
// and runs when it is back.
func TestControllerDown(t *testing.T) {
	t.Parallel()
	slurmtest.Need(t)
	cluster := slurmtest.Start(t, slurmtest.Config{})
	file := made(t, daemon.Slurm, append(cluster.Environment(), "PATH="+os.Getenv("PATH")))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.Replace(string(text), "\nbatch:\n", "\nbatch:\n  refresh: 1s\n", 1)
	if err := os.WriteFile(file, []byte(quick), 0o644); err != nil {
		t.Fatal(err)
	}
	c := serve(t, file)
	alarm(t, c, false)
	cluster.StopController()
	if said := alarm(t, c, true); !strings.Contains(said, "nothing is known of the batch system") || !strings.Contains(said, "gbroker doctor --config "+file) {
		t.Errorf("the alarm is %q", said)
	}
	a, err := c.Submit(t.Context(), api.Submission{Key: "1", Document: spoken, Name: "job.jsdl"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartController(); err != nil {
		t.Fatal(err)
	}
	alarm(t, c, false)
	if s := wait(t, c, a.ID); s.ExitCode == nil || *s.ExitCode != 3 {
		t.Errorf("%+v", s)
	}
}
