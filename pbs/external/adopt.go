package external

import (
	"context"

	"gbroker/grid"
	"gbroker/pbs/control"

	"go.uber.org/zap"
)

// An attempt may have a local job and no spool file: that was damaged, or is lost. It gets an
// entry again when it is asked about, by its mark in a listing, so that the local job can be
// removed and its end is told like any other's.

// known is the entry of an attempt; nil where there is none, and no listing shows a local job.
// Where the nodes take no start token only the batch system can say that there is none.
func (s *System) known(ctx context.Context, at grid.AttemptID, dir string) (*entry, error) {
	if e := s.entry(at); e != nil {
		return e, nil
	}
	said, err := control.Submitted(dir, at)
	if err != nil {
		return nil, err
	}
	got := s.poller.last()
	if said && s.config.Blind {
		if got, err = s.poller.fresh(ctx); err != nil {
			return nil, err
		}
	}
	if got == nil {
		return nil, nil
	}
	for _, j := range s.locals(got.Jobs, at) {
		return s.adopt(at, dir, j)
	}
	return nil, nil
}

// keepStarted gives an attempt an entry that has started and has none: also where no listing
// shows it, as it may have ended without a word.
func (s *System) keepStarted(at grid.AttemptID, dir string) {
	done, _ := s.begin(at.String())
	if done == nil {
		return
	}
	defer done()
	got := s.poller.last()
	said, err := control.Submitted(dir, at)
	if s.entry(at) != nil || got == nil || !said || err != nil {
		return
	}
	var j Job
	for _, j = range s.locals(got.Jobs, at) {
		break
	}
	if _, err := s.adopt(at, dir, j); err != nil {
		s.log.Warn("a job without a spool file gets none now", zap.Stringer("attempt", at), zap.Error(err))
	}
}

// adopt makes the entry of an attempt whose local job is j; the zero Job is none that is known.
func (s *System) adopt(at grid.AttemptID, dir string, j Job) (*entry, error) {
	e := &entry{
		ID: at, Control: dir, Local: j.Local, Queue: j.Queue, Demand: j.Demand, Limit: j.Limit,
		Submitted: control.Now(), Blind: s.config.Blind, Released: s.config.Blind,
	}
	if j.User != "" {
		e.As = s.foreignAccount(j.User)
	}
	if err := s.enter(e); err != nil {
		return nil, err
	}
	s.log.Warn("an attempt whose spool file is lost is known again", zap.Stringer("attempt", at), zap.String("local", string(j.Local)))
	return e, nil
}
