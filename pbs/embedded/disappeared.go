package embedded

import (
	"errors"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/embedded/sweep"

	"go.uber.org/zap"
)

// disappeared ends an attempt whose supervisor vanished: what is left of its
// program is killed, and the end is written, unless the supervisor had done so.
func (s *System) disappeared(at grid.AttemptID, dir string, token control.Token, fresh bool) error {
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return err
	}
	again, err := token.Process.Rebooted()
	if err != nil {
		return err
	}
	if again { // nothing of it can be left
		s.log.Warn("a job ran when the machine was restarted", zap.Stringer("attempt", at))
		return control.WriteEnd(dir, at, control.End{
			At: control.Now(), Cause: grid.Disappeared, Detail: "the machine was restarted while it ran",
		})
	}
	run, ran, err := control.ReadRun(dir, at)
	if err != nil && !errors.Is(err, grid.ErrDamaged) { // the mark finds them too
		return err
	}
	ran = ran && err == nil
	if err := s.groups.clear(at.Tag()); err != nil {
		s.log.Warn("the control group of a job whose supervisor vanished", zap.Stringer("attempt", at), zap.Error(err))
	}
	killed, left := sweep.Marked(supervise.Mark(at), run.Leader, ran && fresh)
	s.log.Warn("a job's supervisor vanished", zap.Stringer("attempt", at),
		zap.Int("supervisor", token.Process.PID), zap.Int("killed", killed), zap.Int("left", left))
	return control.WriteEnd(dir, at, control.End{
		At: control.Now(), Cause: grid.Disappeared,
		Detail: "its supervisor ended without a word: it was killed",
	})
}
