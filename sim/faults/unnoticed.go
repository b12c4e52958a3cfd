package faults

import (
	"slices"

	"gbroker/grid"
)

// What a site has lost with its whole machine or in a power cut it cannot notice by itself. What it did in ignorance of that, before somebody who
// had seen that part of its journal could be heard, nobody could have kept from happening.

// unheardOf: its home has lost, with its whole machine or in a power cut, and so unnoticed there, that it gave the job away at that
// epoch, or to who gave it on; and what it did at the instant now it did before a member that had seen that part of its
// journal could be heard, or at once.
func (f *fact) unheardOf(e grid.Epoch, now grid.Tick) bool {
	return f.home.ignorant(f.leftHome(e), now)
}

// ignorant: a site has lost, with its whole machine or in a power cut, and so unnoticed there, what it did at one instant, and what it did at another
// it did before a member that had seen that part of its journal could be heard, or at once.
func (s *site) ignorant(of, now grid.Tick) bool {
	return slices.ContainsFunc(s.lapses, func(l lapse) bool {
		return l.unnoticed && l.covers(of) && l.at <= now && (l.heard == 0 || now <= l.heard+hearing)
	})
}

// gaveTwice: a site has lost, unnoticed, that it gave the job away to where one owns it, or to who gave it on, and has given it to where another does in
// ignorance of that.
func (f *fact) gaveTwice(one, other grid.Epoch) bool {
	for at, lost := range f.given {
		for then, anew := range f.given {
			leads := at.Term == one.Term && !one.Before(at) && then.Term == other.Term && !other.Before(then)
			if leads && lost.by == anew.by && lost.by.ignorant(lost.at, anew.at) && !f.cameBack(lost.by, at, then) {
				return true
			}
		}
	}
	return false
}

// cameBack: the job was given to a site between two epochs.
func (f *fact) cameBack(to *site, from, until grid.Epoch) bool {
	for at, g := range f.given {
		if g.to == to && from.Before(at) && at.Before(until) {
			return true
		}
	}
	return false
}

// leftHome is when its home gave away the job that was owned at that epoch; 0 if it had it then.
func (f *fact) leftHome(e grid.Epoch) grid.Tick {
	if f.owners[e] == f.home {
		return 0
	}
	if _, g := f.givenBy(e); g.to == f.home {
		return 0
	}
	return f.rootOf(e)
}

// rootOf is when its home gave the job to who had it at that epoch, or to the first of those who gave it on to there, also where it came home
// by that; 0 is never.
func (f *fact) rootOf(e grid.Epoch) grid.Tick {
	at, g := f.givenBy(e)
	for g.by != nil && g.by != f.home { // who gave it on got it from another; since then its home may have given it away in another branch of its journal
		before, by := at, g.by
		at, g = f.lastGiven(func(at grid.Epoch, g giving) bool { return at.Term == e.Term && at.Before(before) && g.to == by })
	}
	return g.at
}

// givenBy is the last handoff up to an epoch.
func (f *fact) givenBy(e grid.Epoch) (grid.Epoch, giving) {
	return f.lastGiven(func(at grid.Epoch, _ giving) bool { return at.Term == e.Term && !e.Before(at) })
}

// lastGiven is the last of those handoffs that are so, by their epochs.
func (f *fact) lastGiven(is func(grid.Epoch, giving) bool) (last grid.Epoch, of giving) {
	for at, g := range f.given {
		if is(at, g) && (of.by == nil || last.Before(at)) {
			last, of = at, g
		}
	}
	return last, of
}

// apart: its home has lost, unnoticed, that it gave the job away to where one of two starts was, and what was done for the other it did in ignorance of that.
func (f *fact) apart(one, other start) bool {
	return f.unknownAt(one, f, other) || f.unknownAt(other, f, one) || f.gaveTwice(one.id.Epoch, other.id.Epoch) || f.gaveTwice(other.id.Epoch, one.id.Epoch)
}

// unknownAt: its home has lost that it gave the job away to where one start was, and did not know of that when another, of this job or
// of one that is a part of it or has it as a part, was submitted; or when it gave that away to there, or to who gave it on: those may
// not hear of it in time.
func (f *fact) unknownAt(one start, of *fact, other start) bool {
	return f.unheardOf(one.id.Epoch, other.queued) || f.unheardOf(one.id.Epoch, of.leftHome(other.id.Epoch))
}

// endUnheardOf: its home has lost that it gave the job away at an epoch, and did not know of that when it told an end, of this job or of that
// of which it is a part; or when it gave that away to where the end came from, at another epoch.
func (f *fact) endUnheardOf(e grid.Epoch, of *fact, ended grid.Epoch, told grid.Tick) bool {
	return f.unheardOf(e, told) || f.unheardOf(e, of.rootOf(ended))
}

// toldUnheard: its home has lost that its user was told an end, with its whole machine or in a power cut, and what it did at
// the instant now it did since then, before a member that had seen that part of its journal could be heard, or at once.
func (f *fact) toldUnheard(now grid.Tick) bool {
	return f.home.ignorant(f.toldAt, now)
}

// goesUnheard: a start was submitted, and began, when its home could not know of that end: else it takes it out of the queue. Or its home gave
// the job to there, or to who gave it on, then.
func (f *fact) goesUnheard(now start) bool {
	return f.toldUnheard(now.queued) && f.toldUnheard(now.at) || f.toldUnheard(f.leftHome(now.id.Epoch))
}

// endedUnheard: a record tells the end of a run that was submitted when its home could not know of the end that it had told.
func (f *fact) endedUnheard(r *grid.Record) bool {
	return slices.ContainsFunc(f.starts, func(e start) bool { return e.id.Epoch == r.Epoch && e.id.Attempt == r.Attempt && f.goesUnheard(e) })
}

// hearing is how long a broker waits after a start for the word of members that live.
const hearing = 2 * grid.Minute
