package main

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// Commands that are run at once have one key, and leave nothing beside it.
func TestOneKeyIsMade(t *testing.T) {
	t.Parallel()
	for range 20 {
		folder := filepath.Join(t.TempDir(), "gbroker")
		keys := make([]ed25519.PrivateKey, 8)
		var all sync.WaitGroup
		for n := range keys {
			all.Go(func() {
				var err error
				if keys[n], err = userKey(folder, true); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		kept, err := userKey(folder, false)
		if err != nil || slices.ContainsFunc(keys, func(k ed25519.PrivateKey) bool { return !k.Equal(kept) }) {
			t.Fatalf("a pass is for a key that was not kept (%v)", err)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
			t.Fatalf("%v is there (%v)", list, err)
		}
	}
}

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
