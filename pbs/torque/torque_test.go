package torque

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
)

// recordings is where what real systems printed lies, in folders; each command NN-name has .cmd, .stdout, .stderr and .exit.
const recordings = "../../../shared/fixtures/torque"

type recording struct {
	name, command  string
	stdout, stderr []byte
	exit           int
}

func (r recording) result() command.Result {
	return command.Result{Stdout: r.stdout, Stderr: r.stderr, Exit: r.exit}
}

// record reads the recording name, of testdata or of all of them.
func read(t testing.TB, root, name string) recording {
	t.Helper()
	part := func(ending string) []byte {
		data, err := os.ReadFile(filepath.Join(root, name+ending))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	exit, err := strconv.Atoi(strings.TrimSpace(string(part(".exit"))))
	if err != nil {
		t.Fatal(err)
	}
	return recording{name, strings.TrimSpace(string(part(".cmd"))), part(".stdout"), part(".stderr"), exit}
}

// all lists the recordings under root.
func all(t testing.TB, root string) []recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var list []recording
	for _, p := range paths {
		name, _ := filepath.Rel(root, strings.TrimSuffix(p, ".cmd"))
		list = append(list, read(t, root, name))
	}
	return list
}

// Since when a job may be started is told; not while it is held.
func TestJobsAreEligibleSince(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]grid.Tick{"02-running/31-serial-qstat-x": 1795216436 * grid.Second, "04-held/23-userheld-qstat-x": 0} {
		r := read(t, "testdata", name)
		list, err := parseJobs(r.command, r.stdout)
		if err != nil || len(list.jobs) != 1 || list.jobs[0].Eligible != want {
			t.Errorf("%s: %+v, %v", name, list.jobs, err)
		}
	}
}
