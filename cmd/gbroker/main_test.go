package main

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gbroker": main})
}

// TestScripts uses every command as an administrator would.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		// ends CODE COMMAND...: the exit code is exactly CODE
		// until exists FILE: waits for the file
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"ends": ends, "until": until},
		RequireExplicitExec: true,
	})
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "exists" {
		ts.Fatalf("usage: until exists FILE")
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			return
		}
	}
	ts.Fatalf("%s does not appear", args[1])
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
