package api

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A socket that was deleted is made again; what stands in its place is left alone, also
// at the end.
func TestSocketMadeAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	s, err := openSocket(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				ended <- err
				return
			}
			c.Close()
		}
	}()
	answers := func() {
		t.Helper()
		end := time.After(10 * time.Second)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
				return
			}
			select {
			case <-end:
				t.Fatalf("nobody answers: %v", err)
			case <-tick.C:
			}
		}
	}
	answers()
	for range 2 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		answers()
	}
	if err := os.WriteFile(path+".new", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // at once: else the socket may be made again between the two
		t.Fatal(err)
	}
	s.look()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("Accept goes on")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("another's file is %q, %v", text, err)
	}
}
