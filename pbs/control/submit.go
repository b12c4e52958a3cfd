package control

import (
	"errors"
	"fmt"
	"os"

	"gbroker/grid"
)

// WriteSubmit records, durably, that an attempt is submitted out of this very directory. It
// comes before the command that submits it.
func WriteSubmit(dir string, at grid.AttemptID) error {
	content := encode([]field{{"attempt", at.String()}, {"at", number(Now())}})
	tmp, err := temporary(dir, content, true)
	if err == nil {
		err = os.Chmod(tmp, 0o644) // the wrapper may run as another account
	}
	if err == nil {
		err = os.Rename(tmp, path(dir, "submit", at))
		if err == nil {
			err = syncDirectory(dir)
		} else {
			err = errors.Join(err, os.Remove(tmp))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: recording the submission of %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// Submitted tells whether an attempt was, or may have been, submitted out of this directory.
func Submitted(dir string, at grid.AttemptID) (bool, error) {
	r, err := open(dir, "submit", at)
	if r == nil || err != nil {
		return false, err
	}
	r.attempt(at)
	r.instant("at")
	return r.err == nil, r.done()
}
