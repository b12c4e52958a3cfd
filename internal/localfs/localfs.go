// Package localfs writes files of the local disk so that a reader, a crash or a
// second writer never meets half of one.
//
// [Replace] gives a file new contents in one step: the contents go to a temporary
// file beside it, which is synced and renamed over it. [Create] writes a file that
// must not exist yet. [Lock] lets one process at a time change the files of a folder.
package localfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Replace writes data to path, whole or not at all, also over a power failure. An
// existing file keeps its mode, and its owner where this process may set it; a new
// one gets mode. A symbolic link is followed, so that it stays a link.
func Replace(path string, data []byte, mode fs.FileMode) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // a second close of a file already closed does no harm
			_ = os.Remove(f.Name())
		}
	}()
	var old unix.Stat_t
	if unix.Stat(path, &old) == nil {
		mode = fs.FileMode(old.Mode & 0o777)
		_ = f.Chown(int(old.Uid), int(old.Gid)) // only root may give files away
	}
	if err := f.Chmod(mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := fill(f, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return Sync(dir)
}

// Create writes data to a new file with exactly this mode; fs.ErrExist if there is one.
func Create(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	err = f.Chmod(mode) // the umask may have taken bits away
	if err == nil {
		err = fill(f, data)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return fmt.Errorf("creating %s: %w", path, err)
	}
	return Sync(filepath.Dir(path))
}

// fill writes, syncs and closes f.
func fill(f *os.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// Sync makes the names in a folder durable.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the folder %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing the folder %s: %w", dir, err)
	}
	return nil
}

// Lock waits until no other process (nor Lock of this one) holds the folder, or ctx
// is done. The kernel drops the lock with the process, so none is ever left behind.
func Lock(ctx context.Context, dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("locking the folder %s: %w", dir, err)
	}
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = d.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = d.Close()
			return nil, fmt.Errorf("locking the folder %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			_ = d.Close()
			return nil, fmt.Errorf("locking the folder %s: another command is changing it: %w", dir, ctx.Err())
		case <-retry.C:
		}
	}
}
