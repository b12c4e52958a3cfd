package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// remote are file systems, by the magic number that statfs gives, on which locks
// and fsync cannot be relied on, or which two machines can mount at once.
var remote = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x65735546: "fuse",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x00c36400: "ceph",
	0x01021997: "9p",
	0x19830326: "beegfs",
	0x20030528: "orangefs",
	0xaad7aaea: "panfs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x73757245: "coda",
	0x0000564c: "ncp",
	0xbacbacbc: "vmhgfs",
}

type statfs func(path string, st *unix.Statfs_t) error

// checkLocal refuses folders on network file systems.
func checkLocal(dir string, stat statfs) error {
	var st unix.Statfs_t
	if err := stat(dir, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	if name, ok := remote[uint32(st.Type)]; ok {
		return fmt.Errorf("%w: %s is on %s, where a journal is not safe: set data to a folder on a local disk", ErrNetwork, dir, name)
	}
	return nil
}

// Space is how many bytes are free on the disk of the journal for who runs the
// daemon. The broker refuses new work below a reserve, so that jobs already held
// can still be written.
func (j *Journal) Space() (int64, error) {
	free, err := j.free()
	if err == nil {
		j.reserve.follow(free)
	}
	return free, err
}

func (j *Journal) free() (int64, error) {
	var st unix.Statfs_t
	if err := j.stat(j.dir, &st); err != nil {
		return 0, fmt.Errorf("look at the space left for %s: %w", j.dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Exists tells whether there is a journal in the data folder dir.
func Exists(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, "journal.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a journal in %s: %w", dir, err)
	}
	return true, nil
}

// prepare makes the data folder and keeps others out of it.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("keep others out of the data folder: %w", err)
	}
	return nil
}

// lockPatience is how long a lock is waited for. A process that a killed daemon had
// just forked holds the lock until it has become another program: milliseconds, but
// a daemon that is started at once would find the folder in use.
const lockPatience = time.Second

// lock takes the folder for this process until the file is closed; the kernel lets
// go of it when the process ends, however it ends.
func lock(ctx context.Context, dir string) (*os.File, error) {
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	err = flock(ctx, f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%w: process %s has %s: stop it first, or set data to another folder", ErrInUse, holder(f), name)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return f, nil
}

func flock(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// holder is the process id in the lock file.
func holder(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return pid
	}
	return "of unknown id"
}

// syncDir makes names created in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
