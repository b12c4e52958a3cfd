package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// neighbourhood is this site among its members: what is heard of them, and what they are told of
// it. It has no state but the kernel's.
type neighbourhood struct {
	*kernel
	gates interface {
		beforePlacing(j *job) gate
	}
	home interface {
		loseContact(j *job)
		pull(j *job)
		pursueCancel(j *job)
		report(j *job)
	}
	ownership interface {
		declineRemoved(j *job)
		dropOffer(j *job, why string)
		handoffID(j *job) wire.HandoffID
		offersRemoved()
		release(a *acceptance)
		sendAbort(b wire.HandoffID, why string)
		sendOffer(j *job, wait grid.Tick)
	}
	recovery interface {
		successorsRemoved()
		membersChanged(before map[grid.PeerID]*member)
		saveState()
		tellSeen(p grid.PeerID)
	}
	search interface {
		passSoon()
		undecide(j *job)
	}
}

func (c *neighbourhood) routes(r *routes) {
	onEvent(r, c.peerChanged)
	onEvent(r, func(e PeerJournal) { c.reportAgain(e.Peer, isPart) })
	onEvent(r, func(e PeerSite) { c.hear(e.Peer, func(m *member) { m.site = e.Site }) })
	onEvent(r, func(e LinkChanged) { c.hear(e.Peer, func(m *member) { m.link = e.Link }) })
	onEvent(r, c.membersChanged)
	onEvent(r, c.ownSite)
	onEvent(r, c.drainRequest)
	onEvent(r, func(e LimitsChanged) { c.cfg.User, c.cfg.OfferFiles = e.User, e.OfferFiles })
	onMessage(r, c.announced)
	onMessage(r, func(from grid.PeerID, m wire.Error) {
		if m.Of != wire.KindRecall { // that it has no record of the job is an answer
			c.note(m.Job, from, fmt.Sprintf("the peer answered message kind %d with an error: %.200s", m.Of, m.Why))
		}
	})
}

// membersChanged takes the lines of the neighbours' file.
func (c *neighbourhood) membersChanged(e MembersChanged) {
	before := c.members
	c.setMembers(e.Members)
	c.recovery.membersChanged(before)
	c.membersRemoved()
}

// removed lets go of what hung on members that are none any more.
func (c *neighbourhood) membersRemoved() {
	for _, id := range slices.Sorted(maps.Keys(c.accepted)) {
		if c.members[c.accepted[id].from] == nil {
			c.ownership.release(c.accepted[id])
		}
	}
	c.recovery.successorsRemoved()
	c.ownership.offersRemoved()
	for _, j := range c.sorted() {
		c.ownership.declineRemoved(j)
		if h := j.rec.Handoff; h.Phase == grid.Offering && c.members[h.To] == nil {
			c.ownership.dropOffer(j, "the candidate was removed from the neighbours")
		}
	}
}

// isPart: others wait for the word of it; any other job can be reported when its turn comes.
func isPart(j *job) bool { return j.rec.Job.Part != nil }

func isAny(*job) bool { return true }

// reportAgain: the home of jobs has just been connected, or lives again. What it was told meanwhile is lost.
func (c *neighbourhood) reportAgain(home grid.PeerID, which func(*job) bool) {
	for _, j := range c.sorted() {
		if j.rec.Job.Home == home && which(j) && (j.rec.Telling || j.rec.Role == grid.Owning && !j.acked) {
			c.disarm(j, onReport)
			c.home.report(j)
		}
	}
}

// peerChanged: an offer that a peer cannot have heard is given up at once, and one
// that it is fetching the files of when it is dead (a short break of the network
// costs nothing: what was fetched counts); the home says since when it has not
// heard of a job.
func (c *neighbourhood) peerChanged(e PeerChanged) {
	c.hear(e.Peer, func(m *member) { m.live, m.heard = e.Liveness, true })
	m := c.members[e.Peer]
	if m == nil {
		return
	}
	if e.Liveness == grid.Alive && !m.told {
		c.recovery.tellSeen(e.Peer)
		c.armWithin(seenDue, c.cfg.Retry)
	}
	if e.Liveness == grid.Dead {
		for _, id := range slices.Sorted(maps.Keys(c.accepted)) {
			if a := c.accepted[id]; a.from == e.Peer {
				c.ownership.release(a) // its owner makes a new offer when it is back
			}
		}
	}
	for _, j := range c.sorted() {
		switch {
		case j.rec.Handoff.Phase == grid.Offering && j.rec.Handoff.To == e.Peer:
			c.candidateChanged(j, m)
		case j.rec.Role == grid.Owning && j.rec.State == grid.Ready && e.Liveness == grid.Alive:
			c.search.undecide(j) // nobody could take it: perhaps this site can
		case j.rec.Role == grid.Watching && j.rec.Owner == e.Peer && !j.rec.State.Terminal():
			c.ownerChanged(j, e.Liveness)
		}
	}
	if e.Liveness == grid.Alive {
		c.reportAgain(e.Peer, isAny)
	}
}

func (c *neighbourhood) candidateChanged(j *job, m *member) {
	switch {
	case m.live == grid.Alive: // perhaps restarted: then it has forgotten that it accepted
		c.ownership.sendOffer(j, j.chosenWait())
	case m.live == grid.Dead || j.heard == 0:
		c.ownership.sendAbort(c.ownership.handoffID(j), "the candidate was not to be reached")
		c.ownership.dropOffer(j, fmt.Sprintf("the offer died: %s is %s", m.Name, m.live))
	}
}

func (c *neighbourhood) ownerChanged(j *job, l grid.Liveness) {
	if l == grid.Alive {
		if j.rec.CancelRequested {
			c.home.pursueCancel(j)
		}
		if j.rec.State == grid.StageOut {
			c.home.pull(j)
		}
		return
	}
	c.home.loseContact(j)
}

// ownSite follows the batch system, and tells the neighbours.
func (c *neighbourhood) ownSite(e OwnSite) {
	if !e.Site.Same(c.cfg.Site) {
		c.cfg.Site = e.Site
		c.announce()
	}
}

func (c *neighbourhood) announce() {
	a := wire.Announce{Site: c.facts()}
	if !c.draining {
		a.Starts = c.foretold.told(c.now)
	}
	for _, m := range c.neighbours() {
		c.send(m, a)
	}
}

func (c *neighbourhood) announced(from grid.PeerID, a wire.Announce) {
	m := c.members[from]
	m.site = a.Site
	m.foretold = foretold{c.now - a.Starts.Age, a.Starts}
}
