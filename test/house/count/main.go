// Command count runs the tests and tells them to people: a line for each package, the
// output of what failed, the reasons of what was skipped, and last
//
//	N passed, N failed, N skipped
//
//	count COMMAND... : PACKAGE... [-- COMMAND... : PACKAGE...] [then COMMAND... : PACKAGE...] [and COMMAND...]
//
// The commands (go test -json and its flags) run at the same time, each with its packages; those
// behind a "then" when all before it have ended, whether or not they failed. What is behind an
// "and" begins at once, and neither waits for what is before it nor is waited for.
// A package that fails without a failing test (it does not build, it panics, it hangs)
// counts as one failure, and so does a command that fails without one, or runs nothing. The
// exit code is 1 if anything failed.
//
// Up to [few] tests that failed are run once more, alone, by the command that ran them: a test
// with real daemons and real clusters may meet a machine that is too busy. One that passes
// then is counted as passed, and named in a line that begins with "AGAIN"; what is really
// wrong fails both times.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of go test -json; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output
	Elapsed                       float64
}

// tally counts events.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[string][]string // of each package and test, until it ends
	broken                  map[string][]string // packages in which tests failed, and which
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, output: make(map[string][]string), broken: make(map[string][]string)}
}

func main() {
	t := newTally(os.Stdout)
	all, err := chains(os.Args[1:])
	if err == nil {
		err = t.tests(all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		t.failed++
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	if t.failed > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(t.out, line) // the go command itself
			} else {
				t.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
	}
}

func (t *tally) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.output[key] = append(t.output[key], e.Output)
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.packageEnds(e)
		} else {
			t.testEnds(e, t.output[key])
		}
		delete(t.output, key)
	}
}

func (t *tally) testEnds(e event, output []string) {
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
		fmt.Fprintf(t.out, "skip  %s %s: %s\n", e.Package, e.Test, reason(output))
	case "fail":
		t.failed++
		t.broken[e.Package] = append(t.broken[e.Package], e.Test)
		fmt.Fprintf(t.out, "FAIL  %s %s\n%s", e.Package, e.Test, strings.Join(output, ""))
	}
}

func (t *tally) packageEnds(e event) {
	switch {
	case e.Action == "skip": // it has no tests
	case e.Action == "pass":
		fmt.Fprintf(t.out, "ok    %s %.1fs\n", e.Package, e.Elapsed)
	case t.broken[e.Package] != nil:
		fmt.Fprintf(t.out, "FAIL  %s %.1fs\n", e.Package, e.Elapsed)
	default:
		t.failed++
		fmt.Fprintf(t.out, "FAIL  %s %.1fs, in no test of its own:\n", e.Package, e.Elapsed)
		for key, lines := range t.output { // of the tests that never ended, too
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(t.out, strings.Join(lines, ""))
			}
		}
	}
}

// reason is what a skipped test said.
func reason(output []string) string {
	for _, line := range output {
		text := strings.TrimSpace(line)
		if text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
			return text
		}
	}
	return "no reason given"
}
