package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/internal/cli"
)

// Status of an agent that was killed says that it does not run, whatever it told last.
func TestStatusOfWhoDoesNotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"Pool": "https://pool:1", "Connected": true, "Availability": "free"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, out := newRoot(), &bytes.Buffer{}
	cmd.SetArgs([]string{"status", "--dir", dir})
	cmd.SetOut(out)
	cmd.SetErr(out)
	err := cmd.Execute()
	if cli.Code(err) != 1 || !strings.Contains(err.Error(), "does not run") || strings.Contains(out.String(), "connected true") {
		t.Errorf("%v, code %d\n%s", err, cli.Code(err), out)
	}
}
