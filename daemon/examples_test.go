package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The examples are right, and those in the operators' page too.
func TestExamplesOfBatch(t *testing.T) {
	t.Parallel()
	systems := map[string]string{configName: Embedded, "slurm.yaml": Slurm, "pool.yaml": Pool}
	for name, system := range systems {
		text, err := os.ReadFile(filepath.Join("../configs", name))
		if err != nil {
			t.Fatal(err)
		}
		c := Default("/site")
		if wrong := parseConfig(&c, name, text); len(wrong) > 0 || c.Batch.System != system {
			t.Errorf("%v; %+v", wrong, c.Batch)
		}
	}
	page, err := os.ReadFile("../docs/batch.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block := range strings.SplitSeq(string(page), "```yaml\n") {
		text, _, is := strings.Cut(block, "```")
		if !is || !strings.Contains(text, "batch:") {
			continue
		}
		n++
		c := Default("/site")
		if wrong := parseConfig(&c, "docs/batch.md", []byte("site: a\n"+text)); len(wrong) > 0 {
			t.Errorf("%v in\n%s", wrong, text)
		}
	}
	if n < 4 {
		t.Errorf("the page has %d examples of batch", n)
	}
}
