package apitest

import (
	"context"
	"os"
	"path/filepath"

	"gbroker/api"
)

// Cleaner is the part of testing.TB that Start needs; testscript.Env has it as well.
type Cleaner interface {
	Fatal(...any)
}

// Start serves config, with a socket in a folder of its own if it names none, and
// returns the server when it can be reached. The caller ends it with stop, which
// waits for the end and returns Run's error.
func Start(t Cleaner, config api.Config) (s *api.Server, stop func() error) {
	dir := ""
	if config.SocketPath == "" {
		// Not t.TempDir: names of tests make paths too long for a socket.
		d, err := os.MkdirTemp("", "gb")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil { // other users connect too
			t.Fatal(err)
		}
		dir, config.SocketPath = d, filepath.Join(d, "s")
	}
	s, err := api.New(config)
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		if dir != "" {
			os.RemoveAll(dir)
		}
		return err
	}
	select {
	case <-s.Ready():
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return s, stop
}
