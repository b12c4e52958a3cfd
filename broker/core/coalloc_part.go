package core

import (
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// Parts. Each is a job like any other, but for its place: it is handed to its site, bound to its
// reservation, and to no other. What it says in its reports is read from its record.

// hear takes what the records of the parts say.
func (s *coallocation) hear(a *allocation) {
	s.learn(a)
	changed := false
	for i := range a.rec.Parts {
		p := &a.rec.Parts[i]
		if !p.Made || p.Fate != 0 && p.Fate != grid.Lost {
			continue
		}
		was := *p
		r := s.wholes.part(p.Job)
		switch {
		case r == nil && p.Fate == 0:
			p.Fate, p.Begun = grid.Lost, true // a journal that was put back has lost it
		case r == nil:
		default:
			s.hearPart(a, p, r)
		}
		changed = changed || was.Fate != p.Fate || was.Begun != p.Begun || was.Arrived != p.Arrived
	}
	if changed {
		s.save(a, "")
	}
}

func (s *coallocation) hearPart(a *allocation, p *grid.AllocatedPart, r *grid.Record) {
	if p.Arrived = r.Arrived > 0; p.Arrived {
		p.Gathered = grid.Gathered{Site: p.Site, Hosts: r.Hosts, Address: r.Address, Rendezvous: r.Rendezvous}
	}
	p.Begun = p.Begun || r.Started > 0
	if r.State.Terminal() && p.Fate == 0 {
		p.Fate = r.State
	}
	if r.State == grid.Lost { // it may have begun, if it was ever told to
		p.Begun = p.Begun || p.Round < a.rec.Round || a.rec.Go > 0
	}
}

// makes tells of a part that is decided on, and has no record yet.
func (s *coallocation) makes(part grid.JobID) bool {
	for _, a := range s.all {
		for _, p := range a.current() {
			if p.Job == part && !p.Made && a.rec.State >= grid.Confirming && a.rec.State < grid.GivingUp {
				return true
			}
		}
	}
	return false
}

// failed tells of a part that has come to its end, or is to, without having begun or before the others have.
func (s *coallocation) failed(p *grid.AllocatedPart) (why string, is bool) {
	r := s.wholes.part(p.Job)
	switch {
	case !p.Made:
		return "", false
	case r == nil:
		return fmt.Sprintf("part %s at %s is gone", p.Job, p.Site), true
	case r.State.Terminal() || r.End != 0:
		return fmt.Sprintf("part %s at %s ended: %s", p.Job, p.Site, clip(r.Why())), true
	case p.Heard.Over() && !p.Begun:
		return fmt.Sprintf("%s does not hold its nodes any more", p.Site), true
	}
	return "", false
}

// stage makes the parts and hands them to their sites.
func (s *coallocation) stage(a *allocation) {
	whole, _ := s.wholes.whole(a.rec.Of)
	list, sites := a.current(), a.sites()
	there := 0
	for _, p := range list {
		if !p.Made {
			p.Made = true
			s.save(a, "")
			s.wholes.makePart(s.partOf(a, p, whole, sites))
		}
		if why, failed := s.failed(p); failed {
			s.abandon(a, why)
			return
		}
		if r := s.wholes.part(p.Job); s.isThere(p, r) {
			there++
		} else if r.State == grid.Ready {
			if no := s.wholes.place(p.Job, p.Peer, max(0, p.Start-p.Offset-s.wholes.instant())+s.cfg.Grace); no != nil {
				s.abandon(a, fmt.Sprintf("%s does not take its part: %s", p.Site, words(no)))
				return
			}
			s.wake(a, s.wholes.instant()+s.cfg.Again) // it may have refused its part for a moment, in which it is not offered to it
		}
	}
	if there == len(list) {
		s.become(a, grid.Gathering, "all parts are at their sites")
		s.wholes.tell(a.rec.Of, a.rec.Reason, a.rec.Start)
		return
	}
	s.lateAt(a, "not all parts came to their sites in time")
}

// sites are those of the round, by rank.
func (a *allocation) sites() []grid.PartSite {
	list := a.current()
	sites := make([]grid.PartSite, len(list))
	for _, p := range list {
		sites[p.Rank] = grid.PartSite{Name: p.Site, Processes: p.Processes, Peer: p.Peer}
	}
	return sites
}

// isThere tells that its site has the part in its batch system, or is about to.
func (s *coallocation) isThere(p *grid.AllocatedPart, r *grid.Record) bool {
	return r.Owner == p.Peer && (r.Role == grid.Watching || r.Role == grid.Owning && (r.State == grid.Assigned || r.State == grid.Running))
}

// partOf is the job of a part: the whole's, with what lies at its site.
func (s *coallocation) partOf(a *allocation, p *grid.AllocatedPart, whole *grid.Record, sites []grid.PartSite) grid.Job {
	j := whole.Job
	j.ID, j.Coallocation, j.Rerunnable = p.Job, nil, false
	j.Demand, j.Reservation, j.Sites = p.Demand, p.Reservation, grid.Choice{}
	j.Terms = grid.Terms{Deadline: whole.Job.Terms.Deadline, Fee: whole.Job.Terms.Fee}
	j.Part = &grid.Part{
		Of: a.rec.Of, Round: a.rec.Round, Rank: p.Rank, Sites: sites,
		Start: p.Start, Grace: s.cfg.Grace, Limit: p.Limit, Within: s.cfg.Within,
	}
	return j
}

func hasArrived(p *grid.AllocatedPart) bool { return p.Arrived }

func hasBegun(p *grid.AllocatedPart) bool { return p.Begun }

// gather waits for all to arrive; then GO is on disk. Where that is heard too late, as this broker was down, what is left of a
// part's limit is no longer what its program may take. A round that a lost branch of the journal may have told to go, goes on.
func (s *coallocation) gather(a *allocation) {
	list := a.current()
	for _, p := range list {
		if why, failed := s.failed(p); failed {
			s.abandon(a, why)
			return
		}
	}
	if a.rec.Go == 0 && s.wholes.instant() >= s.patience(a) {
		s.abandon(a, "a part waited too long at the barrier")
		return
	}
	if s.wholes.beforeGo(count(list, hasArrived), len(list)) == open {
		a.rec.Go = s.wholes.instant()
		s.become(a, grid.Going, "all parts have arrived: go")
		return
	}
	s.sooner(a)
	s.lateAt(a, "not all parts arrived in time")
}

// goOn tells all to go, until all have begun; a part that began ends itself when that takes too long.
func (s *coallocation) goOn(a *allocation) {
	list := a.current()
	var all []grid.Gathered
	for _, p := range list {
		g := p.Gathered
		g.Site = p.Site
		all = append(all, g)
	}
	if s.wholes.beforeAllBegun(count(list, hasBegun), len(list)) == open {
		a.rec.Begun = s.wholes.instant()
		s.become(a, grid.Together, "all parts have begun")
		s.wholes.begun(a.rec.Of)
		return
	}
	for _, p := range list {
		if why, failed := s.failed(p); failed && !p.Begun {
			s.abandon(a, why)
			return
		}
		if !p.Begun {
			s.tellPart(a, p, false, all)
		}
	}
	if end := a.rec.Go + s.cfg.Within + s.cfg.Grace; s.wholes.instant() < end {
		s.wake(a, end)
	} else {
		s.abandon(a, "not all parts began in time")
	}
}

// tellPart tells the site of a part that it may go, or that all have begun. begun is told as long as it counts.
func (s *coallocation) tellPart(a *allocation, p *grid.AllocatedPart, begun bool, all []grid.Gathered) {
	r := s.wholes.part(p.Job)
	key := sayGo
	if begun {
		key = sayBegun
	}
	if r != nil && s.repeat(a, key, p.Reservation) {
		m := wire.Gather{Job: p.Job, Epoch: r.Epoch, Begun: begun}
		if !begun {
			m.Sites = all
		}
		s.wholes.say(p.Peer, m)
	}
}

// reached: a site has just been connected, as after a start of its broker or of this one. What it was told meanwhile is lost, and its
// program may wait for it at the barrier: all that it has not answered is said at once, and not when its turn comes.
func (s *coallocation) reached(e PeerJournal) {
	for id, a := range s.all {
		for _, p := range a.current() {
			if p.Peer == e.Peer {
				s.stale[id] = true
				a.unsaid(p.Reservation)
			}
		}
	}
}

// unsaid has what was said about a reservation said again without delay.
func (a *allocation) unsaid(of grid.ReservationID) {
	for k, r := range a.said {
		if k.of == of {
			r.next = 0
			a.said[k] = r
		}
	}
}

// together tells all that all have begun, and waits for their ends.
func (s *coallocation) together(a *allocation) {
	list := a.current()
	for _, p := range list {
		if p.Fate == 0 && s.wholes.instant() < a.rec.Begun+s.cfg.Within+s.cfg.Grace {
			s.tellPart(a, p, true, nil)
		}
	}
	if whole, _ := s.wholes.whole(a.rec.Of); !whole.Job.Coallocation.Survive {
		s.endOthers(list)
	}
	if count(list, func(p *grid.AllocatedPart) bool { return p.Fate != 0 }) == len(list) {
		s.conclude(a, list)
	}
}

// endOthers: a part that failed ends the others.
func (s *coallocation) endOthers(list []*grid.AllocatedPart) {
	for _, p := range list {
		r := s.wholes.part(p.Job)
		if r == nil || r.End == 0 || wentWell(r) {
			continue
		}
		for _, o := range list {
			if o != p && o.Fate == 0 {
				s.wholes.cancel(o.Job, fmt.Sprintf("part %d, which failed", p.Rank+1))
			}
		}
		return
	}
}

func wentWell(r *grid.Record) bool {
	return r.End == grid.Completed && r.ExitCode == 0 && r.Signal == 0
}

func count(list []*grid.AllocatedPart, is func(*grid.AllocatedPart) bool) (n int) {
	for _, p := range list {
		if is(p) {
			n++
		}
	}
	return n
}
