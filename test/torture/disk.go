package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// diskSize is that of a site's small disk, in bytes: the reserve that a broker keeps free
// (64 MiB), the space kept back (32 MiB), what it keeps of its jobs, and something to fill.
const diskSize = 192 << 20

// disk is a small file system of one site's data folder alone.
type disk struct{ dir string }

func newDisk(dir string) (*disk, error) {
	if err := unix.Mount("gbroker-torture", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", diskSize)); err != nil {
		return nil, fmt.Errorf("mounting a small disk on %s: %w", dir, err)
	}
	return &disk{dir}, nil
}

// fill makes the disk so small that no more than left bytes are free.
func (d *disk) fill(left int64) error {
	for {
		var s unix.Statfs_t
		if err := unix.Statfs(d.dir, &s); err != nil {
			return fmt.Errorf("looking at the disk %s: %w", d.dir, err)
		}
		used := int64(s.Blocks-s.Bfree) * s.Bsize
		err := d.resize(used + left)
		if !errors.Is(err, unix.EINVAL) { // more was written meanwhile
			return err
		}
	}
}

func (d *disk) empty() error { return d.resize(diskSize) }

func (d *disk) resize(size int64) error {
	if err := unix.Mount("", d.dir, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d", size)); err != nil {
		return fmt.Errorf("making the disk %s %d bytes large: %w", d.dir, size, err)
	}
	return nil
}

func (d *disk) remove() error {
	if d == nil {
		return nil
	}
	if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", d.dir, err)
	}
	return nil
}
