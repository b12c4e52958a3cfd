package pool

import (
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// whereabouts adds to the progress of a job that was started which computer has it, and why it stands still there; e may be nil.
func (s *System) whereabouts(e *entry, p *grid.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e == nil || p.Phase != grid.Started {
		return
	}
	c := e.computer
	if p.Starts = e.count; c == nil || e.stint == "" {
		if e.count > 0 {
			p.Still = "its computer could not go on with it: it waits to be started again"
		}
		return
	}
	p.Place = c.name
	switch {
	case e.result != "":
		p.Still = fmt.Sprintf("the result of computer %s, which is not trusted, waits to be compared with that of another", c.name)
	case time.Since(c.seen) >= s.absent():
		p.Still = fmt.Sprintf("computer %s, which has it, is not heard", c.name)
	case e.report.State == line.Suspended:
		if away := s.away(c); away != present {
			p.Still = fmt.Sprintf("suspended: computer %s is %s", c.name, away)
		}
	}
}
