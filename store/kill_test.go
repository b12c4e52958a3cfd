package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/test/mounts"
)

// childFolder tells the test binary, run again as a process of its own, to commit
// to that folder until it is killed.
const childFolder = "GBROKER_STORE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := commitForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if what := os.Getenv(childStep); what != "" {
		fmt.Fprintln(os.Stderr, migrateUntilKilled(what))
		os.Exit(1)
	}
	mounts.Own()
	os.Exit(m.Run())
}

// commitForEver commits job after job and prints the number of each that is durable.
func commitForEver(dir string) error {
	ctx := context.Background()
	j, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	for n := int(j.ID().Sequence); ; n++ {
		if err := j.Commit(ctx, []grid.Change{save(n, "submitted"), save(n, "ready")}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// What was told to be durable is there after kill -9, whole, and nothing that a
// reader could take for it besides at most the commit under way.
func TestKill9(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	last := -1
	for range 3 {
		last = killAfter(t, dir, last, 40)
		j, err := Open(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		records := mustLoad(t, j)
		if len(records) <= last || len(records) > last+2 || int(j.ID().Sequence) != len(records) {
			t.Errorf("%d was told, %d records, %v", last, len(records), j.ID())
		}
		for i, r := range records {
			events, err := history(j, r.Job.ID)
			if r.Job.ID != idOf(i) || err != nil || len(events) != 2 {
				t.Errorf("record %d is %s with %d events, %v", i, r.Job.ID, len(events), err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		last = len(records) - 1
	}
}

// killAfter runs a committing process until it has told n more numbers, kills it and
// gives the last that it told.
func killAfter(t *testing.T, dir string, last, n int) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir)
	var errs strings.Builder
	child.Stderr = &errs
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for told := 0; lines.Scan(); told++ {
		if told == n {
			if _, err := Open(ctx, dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", child.Process.Pid)) {
				t.Errorf("while process %d runs: %v", child.Process.Pid, err)
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		var number int
		if _, err := fmt.Sscan(lines.Text(), &number); err != nil || number != last+1 {
			t.Fatalf("%q after %d", lines.Text(), last)
		}
		last = number
	}
	if err := child.Wait(); err == nil || errs.Len() > 0 {
		t.Fatalf("the process was not killed: %v %s", err, errs.String())
	}
	return last
}
