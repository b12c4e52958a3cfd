package core

import (
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/wire"
)

// ending is what becomes of a whole.
type ending struct {
	state    grid.State
	why      string
	hasExit  bool
	exitCode int
	signal   int
	usage    grid.Usage
	finished grid.Tick
}

// abandon gives the round up, if there is one. It is on disk before anything is taken back.
func (s *coallocation) abandon(a *allocation, why string) {
	s.become(a, grid.GivingUp, why)
	s.wholes.tell(a.rec.Of, why, 0)
}

// giveUp takes back what was begun. Before GO that need not be waited for: no part was told to go, and none
// will be. After it what the start tokens say decides.
func (s *coallocation) giveUp(a *allocation) {
	whole, _ := s.wholes.whole(a.rec.Of)
	switch {
	case a.rec.Go == 0 || whole.Job.Rerunnable:
	case a.awaits(whole):
		s.wake(a, s.wholes.instant()+s.cfg.Rest)
		return // what is left is cleared away meanwhile
	case a.begun():
		s.endWhole(a, ending{state: grid.Failed, why: "a part began without the others, and the program may not run twice: " + a.rec.Reason})
		return
	}
	why := a.rec.Reason
	s.become(a, grid.Planned, why)
	if _, kept := s.wholes.whole(a.rec.Of); kept != notKept {
		return // its user or its terms have ended the round: it has not failed
	}
	s.vain(a, why)
}

// ends ends the whole as its user wishes, or has it over when it is.
func (s *coallocation) ends(a *allocation) bool {
	if a.rec.State == grid.Over || a.rec.State == grid.OneSite {
		return true
	}
	r, kept := s.wholes.whole(a.rec.Of)
	switch {
	case r == nil || r.State.Terminal():
		a.rec.Ended = s.wholes.instant()
		s.become(a, grid.Over, "the job has ended")
		return true
	case a.apart(r):
		s.become(a, grid.OneSite, "a branch of the journal that is lost has sent it to one site")
		s.wholes.pursue(a.rec.Of)
		return true
	case r.CancelRequested:
		s.endCancelled(a, r)
		return true
	case kept != notKept && a.rec.State != grid.Planned && a.rec.State < grid.Going:
		s.abandon(a, kept.because(r))
	}
	return false
}

// endCancelled ends all parts, and the whole when they have.
func (s *coallocation) endCancelled(a *allocation, r *grid.Record) {
	left := 0
	for i := range a.rec.Parts {
		if p := &a.rec.Parts[i]; p.Made && p.Fate == 0 {
			left++
			s.wholes.cancel(p.Job, "the job that it is a part of")
		}
	}
	if left > 0 {
		return
	}
	if s.wholes.beforeCancel(a.rec.Of) != open { // other parts may run, of which nobody has told yet
		s.wake(a, s.wholes.instant()+grid.Second)
		return
	}
	if list := a.current(); count(list, hasBegun) > 0 {
		s.conclude(a, list)
		return
	}
	of := ending{state: grid.Killed, why: "cancelled before it started"}
	if r.Overdue {
		of.state, of.why = grid.CancelledDeadline, "its deadline has passed before it started"
	}
	s.endWhole(a, of)
}

// conclude makes the end of the whole of those of its parts. A part that was ended because of another has no
// say in it.
func (s *coallocation) conclude(a *allocation, list []*grid.AllocatedPart) {
	of := ending{state: grid.Completed}
	var whys []string
	var cut, lost bool
	whole, _ := s.wholes.whole(a.rec.Of)
	wished := whole.CancelRequested || count(list, func(p *grid.AllocatedPart) bool { return p.Fate == grid.Killed }) == len(list)
	for _, p := range list {
		r := s.wholes.part(p.Job)
		if r == nil {
			of.state = grid.Lost
			continue
		}
		of.add(r, wished || r.State != grid.Killed)
		cut = cut || !wished && r.State == grid.Killed
		lost = lost || p.Fate == grid.Lost
		whys = noted(whys, p, r)
	}
	if cut && lost && of.state == grid.Completed {
		of.state = grid.Lost // others were ended because of one that was given up, and whose result has come after all
	}
	if whole.CancelRequested && of.state == grid.Killed && whole.Overdue {
		of.state = grid.CancelledDeadline
	}
	of.why = clip(strings.Join(whys, "; "))
	s.endWhole(a, of)
}

// severity orders ends: the whole's is the gravest of its parts'.
var severity = []grid.State{grid.Completed, grid.Killed, grid.CancelledDeadline, grid.CancelledWalltime, grid.Failed, grid.Lost}

// add takes the end of a part into that of the whole. The exit status is that of the first part that went wrong
// by itself, else of the first.
func (of *ending) add(r *grid.Record, counts bool) {
	if counts && slices.Index(severity, r.State) > slices.Index(severity, of.state) {
		of.state = r.State
	}
	if r.HasExit && (!of.hasExit || of.exitCode == 0 && of.signal == 0 && r.State == grid.Completed) {
		of.hasExit, of.exitCode, of.signal = true, r.ExitCode, r.Signal
	}
	of.usage.CPU += r.Usage.CPU
	of.usage.Memory += r.Usage.Memory
	of.finished = max(of.finished, r.Finished)
	if r.Usage.Nodes != "" {
		of.usage.Nodes = strings.TrimPrefix(of.usage.Nodes+","+r.Usage.Nodes, ",")
	}
}

// endWhole ends it, or looks again later.
func (s *coallocation) endWhole(a *allocation, of ending) {
	if s.wholes.unheard(a.rec.Of, of.state) {
		s.wake(a, s.wholes.instant()+grid.Second)
		return
	}
	a.rec.Ended = s.wholes.instant()
	s.become(a, grid.Over, of.why)
	s.wholes.end(a.rec.Of, of)
}

// clear takes back what is left of rounds that are over: parts are cancelled, which takes their start tokens or
// ends them, and reservations released; both are repeated until they are heard.
func (s *coallocation) clear(a *allocation) {
	for i := range a.rec.Parts {
		p := &a.rec.Parts[i]
		if p.Round == a.rec.Round && a.rec.State > grid.Planned && a.rec.State < grid.GivingUp {
			continue
		}
		if p.Made && p.Fate == 0 {
			s.wholes.cancel(p.Job, "the round that it is of was given up")
		}
		if !p.Asked || p.Heard.Over() || s.mayRun(p) || s.wholes.instant() > p.End-p.Offset+grid.Day {
			continue
		}
		if first := a.said[saying{sayRelease, p.Reservation}].tries == 0; (first || s.wholes.beforeReleasingAgain() == open) && s.repeat(a, sayRelease, p.Reservation) {
			s.wholes.say(p.Peer, wire.Release{ID: p.Reservation, Why: clip(a.rec.Reason)})
		}
	}
}

// mayRun tells that the part has not come to its end at its site.
func (s *coallocation) mayRun(p *grid.AllocatedPart) bool {
	r := s.wholes.part(p.Job)
	return p.Made && p.Fate == 0 && (r == nil || r.End == 0)
}
