package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// A broker that calls itself as another does takes that one's pass from nobody.
func TestPassesOfOneName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	now := time.Now().Unix()
	first := api.Pass{User: "alice", Home: "first", Site: "a", Until: now + 1000}
	file, err := keepPass(folder, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keepPass(folder, api.Pass{User: "alice", Home: "second", Site: "a", Until: now + 1000}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("the pass of another broker: %v", err)
	}
	again := first
	again.Until = now - 1
	if _, err := keepPass(folder, again); err != nil {
		t.Errorf("a new pass of the same broker: %v", err)
	}
	if _, err := keepPass(folder, api.Pass{User: "alice", Home: "second", Site: "a", Until: now + 1000}); err != nil {
		t.Errorf("after that has run out: %v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"second"`) {
		t.Errorf("the file has %s, %v", text, err)
	}
	if _, err := keepPass(folder, api.Pass{Home: "x", Site: "../../x"}); err == nil {
		t.Error("a site's name leads out of the folder")
	}
}
