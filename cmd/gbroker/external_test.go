package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/daemon"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/standin"
	"gbroker/test/standin/batch"
)

// kinds are batch systems as a test finds them: real Slurm, and stand-ins.
var kinds = map[string]func(t *testing.T) (environment []string){
	daemon.Slurm: func(t *testing.T) []string {
		slurmtest.Need(t)
		return append(slurmtest.Start(t, slurmtest.Config{}).Environment(), "PATH="+os.Getenv("PATH"))
	},
	daemon.Torque: func(t *testing.T) []string {
		return []string{"PATH=" + standin.Start(t, batch.Config{Face: "torque"}).Path()}
	},
	daemon.OpenPBS: func(t *testing.T) []string {
		return []string{"PATH=" + standin.Start(t, batch.Config{Face: "openpbs"}).Path()}
	},
}

// overAll runs a test at a site that init has made over each kind.
func overAll(t *testing.T, test func(t *testing.T, file string)) {
	for system, start := range kinds {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			o := daemon.DefaultInit()
			dir, err := os.MkdirTemp("", "site") // short: a socket's path has a limit
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			o.Dir, o.Site = filepath.Join(dir, "s"), "a"
			if o.Found = daemon.Detect(t.Context(), start(t)); o.Found.System != system {
				t.Fatalf("found %+v", o.Found)
			}
			c, err := daemon.Init(o)
			if err != nil {
				t.Fatal(err)
			}
			test(t, c.File)
		})
	}
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
		for _, name := range []string{"commands", "controller", "queue", "test reservation", "test job", "shared folder", "estimate"} {
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
		if shown := say(0, "snapshot", "--config", file); !strings.Contains(shown, "hand/"+id) {
			t.Errorf("the snapshot shows\n%s", shown)
		}
		say(0, "remove", "--config", file, local)
		for !strings.Contains(say(0, "remove", "--config", file, id), "forgotten") {
		}
		say(1, "status", "--config", file, local)
	})
}
