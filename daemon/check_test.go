package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"gbroker/overlay"
)

// TestExamples: the files of configs/ are right.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{configName, neighboursName} {
		text, err := os.ReadFile(filepath.Join("..", "configs", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := overlay.CreateKey(filepath.Join(dir, "identity.key")); err != nil {
		t.Fatal(err)
	}
	c, err := Load(filepath.Join(dir, configName))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Members) != 2 || !c.Members[0].Send || c.Members[1].Send || c.Members[0].RateLimit != 100_000_000 {
		t.Errorf("the example's members are %+v", c.Members)
	}
}

// TestCheckTellsAll: Check goes on where Load stops.
func TestCheckTellsAll(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	for path, mode := range map[string]os.FileMode{c.Data: 0o755, c.IdentityFile(): 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		c.File:       "site: here\napi: 127.0.0.1:0\nspeed: x\n",
		c.Neighbours: "members: [{}]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(c.TokenFile()); err != nil {
		t.Fatal(err)
	}
	_, wrong, err := Check(c.File)
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[string]int)
	for _, m := range wrong {
		told[m.File]++
	}
	for _, path := range []string{c.File, c.IdentityFile(), c.Neighbours, c.Data, c.TokenFile()} {
		if told[path] == 0 {
			t.Errorf("nothing is told of %s: %v", path, wrong)
		}
	}
}
