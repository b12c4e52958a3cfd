package agent

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
)

// The jobs of one user at a time are here; another's wait until the last has left.
func TestTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var house tenants
		in := func(who string) {
			if err := house.enter(t.Context(), who); err != nil {
				t.Fatal(err)
			}
		}
		in("anna@here")
		in("anna@here")
		came := false
		go func() {
			house.enter(t.Context(), "bert@here")
			came = true
		}()
		house.leave()
		if synctest.Wait(); came {
			t.Error("the jobs of two users are on one computer")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := house.enter(gone, "carl@here"); err == nil {
			t.Error("a job that is dropped enters")
		}
		house.leave()
		if synctest.Wait(); !came {
			t.Error("a job waits for nobody")
		}
	})
}

// A file that has become a pipe, which nobody writes to, is no output and holds nothing up.
func TestPipeIsNoOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "state")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	was, err := os.Lstat(name)
	if err == nil {
		err = os.Remove(name)
	}
	if err == nil {
		err = syscall.Mkfifo(name, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(job).bringOne(ctx, root, "state", fs.FileInfo(was)); err != nil {
		t.Error(err)
	}
}
