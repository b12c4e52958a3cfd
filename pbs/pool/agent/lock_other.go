//go:build !unix

package agent

import (
	"errors"
	"os"
	"path/filepath"
)

// lock takes the folder of an agent for this process, until the file is closed. Untested.
func lock(dir string) (*os.File, error) {
	if there, err := locked(dir); there || err != nil {
		return nil, errors.Join(err, errLocked)
	}
	return os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// locked tells that an agent has the folder: a file that is open cannot be removed. Untested.
func locked(dir string) (bool, error) {
	err := os.Remove(filepath.Join(dir, lockFile))
	return err != nil && !errors.Is(err, os.ErrNotExist), nil
}
