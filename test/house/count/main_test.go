package main

import (
	"bytes"
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
	c := &tally{out: &out, output: make(map[string][]string), broken: make(map[string]bool)}
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
