package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// How far journals have come. A journal has a random incarnation, made with it; each start of
// it draws the random number of a *life*, which it writes down; and its sequence grows
// with every commit. Hello, Offer, Accept, Ready, Commit, Declined, Unknown, Recount and
// Seen carry this position; everybody keeps, of every member, the highest sequence seen of
// each of its lives, durably, and tells it back ([wire.Seen]), when it hears a Hello and
// when asked. A file beside the journal has the position too ([grid.Witness]).
//
// Invariant: a journal *reaches* a position if the life is in its own list of lives, and the
// sequence no higher than the next life began. Whoever is told of a position of its
// own that its journal does not reach was rolled back: however far it has grown since.
//
//	its own incarnation, not reached           it was rolled back: restored from a backup
//	its own incarnation, and a later one       likewise
//	in Owned or a report, a certificate of its own    likewise, if its journal has not made that certificate
//	another incarnation before its own         its journal was lost: it learns its jobs again
//	its own boot nonce, and another after it   a duplicate: two brokers run under one identity
//
// What is done then is in rollback.go. A branch about which all were asked is written down
// ([grid.SiteState.Lost]): to hear of it again is no news.

// maxSequence is beyond what any journal reaches.
const maxSequence = 1 << 62

// Durable tells how far the journal is: what is sent from now on says so. It is
// called after each commit and before its effects leave.
func (c *Core) Durable(sequence uint64) {
	c.cfg.Journal.Sequence = max(c.cfg.Journal.Sequence, sequence)
	if !c.within {
		c.retire()
		c.shorten()
	}
}

// peerJournal takes the word of a peer's Hello, and tells it what was seen of it.
func (c *recovery) peerJournal(e PeerJournal) {
	m := c.members[e.Peer]
	if m == nil {
		return
	}
	c.saw(e.Peer, e.Journal)
	if boots := c.boots[e.Peer]; len(boots) == 0 || boots[len(boots)-1] != e.Boot {
		boots = append(slices.Clone(boots), e.Boot)
		c.boots[e.Peer] = boots[max(0, len(boots)-wire.MaxBoots):]
	}
	c.tellSeen(e.Peer)
}

func (c *recovery) tellSeen(p grid.PeerID) { c.answerSeen(p, 0) }

// answerSeen is tellSeen, in answer to a question.
func (c *recovery) answerSeen(p grid.PeerID, question uint32) {
	m := c.members[p]
	m.mine = c.cfg.Journal.Sequence
	s := wire.Seen{Journals: c.highWater[p], Boots: c.boots[p], Mine: c.cfg.Journal, Stamp: c.stamped(), Answers: question}
	if !m.told {
		s.WantsReply, s.Question = true, c.stalls
	}
	c.send(p, s)
}

// tellGrowth lets the live members know how far this journal has come since they
// were told.
func (c *recovery) tellGrowth() {
	for _, p := range c.neighbours() {
		if m := c.members[p]; m.live == grid.Alive && m.told && m.mine != c.cfg.Journal.Sequence {
			c.tellSeen(p)
		}
	}
	c.armGeneral(growthDue, c.cfg.Digest)
}

// growthSoon: a job is given away. Should this journal lose that, the candidate may not be there to tell;
// so all who live are told at once how far it has come, and any of them will know that it was rolled back.
func (c *recovery) growthSoon() {
	const soon = grid.Second / 5 // many handoffs at a time are told once
	c.armWithin(growthDue, soon)
}

// saw notes how far a member says its journal has come. The life that was heard of last is
// its present one.
func (c *recovery) saw(from grid.PeerID, at grid.JournalID) {
	if at == (grid.JournalID{}) {
		return
	}
	known := c.highWater[from]
	k := slices.IndexFunc(known, at.SameLife)
	switch {
	case k < 0:
		known = append(slices.Clone(known), at)
		known = known[max(0, len(known)-wire.MaxJournals):]
	case at.Sequence > known[k].Sequence:
		known = slices.Clone(known)
		known[k] = at
	default:
		return
	}
	c.highWater[from] = known
	c.emit(Saw{Peer: from, Journal: at})
}

// mark is how far the present journal of a peer was seen to be, in its present life; zero if
// it never was.
func (c *recovery) mark(p grid.PeerID) grid.JournalID {
	if n := len(c.highWater[p]); n > 0 {
		return c.highWater[p][n-1]
	}
	return grid.JournalID{}
}

// askSeen asks the live members that have not said yet what they saw of this broker.
func (c *recovery) askSeen() {
	again := false
	for _, p := range c.neighbours() {
		if m := c.members[p]; m.live == grid.Alive && !m.told {
			c.tellSeen(p)
			again = true
		}
	}
	if again {
		c.armGeneral(seenDue, c.cfg.Retry)
	}
}

// settled tells that the position lies on a branch that is known to be lost, and about which
// all were asked.
func (c *recovery) settled(at grid.JournalID) bool {
	return slices.ContainsFunc(c.state.Lost, func(l grid.JournalID) bool { return l.SameLife(at) && at.Sequence <= l.Sequence })
}

// onSeen is what a member saw of this broker.
func (c *recovery) onSeen(from grid.PeerID, m wire.Seen) {
	c.heardStamp(m.Stamp, !c.members[from].told)
	if m.Answers == c.stalls { // what was said before the last stall may still have lain in a buffer
		c.members[from].told = true
	}
	c.saw(from, m.Mine)
	if m.WantsReply {
		c.answerSeen(from, m.Question)
	}
	if k := slices.Index(m.Boots, c.cfg.Boot); c.cfg.Boot != 0 && k >= 0 {
		for _, b := range m.Boots[k:] {
			if b != c.cfg.Boot {
				c.foundDuplicate(from)
				return
			}
		}
	}
	ours := false // the present incarnation was seen before
	for _, at := range m.Journals {
		same := at.Incarnation == c.cfg.Journal.Incarnation
		switch {
		case at.Sequence > maxSequence: // no journal comes so far
		case !same && !ours:
			c.bereft = true
		case !c.reaches(at):
			c.rolledBackTo(from, at)
		}
		ours = ours || same
	}
}

// begunAnew tells that this journal replaces one that was lost.
func (c *recovery) begunAnew() bool { return c.bereft }

// witnessed is what the file beside the journal tells at a start.
func (c *recovery) witnessed() {
	w := c.gates.witness()
	at := w.Position
	c.heardStamp(w.Stamp, true)
	switch {
	case at == (grid.JournalID{}):
	case at.Incarnation != c.cfg.Journal.Incarnation && len(c.cfg.Lives) <= 1:
		c.bereft = true // it was made anew
	case !c.reaches(at) && !c.settled(at):
		c.rolledBack("the file beside it has seen a later one", at)
	}
}
