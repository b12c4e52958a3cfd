package pool

import (
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// What cannot be told to be submitted is not spooled: after a restart it would run, and its broker has been told that it does not.
func TestNothingIsSpooledInPart(t *testing.T) {
	t.Parallel()
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1}})
	dir := t.TempDir()
	sub := grid.Submission{
		ID: grid.AttemptID{Job: "p.01ABCDEFGHJKMNPQRSTVWXYZ00", Attempt: 1}, Work: dir, Control: dir, Limit: grid.Hour,
		Job: grid.Job{User: grid.User{Name: "anna"}, Demand: single, Program: grid.Program{Executable: "/bin/true"}},
	}
	if err := os.Mkdir(filepath.Join(dir, "submit."+sub.ID.Epoch.String()+".1"), 0o700); err != nil { // in the way of its file
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), sub); err == nil {
		t.Fatal("a job is taken of which nothing can be written")
	}
	if left, err := os.ReadDir(s.jobs.Path); err != nil || len(left) > 0 {
		t.Errorf("the spool holds %v, %v", left, err)
	}
}
