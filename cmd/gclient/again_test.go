package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type mutedKey struct{}

// beMute is the broker at $MUTE: it takes calls, and never answers.
func beMute(env *testscript.Env) error {
	socket := filepath.Join(env.WorkDir, "mute.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	calls := make(chan net.Conn, 100)
	env.Values[mutedKey{}] = calls
	env.Setenv("MUTE", "unix://"+socket)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				close(calls)
				return
			}
			calls <- c
		}
	}()
	env.Defer(func() {
		_ = l.Close()
		<-ended
		for c := range calls {
			_ = c.Close()
		}
	})
	return nil
}

// called waits until the mute broker was called, and something was asked of it.
func called(ts *testscript.TestScript, _ bool, _ []string) {
	calls, _ := ts.Value(mutedKey{}).(chan net.Conn)
	select {
	case c := <-calls:
		_, err := c.Read(make([]byte, 1))
		ts.Check(err)
	case <-time.After(20 * time.Second):
		ts.Fatalf("nobody called")
	}
}

func TestWordsForAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"job.sh": "job.sh", "": "''", "-J prec": "'-J prec'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a\nb": "'a\nb'", "--time=1:00": "--time=1:00", "*.dat": "'*.dat'", "Grüße": "Grüße", "~": "'~'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}
