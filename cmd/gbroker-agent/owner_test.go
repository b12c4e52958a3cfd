package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/internal/cli"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
)

// Status of an agent that was killed says that it does not run, whatever it told last.
func TestStatusOfWhoDoesNotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"Pool": "https://pool:1", "Connected": true, "Availability": "free"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pool.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := ask("status", "--dir", dir)
	if cli.Code(err) != cli.No || !strings.Contains(err.Error(), "does not run") || strings.Contains(out, "connected") {
		t.Errorf("%v, code %d\n%s", err, cli.Code(err), out)
	}
}

// ask runs a command, and gives what it prints.
func ask(args ...string) (string, error) {
	cmd, out := newRoot(), &bytes.Buffer{}
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	err := cmd.Execute()
	return out.String(), err
}

// A folder that has joined nothing is the owner's mistake, whatever is asked of it; so is a code that is none.
func TestFolderOfNoPool(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"status", "run", "pause", "resume", "leave"} {
		dir := t.TempDir()
		if _, err := ask(command, "--dir", dir); cli.Code(err) != cli.No || !strings.Contains(err.Error(), dir+" has joined no pool") {
			t.Errorf("%s: code %d, %v", command, cli.Code(err), err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", command, left, err)
		}
	}
	if _, err := ask("join", "--dir", t.TempDir(), "nonsense"); cli.Code(err) != cli.No {
		t.Errorf("a code that is none: code %d, %v", cli.Code(err), err)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]agent.State{
		"connected to the pool at desks:4050; free (told 2s ago)":                             {Pool: "https://desks:4050", Connected: true, Availability: line.Free},
		"connected to the pool at desks:4050; paused: its owner said pause (told 2s ago)":     {Pool: "https://desks:4050", Connected: true, Availability: line.Paused, Why: "its owner said pause"},
		"not connected to the pool at desks:4050; active: its owner is at work (told 2s ago)": {Pool: "https://desks:4050", Availability: line.Active, Why: "its owner is at work"},
	} {
		if got := sentence(&s, 2*time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
