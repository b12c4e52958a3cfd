package stage

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// fewFiles is up to how many files each is synced by itself; beyond, one sync of
// the whole file system costs less.
const fewFiles = 16

// settle makes the named files of root, and the folders that lead to them, durable.
func settle(root *os.Root, names []string) error {
	if len(names) > fewFiles {
		return syncAll(root)
	}
	done := map[string]bool{}
	for _, n := range names {
		for p := n; !done[p]; p = path.Dir(p) {
			done[p] = true
			if err := syncPath(root, p); err != nil {
				return err
			}
			if p == "." {
				break
			}
		}
	}
	return nil
}

// syncPath syncs one file or folder of root.
func syncPath(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncAll syncs the file system that root lies on.
func syncAll(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))), f.Close())
}

// worthWriteback is from how many bytes on an early start of writing pays.
const worthWriteback = 128 << 10

// startWriteback asks the kernel to begin writing a part of f, so that the sync at
// the end is short. It is advice: errors show up in that sync.
func startWriteback(f *os.File, offset, length int64) {
	if length < worthWriteback {
		return
	}
	_ = unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE)
}
