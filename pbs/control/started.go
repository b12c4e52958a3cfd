package control

import (
	"errors"
	"fmt"

	"gbroker/grid"
)

// ReadStarted reads run and end of an attempt that has started.
func ReadStarted(p *grid.Progress, dir string, token Token) (ended bool, err error) {
	end, ended, err := ReadEnd(dir, p.ID)
	if err != nil {
		return false, fmt.Errorf("looking for the end of %s: %w", p.ID, err)
	}
	run, ran, err := ReadRun(dir, p.ID)
	if err != nil && !errors.Is(err, grid.ErrDamaged) { // the token tells nearly as much
		return false, fmt.Errorf("looking for the start of %s: %w", p.ID, err)
	}
	ran = ran && err == nil
	p.Phase, p.Started = grid.Started, token.At
	if ran {
		p.Started = run.At
	}
	if !ended {
		return false, nil
	}
	if p.Usage, err = ReadUsage(dir, p.ID); errors.Is(err, grid.ErrDamaged) {
		p.Usage = grid.Usage{} // not known
	} else if err != nil {
		return false, fmt.Errorf("looking for the usage of %s: %w", p.ID, err)
	}
	p.Phase, p.Finished = grid.Ended, max(end.At, p.Started) // one may be told by a node, the other by the batch system
	p.ExitCode, p.Signal, p.Cause, p.Detail = end.ExitCode, end.Signal, end.Cause, end.Detail
	if end.Cause == grid.NeverRan {
		p.Started = 0
	}
	return true, nil
}
