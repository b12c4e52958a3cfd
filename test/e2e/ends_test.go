package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

// machine makes a site the only one for jobs of an architecture.
func machine(word string) string { return "architecture: " + word + "\n" }

// asked is the status of a job, if its broker can be asked.
func asked(t *testing.T, s site, id string) (st api.Status, ok bool) {
	t.Helper()
	return st, s.View(t.Context(), &st, "status", id) == nil
}

// becomes waits until a job is in one of the states; one that ends otherwise, or is
// late, ends the test. The broker may be away meanwhile.
func becomes(t *testing.T, s site, id string, states ...string) api.Status {
	t.Helper()
	var st api.Status
	cluster.Until(t.Context(), patience, func() bool {
		if now, ok := asked(t, s, id); ok {
			st = now
		}
		return slices.Contains(states, st.State) || st.Terminal()
	})
	if !slices.Contains(states, st.State) {
		t.Fatalf("job %s is %s (%s) at %s, and not %v within %s\n%s", id, st.State, st.Reason, s.Name, states, patience,
			s.Client(t.Context(), "history", id).Stdout)
	}
	return st
}

// exits waits for a job to be COMPLETED with an exit code.
func exits(t *testing.T, s site, id string, code int) api.Status {
	t.Helper()
	st := becomes(t, s, id, "COMPLETED")
	if st.ExitCode == nil || *st.ExitCode != code {
		t.Fatalf("job %s ended with %v, not with exit code %d", id, deref(st.ExitCode), code)
	}
	return st
}

// goodJob shows that a site still runs jobs and gives their output.
func goodJob(t *testing.T, s site, dir string) {
	t.Helper()
	id := work{script: "echo all is well", output: "out.txt"}.submit(t, s, dir, "good")
	exits(t, s, id, 0)
	if got := output(t, s, dir, id, "out.txt"); got != "all is well\n" {
		t.Fatalf("the output of a good job is %q", got)
	}
}

// output fetches what a job left and gives one file of it.
func output(t *testing.T, s site, dir, id, name string) string {
	t.Helper()
	folder, err := os.MkdirTemp(dir, "output-")
	must(t, err)
	client(t, s, "output", id, folder, "--force")
	b, err := os.ReadFile(filepath.Join(folder, name))
	must(t, err)
	return string(b)
}

// jobs is what a site lists to its administrators: all it knows.
func jobs(t *testing.T, s site) []api.Status {
	t.Helper()
	return told[[]api.Status](t, s, "list")
}

// folder is where a site keeps a job's files.
func folder(s site, id string) string { return filepath.Join(s.Dir, "data", "jobs", id) }

// names lists a folder; one that is not there is empty.
func names(dir string) []string {
	var list []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// home is the site that a job's identifier names.
func home(id string) string { return string(grid.JobID(id).Site()) }
