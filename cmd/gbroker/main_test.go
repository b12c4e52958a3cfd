package main

import (
	"testing"

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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"ends": ends},
		RequireExplicitExec: true,
	})
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
