package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"gbroker/grid"
)

// lostError is an answer that got lost: what was asked may have been done.
type lostError struct{ err error }

func (e *lostError) Error() string { return "the broker's answer was lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// Lost reports that err tells of a lost answer: what was asked may have been done.
func Lost(err error) bool {
	var lost *lostError
	return errors.As(err, &lost)
}

// unreachableError is a broker that could not be connected to: nothing was done.
type unreachableError struct {
	address string
	err     error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("no broker answers at %s (%v): start one with 'gbroker run', or name another with --broker or $GBROKER", e.address, e.err)
}

func (e *unreachableError) Unwrap() []error { return []error{e.err, grid.ErrUnavailable} }

func unreachable(err error) bool {
	var u *unreachableError
	return errors.As(err, &u)
}

// Interrupted reports that err tells of a broker that is gone or restarting, so
// that asking again later may help.
func Interrupted(err error) bool {
	return unreachable(err) || Lost(err) || errors.Is(err, grid.ErrUnavailable)
}

// transportError makes sense of what http.Client says.
func (c *Client) transportError(err error) error {
	if errors.Is(err, grid.ErrUnavailable) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			if errors.Is(errno, fs.ErrPermission) {
				return fmt.Errorf("the broker's socket at %s may not be used by this user: %w", c.config.Address, op.Err)
			}
			return &unreachableError{c.config.Address, errno}
		}
		return &unreachableError{c.config.Address, op.Err}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &lostError{fmt.Errorf("%s does not answer in time: %w", c.config.Address, err)}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &lostError{err}
}

func readAnswer(r *http.Response, v any) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		return &lostError{err}
	}
	if r.StatusCode/100 == 2 {
		if v == nil {
			return nil
		}
		if err := json.Unmarshal(b, v); err != nil {
			return fmt.Errorf("the broker's answer is not understood, is it gbroker of the same version? %w", err)
		}
		return nil
	}
	f := Fault{Status: r.StatusCode}
	if err := json.Unmarshal(b, &f); err != nil || f.Text == "" {
		return fmt.Errorf("the broker answered %s without a reason, is it gbroker?", r.Status)
	}
	return &f
}

// maxAnswer bounds the JSON of an answer, in bytes: a list of grid.MaxFiles paths.
const maxAnswer = 64 << 20
