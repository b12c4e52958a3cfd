package daemon

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/internal/localfs"
)

// TestWatchNeighbours follows one file through good and bad changes.
func TestWatchNeighbours(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := initSite(t)
	core, logs := observer.New(zapcore.InfoLevel)
	applied := make(chan []grid.Member)
	var refuse atomic.Bool
	hangup := make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- watchNeighbours(ctx, c, hangup, zap.New(core), new(atomic.Pointer[string]), func(n Neighbourhood) error {
			applied <- n.Members
			if refuse.Load() {
				return errors.New("not these")
			}
			return nil
		})
	}()
	next := func(what string) []grid.Member {
		select {
		case m := <-applied:
			return m
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not applied", what)
			return nil
		}
	}
	logged := func(text string) {
		t.Helper()
		end, again := time.After(10*time.Second), time.NewTicker(time.Millisecond)
		defer again.Stop()
		for logs.FilterMessageSnippet(text).Len() == 0 {
			select {
			case <-again.C:
			case <-end:
				t.Fatalf("the log never said %q: %v", text, logs.All())
			}
		}
	}
	set := func(text string) {
		if err := localfs.Replace(c.Neighbours, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	hangup <- os.Interrupt // the first round is over once this is taken
	logged("neighbours unchanged")
	if _, err := AddNeighbour(ctx, c, grid.Member{Name: "b", Peer: peerA, Send: true, DefaultBandwidth: 1}); err != nil {
		t.Fatal(err)
	}
	if m := next("a new member"); len(m) != 1 || m[0].Name != "b" {
		t.Errorf("applied was %v", m)
	}
	set("members: [{name: b, peer: nobody}, {nam: c}]\n")
	logged("neighbours refused, the old ones stay")
	told := logs.FilterMessageSnippet("refused").All()[0].ContextMap()["mistakes"]
	if list, ok := told.([]any); !ok || len(list) != 4 || !strings.Contains(list[0].(string), c.Neighbours+":1:27: peer:") {
		t.Errorf("the log named the mistakes %v", told)
	}
	refuse.Store(true)
	set("members: []\n")
	next("an empty list")
	logged("neighbours refused, the old ones stay")
	hangup <- os.Interrupt // what was refused is tried again on demand
	if m := next("the empty list again"); len(m) != 0 {
		t.Errorf("applied was %v", m)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the watch ended with %v", err)
	}
}
