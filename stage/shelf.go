package stage

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// shelf is the folder that a stream put its last small file in. It stays open, as the next one most likely goes there too: to follow a
// path from the job's folder costs more than to write a kilobyte.
type shelf struct {
	name string
	dir  *os.File
}

func (s *shelf) open(root *os.Root, name string) error {
	if s.dir != nil && s.name == name {
		return nil
	}
	s.close()
	if err := root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	s.name, s.dir = name, dir
	return nil
}

func (s *shelf) close() {
	if s.dir != nil {
		s.dir.Close()
		s.dir = nil
	}
}

// put makes a file with all its bytes, where none is yet; if that fails, none is left.
func (s *shelf) put(root *os.Root, name string, mode fs.FileMode, data []byte) error {
	if err := s.open(root, path.Dir(name)); err != nil {
		return err
	}
	base, at := path.Base(name), int(s.dir.Fd())
	fd, err := create(at, base)
	if err != nil {
		return &fs.PathError{Op: "make", Path: name, Err: err}
	}
	if err = writeAll(fd, data); err == nil && mode != 0o600 {
		err = unix.Fchmod(fd, uint32(mode))
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: errors.Join(err, unix.Unlinkat(at, base, 0))}
	}
	return nil
}

// create makes a file of a folder.
func create(dir int, name string) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}
