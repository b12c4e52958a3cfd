package control

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"gbroker/grid"
)

// path is the name of a control file.
func path(dir, kind string, at grid.AttemptID) string {
	return dir + "/" + kind + "." + at.Epoch.String() + "." + strconv.FormatUint(uint64(at.Attempt), 10)
}

// HostFile is the path of the program's host file.
func HostFile(dir string, at grid.AttemptID) string { return path(dir, "hosts", at) }

// SitesFile is the path of the host file of a whole co-allocated job.
func SitesFile(dir string, at grid.AttemptID) string { return path(dir, "sites", at) }

var temporaries atomic.Uint64

// temporary writes content under a name of its own in dir; with sync it is on disk.
func temporary(dir string, content []byte, sync bool) (name string, err error) {
	name = fmt.Sprintf("%s/.tmp.%d.%d.%d", dir, os.Getpid(), time.Now().UnixNano(), temporaries.Add(1))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
		return "", err
	}
	return name, nil
}

// create makes the file appear whole if there is none; created is false if there was.
func create(dir, name string, content []byte) (created bool, err error) {
	tmp, err := temporary(dir, content, true)
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp)
	err = os.Link(tmp, name)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return false, err
	}
	// A network file system may repeat a link that had succeeded.
	mine, err1 := os.Lstat(tmp)
	there, err2 := os.Lstat(name)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	return os.SameFile(mine, there), nil
}

// replace makes the file appear whole, whatever was there.
func replace(dir, name string, content []byte) error {
	tmp, err := temporary(dir, content, false)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// read is the content of a control file; nil if there is none in a directory that is there.
func read(dir, name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, unreadable(dir, err)
		}
		if !info.IsDir() {
			return nil, unreadable(dir, syscall.ENOTDIR)
		}
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(dir, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: control file %s is longer than %d bytes", grid.ErrDamaged, name, maxFile)
	}
	return data, nil
}

// unreadable says that nothing is known. What is gone, or is something else than it was made
// as, is damaged; other errors may pass.
func unreadable(dir string, err error) error {
	for _, lasting := range []error{os.ErrNotExist, os.ErrPermission, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENXIO} {
		if errors.Is(err, lasting) {
			err = fmt.Errorf("%w: %w", grid.ErrDamaged, err)
			break
		}
	}
	return fmt.Errorf("%w: control directory %s cannot be read, so nothing is known of its attempts: %w", grid.ErrUnavailable, dir, err)
}
