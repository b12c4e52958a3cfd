package embedded_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

// While the disk has no room no program starts, which could only fail there; it starts as soon as there is some.
func TestNothingStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changed := make(chan grid.AttemptID, 100)
	job := shellJob(dir, "A", "touch began")
	var looks atomic.Int32
	s, err := embedded.New(embedded.Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}},
		Spool: filepath.Join(dir, "spool"), Changed: func(at grid.AttemptID) { changed <- at }, Supervisor: quick(t),
		Full: func() bool {
			if _, err := os.Stat(filepath.Join(job.Work, "began")); err == nil && looks.Load() < 3 {
				t.Error("it began while the disk was full")
			}
			return looks.Add(1) < 3
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, job)
	if end := awaitEnds(t, s, changed, job)[0]; end.ExitCode != 0 || looks.Load() < 3 {
		t.Errorf("it ended %+v after %d looks at the disk", end, looks.Load())
	}
}
