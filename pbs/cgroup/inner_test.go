package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// A program may make groups in its own: they go with it, and what runs in them.
func TestGroupsInAGroupAreCleared(t *testing.T) {
	t.Parallel()
	own, err := Own()
	if err != nil {
		t.Skipf("control groups: %v", err)
	}
	dir, err := os.MkdirTemp(own, "gbroker-test-")
	if err != nil {
		t.Skipf("control groups: %v", err)
	}
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		t.Skipf("control groups: %v", err)
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), []byte(strconv.Itoa(sleeper.Process.Pid)), 0o644); err != nil {
		t.Error(err)
	}
	if err := Clear(dir); err != nil {
		t.Error(err)
	}
	if err := sleeper.Wait(); err == nil {
		t.Error("what ran in a group within it went on")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is there")
	}
}
