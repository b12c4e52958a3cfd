package line

import (
	"errors"
	"slices"
	"syscall"
)

// passing are the errors of a disk that may be gone a moment later.
var passing = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EINTR, syscall.EAGAIN, syscall.EBUSY,
}

// Passes tells that what a disk refused may be had a moment later: it is tried again, and nothing is given up for it.
func Passes(err error) bool {
	return slices.ContainsFunc(passing, func(n syscall.Errno) bool { return errors.Is(err, n) })
}
