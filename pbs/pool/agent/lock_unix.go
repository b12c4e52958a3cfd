//go:build unix

package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock takes the folder of an agent for this process, until the file is closed; the kernel lets go of it with the process, however that ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	// What a killed agent had just forked holds the lock until it has become another program.
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { //house:allow sleep: a second at most, before the agent is one
		if err = flock(f, syscall.LOCK_EX); err == nil {
			return f, nil
		}
		if !errors.Is(err, errLocked) || time.Since(begun) > time.Second {
			f.Close()
			return nil, err
		}
	}
}

// locked tells that an agent has the folder. Who may not change the folder may ask too.
func locked(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = flock(f, syscall.LOCK_SH)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, err
}

func flock(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
