package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	t.Parallel()
	const input = `a line of the go command
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: no MPI here\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC/sub","Output":"wrong\n"}
{"Action":"fail","Package":"p","Test":"TestC/sub"}
{"Action":"fail","Package":"p","Elapsed":1}
{"Action":"skip","Package":"without"}
{"Action":"build-output","ImportPath":"q","Output":"q.go:1: syntax error\n"}
{"Action":"output","Package":"q","Output":"FAIL q [build failed]\n"}
{"Action":"fail","Package":"q"}
{"Action":"output","Package":"r","Test":"TestHang","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"r"}
`
	var out bytes.Buffer
	c := newTally(&out)
	if err := c.read(strings.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	if c.passed != 1 || c.failed != 3 || c.skipped != 1 {
		t.Errorf("%d passed, %d failed, %d skipped; want 1, 3, 1", c.passed, c.failed, c.skipped)
	}
	for _, want := range []string{"a line of the go command", "skip  p TestB: b_test.go:1: no MPI here", "FAIL  p TestC/sub\nwrong", "q.go:1: syntax error", "panic: test timed out"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "quiet") {
		t.Errorf("the output of a test that passed is told:\n%s", out.String())
	}
}

// A test that fails once and passes alone is counted as passed, and named; one that
// fails again, or that the second run does not reach, stays failed.
func TestAgain(t *testing.T) {
	t.Parallel()
	const first = `{"Action":"fail","Package":"p","Test":"TestA/sub"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestB"}
`
	for _, c := range []struct {
		what, second   string
		passed, failed int
	}{
		{"it passes", `{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`, 3, 0},
		{"it fails again", first, 1, 2},
		{"nothing runs", `{"Action":"pass","Package":"p"}`, 1, 2},
		{"it does not build", `{"Action":"fail","Package":"p"}`, 1, 2},
	} {
		var out bytes.Buffer
		tally := newTally(&out)
		if err := tally.read(strings.NewReader(first)); err != nil {
			t.Fatal(err)
		}
		script := `[ "$*" = "-count=1 -run ^(TestA)$ p" ] && printf '%s\n' '` + c.second + "'"
		if err := tally.again([]string{"sh", "-c", script, "sh"}); err != nil {
			t.Fatal(err)
		}
		if tally.passed != c.passed || tally.failed != c.failed {
			t.Errorf("%s: %d passed, %d failed; want %d, %d", c.what, tally.passed, tally.failed, c.passed, c.failed)
		}
		if told := strings.Contains(out.String(), "AGAIN p: failed once, and passed alone: TestA/sub TestA"); told != (c.failed == 0) {
			t.Errorf("%s: told %v:\n%s", c.what, told, out.String())
		}
	}
}

// said is a command that prints these lines, and ends with the code.
func said(code int, lines ...string) run {
	script := fmt.Sprintf("printf '%%s\\n' '%s'; exit %d", strings.Join(lines, "\n"), code)
	return run{[]string{"sh", "-c", script, "sh"}, []string{"p"}}
}

const passes = `{"Action":"pass","Package":"p","Test":"TestA"}`

// What all commands passed and failed is counted; a command that fails without a failed
// test, or runs nothing, is a failure.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what           string
		runs           []run
		passed, failed int
		wrong          bool
	}{
		{"both pass", []run{said(0, passes), said(0, passes)}, 2, 0, false},
		{"one fails", []run{said(0, passes), said(1, passes, `{"Action":"fail","Package":"q","Test":"TestB"}`)}, 2, 1, false},
		{"one ends with 1", []run{said(0, passes), said(1, passes)}, 2, 0, true},
		{"one is empty", []run{said(0, passes), said(0)}, 1, 0, true},
		{"one is missing", []run{said(0, passes), {[]string{"/nowhere/go"}, []string{"p"}}}, 1, 0, true},
	} {
		tally := newTally(io.Discard)
		err := tally.tests([]chain{{c.runs}})
		if tally.passed != c.passed || tally.failed != c.failed || (err != nil) != c.wrong {
			t.Errorf("%s: %d passed, %d failed, %v", c.what, tally.passed, tally.failed, err)
		}
	}
}

// Where many fail, over all commands, it is not the machine: nothing is run again.
func TestTooManyForAgain(t *testing.T) {
	t.Parallel()
	var most []string
	for i := range few/2 + 1 {
		most = append(most, fmt.Sprintf(`{"Action":"fail","Package":"p","Test":"Test%d"}`, i))
	}
	first := said(1, most...) // run again, it would say that all pass
	first.command[2] = `case "$*" in *-run*) printf '%s\n' '` + strings.ReplaceAll(strings.Join(most, "\n"), "fail", "pass") + `';; *) ` + first.command[2] + `;; esac`
	tally := newTally(io.Discard)
	if err := tally.tests([]chain{{{first}, {first}}}); err != nil || tally.failed != 2*len(most) {
		t.Errorf("two commands: %d failed, %v", tally.failed, err)
	}
	tally = newTally(io.Discard)
	if err := tally.tests([]chain{{{first}}}); err != nil || tally.failed != 0 || tally.passed != len(most) {
		t.Errorf("one: %d passed, %d failed, %v", tally.passed, tally.failed, err)
	}
}

// A stage begins when the one before has ended, also where that one failed.
func TestStages(t *testing.T) {
	t.Parallel()
	ended := filepath.Join(t.TempDir(), "ended")
	first, second := said(1, passes), said(0, passes)
	first.command[2] = "sleep 0.2; touch " + ended + "; " + first.command[2]
	second.command[2] = "[ -e " + ended + " ] && " + second.command[2]
	tally := newTally(io.Discard)
	if err := tally.tests([]chain{{{first}, {second}}}); err == nil || tally.passed != 2 {
		t.Errorf("%d passed, %v", tally.passed, err)
	}
}

// What stands behind an "and" begins at once, and is not waited for.
func TestBeside(t *testing.T) {
	t.Parallel()
	begun, ended := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "ended")
	first, second, beside := said(0, passes), said(0, passes), said(0, passes)
	until := func(file string) string { // or for a minute
		return "for i in $(seq 6000); do [ -e " + file + " ] && break; sleep 0.01; done; [ -e " + file + " ] || exit 1; "
	}
	first.command[2] = until(begun) + first.command[2]
	second.command[2] = "touch " + ended + "; " + second.command[2]
	beside.command[2] = "touch " + begun + "; " + until(ended) + beside.command[2]
	tally := newTally(io.Discard)
	if err := tally.tests([]chain{{{first}, {second}}, {{beside}}}); err != nil || tally.passed != 3 {
		t.Errorf("%d passed, %v", tally.passed, err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	got, err := chains(strings.Fields("go test -json : ./a ./b -- go test -race : ./c then go vet : ./d and go build : ./e"))
	want := []chain{
		{{{[]string{"go", "test", "-json"}, []string{"./a", "./b"}}, {[]string{"go", "test", "-race"}, []string{"./c"}}}, {{[]string{"go", "vet"}, []string{"./d"}}}},
		{{{[]string{"go", "build"}, []string{"./e"}}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "go test", "go test :", ": ./a", "go test : ./a -- go", "go test : ./a then", "then go test : ./a", "go test : ./a and"} {
		if _, err := chains(strings.Fields(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
