package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// kinds are batch systems as a test finds them: real Slurm, and fake batch systems.
var kinds = map[string]func(t *testing.T) (environment []string){
	daemon.Slurm: func(t *testing.T) []string {
		slurmtest.Need(t)
		return append(slurmtest.Start(t, slurmtest.Config{}).Environment(), "PATH="+os.Getenv("PATH"))
	},
	daemon.Torque: func(t *testing.T) []string {
		return []string{"PATH=" + fakebatch.Start(t, batch.Config{Face: "torque", Accounts: true}).Path()}
	},
	daemon.OpenPBS: func(t *testing.T) []string {
		return []string{"PATH=" + fakebatch.Start(t, batch.Config{Face: "openpbs", Accounts: true}).Path()}
	},
}

// overAll runs a test at a site that init has made over each kind.
func overAll(t *testing.T, test func(t *testing.T, file string)) {
	for system, start := range kinds {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			test(t, made(t, system, start(t)))
		})
	}
}

// made makes a site over what is found in an environment, and gives its configuration.
func made(t *testing.T, system string, environment []string) string {
	t.Helper()
	o := daemon.DefaultInit()
	dir, err := os.MkdirTemp("", "site") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.Dir, o.Site, o.Listen = filepath.Join(dir, "s"), "a", "/ip4/127.0.0.1/tcp/0"
	if o.Found = daemon.Detect(t.Context(), environment); o.Found.System != system {
		t.Fatalf("found %+v", o.Found)
	}
	c, err := daemon.Init(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.File
}

// The doctor has nothing to mend, and tried everything.
func TestDoctor(t *testing.T) {
	t.Parallel()
	overAll(t, func(t *testing.T, file string) {
		out, errs, code := gbroker(t, "doctor", "--config", file, "--json")
		var list []daemon.Finding
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("ends with %d: %v\n%s%s", code, err, out, errs)
		}
		tried := map[string]bool{}
		for _, f := range list {
			if tried[f.Name] = f.Verdict == daemon.Fine; f.Verdict == daemon.Mend {
				t.Errorf("%s: %s", f.Name, f.Text)
			}
		}
		for _, name := range []string{"commands", "controller", "limits", "queue", "test reservation", "test job", "shared folder", "estimate"} {
			if !tried[name] {
				t.Errorf("%s is not found right:\n%s", name, out)
			}
		}
	})
}

// A job by hand is marked as such, removed and forgotten.
func TestByHand(t *testing.T) {
	t.Parallel()
	overAll(t, func(t *testing.T, file string) {
		say := func(want int, args ...string) string {
			t.Helper()
			out, errs, code := gbroker(t, append([]string{"batch"}, args...)...)
			if code != want {
				t.Fatalf("%v ends with %d: %s%s", args, code, out, errs)
			}
			return strings.TrimSpace(out)
		}
		words := strings.Fields(say(0, "submit", "--config", file, "--walltime", "5m", "--", "/bin/sleep", "300"))
		if len(words) != 2 {
			t.Fatalf("submit says %q", words)
		}
		id, local := words[0], words[1]
		if shown := say(0, "status", "--config", file, local); !strings.Contains(shown, id) {
			t.Errorf("status shows\n%s", shown)
		}
		if shown := say(0, "snapshot", "--config", file); !strings.Contains(shown, " hand-") || !strings.Contains(shown, "/"+id) {
			t.Errorf("the snapshot shows\n%s", shown)
		}
		say(0, "remove", "--config", file, local)
		for !strings.Contains(say(0, "remove", "--config", file, id), "forgotten") {
		}
		say(1, "status", "--config", file, local)
	})
}

// A job by hand runs in the reservation that was made for it by hand.
func TestReserveByHand(t *testing.T) {
	t.Parallel()
	overAll(t, func(t *testing.T, file string) {
		say := func(args ...string) string {
			t.Helper()
			out, errs, code := gbroker(t, append([]string{"batch"}, args...)...)
			if code != 0 {
				t.Fatalf("%v ends with %d: %s%s", args, code, out, errs)
			}
			return strings.TrimSpace(out)
		}
		var b api.Batch
		if err := json.Unmarshal([]byte(say("snapshot", "--config", file, "--json")), &b); err != nil || len(b.Nodes) == 0 {
			t.Fatalf("%v, %+v", err, b)
		}
		id := say("reserve", "--config", file, "--nodes", b.Nodes[0].Name, "--start", "+10s", "--for", "20m")
		if shown := say("reservations", "--config", file); !strings.Contains(shown, id) {
			t.Errorf("listed are\n%s", shown)
		}
		job, _, _ := strings.Cut(say("submit", "--config", file, "--reservation", id, "--walltime", "1m", "--", "/bin/true"), " ")
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(3 * time.Minute); ; <-tick.C {
			shown := say("status", "--config", file, job)
			if strings.Contains(shown, "exit 0") {
				break
			} else if time.Now().After(end) || strings.Contains(shown, " ended ") {
				t.Fatalf("status shows\n%s", shown)
			}
		}
		say("unreserve", "--config", file, id)
		if shown := say("reservations", "--config", file); strings.Contains(shown, id) {
			t.Errorf("after it was released, listed are\n%s", shown)
		}
	})
}
