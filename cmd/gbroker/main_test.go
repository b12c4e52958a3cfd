package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gbroker": main})
}

// TestScripts uses the commands as an administrator would, with a daemon beside.
func TestScripts(t *testing.T) {
	t.Parallel()
	play(t, true)
}

// TestLargeScripts uses all other commands: nothing runs beside them, and what the race detector may find in
// the doctor's probes and in jobs by hand is found by TestDoctor, TestByHand and TestReserveByHand.
func TestLargeScripts(t *testing.T) {
	t.Parallel()
	play(t, false)
}

// play runs the scripts in which a daemon runs, or the others.
func play(t *testing.T, daemon bool) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "&daemon&") == daemon {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Fatalf("no script of %d", len(all))
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		// ends CODE COMMAND...: the exit code is exactly CODE
		// until exists FILE waits for the file; until ends COMMAND... until it prints "ended"
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"ends": ends, "until": until},
		RequireExplicitExec: true,
	})
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "exists" && args[0] != "ends" {
		ts.Fatalf("usage: until exists FILE, or until ends COMMAND...")
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if args[0] == "ends" {
			if ts.Check(ts.Exec(args[1], args[2:]...)); strings.Contains(ts.ReadFile("stdout"), " ended ") {
				return
			}
		} else if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			return
		}
	}
	ts.Fatalf("in vain: until %v", args)
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends CODE COMMAND...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		code = e.ExitCode()
	}
	if want := args[0]; want != string(rune('0'+code)) {
		ts.Fatalf("%v ended with %d, want %s", args[1:], code, want)
	}
}
