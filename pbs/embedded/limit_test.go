package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

// A job that writes more than the site allows into one file ends, and is told why; one
// that stays below is not touched.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changed := make(chan grid.AttemptID, 100)
	s, err := embedded.New(embedded.Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}}, FileLimit: 64 << 10,
		Spool: filepath.Join(dir, "spool"), Changed: func(at grid.AttemptID) { changed <- at }, Supervisor: quick(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	const lot = "head -c 100000 /dev/zero"
	itself := shellJob(dir, "A", "exec "+lot)
	child := shellJob(dir, "B", lot+" > file")
	several := shellJob(dir, "C", "head -c 60000 /dev/zero > one; head -c 60000 /dev/zero > two; exec head -c 60000 /dev/zero")
	submit(t, s, itself, child, several)
	ends := awaitEnds(t, s, changed, itself, child, several)
	for _, p := range ends[:2] {
		if p.ExitCode != 153 || p.Cause != grid.ByItself || !strings.Contains(p.Detail, "reached the limit of site here, 65536 bytes") {
			t.Errorf("what wrote too much ended %+v", p)
		}
	}
	if p := ends[2]; p.ExitCode != 0 || p.Detail != "" {
		t.Errorf("what stayed below ended %+v", p)
	}
	for name, size := range map[string]int64{
		filepath.Join(itself.Work, "stdout"): 64 << 10, filepath.Join(child.Work, "file"): 64 << 10, filepath.Join(several.Work, "stdout"): 60_000,
	} {
		if info, err := os.Stat(name); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
