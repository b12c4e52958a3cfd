package control

import (
	"errors"
	"fmt"
	"os"

	"gbroker/grid"
)

// Grant says which computer of a pool has the start token of an attempt. A pool that has lost all else
// knows by it where the attempt runs, and what it needs to bring it to an end.
type Grant struct {
	At         grid.Tick
	Computer   string
	Stint      string // by chance, of this computer's hold of the attempt
	Count      int    // 1 for the first; more where a rerunnable attempt was cut off
	Work       string // the sandbox
	Limit      grid.Tick
	Rerunnable bool
}

// WriteGrant tells, durably, who has the token. It is taken before.
func WriteGrant(dir string, at grid.AttemptID, g Grant) error {
	rerunnable := 0
	if g.Rerunnable {
		rerunnable = 1
	}
	content := encode([]field{
		{"attempt", at.String()}, {"at", number(g.At)}, {"computer", g.Computer}, {"stint", g.Stint}, {"count", number(g.Count)},
		{"work", g.Work}, {"limit", number(g.Limit)}, {"rerunnable", number(rerunnable)},
	})
	tmp, err := temporary(dir, content, true)
	if err == nil {
		if err = os.Rename(tmp, path(dir, "grant", at)); err == nil {
			err = syncDirectory(dir)
		} else {
			err = errors.Join(err, os.Remove(tmp))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: writing who may start %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// RemoveGrant takes back, durably, a grant of which nobody was told.
func RemoveGrant(dir string, at grid.AttemptID) error {
	err := os.Remove(path(dir, "grant", at))
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = syncDirectory(dir)
	}
	if err != nil {
		return fmt.Errorf("%w: taking back who may start %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// ReadGrant reads what WriteGrant wrote last; there is false if nobody was told to start.
func ReadGrant(dir string, at grid.AttemptID) (g Grant, there bool, err error) {
	r, err := open(dir, "grant", at)
	if r == nil || err != nil {
		return g, false, err
	}
	r.attempt(at)
	g.At = r.instant("at")
	g.Computer, g.Stint = r.text("computer"), r.text("stint")
	g.Count = int(r.number("count", 1, 1<<31))
	g.Work = r.text("work")
	g.Limit = grid.Tick(r.number("limit", 1, 1<<53))
	g.Rerunnable = r.number("rerunnable", 0, 1) == 1
	return g, true, r.done()
}
