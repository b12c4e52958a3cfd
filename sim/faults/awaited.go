package faults

import (
	"slices"

	"gbroker/grid"
)

// waitsForNobody: the home has lost that it gave the job to where this start is, or to who gave it on to there; and by its administrator's word since then it
// did not wait for that site when it submitted the earlier start.
func (f *fact) waitsForNobody(earlier, now start) bool {
	return earlier.where == f.home && f.notAwaited(now, earlier.queued)
}

// notAwaited: the home has lost that it gave the job to where a start is, or to who gave it on to there; and by its administrator's word, or as
// that is no neighbour since before, it did not wait for that site at an instant after that.
func (f *fact) notAwaited(e start, by grid.Tick) bool {
	o, home := e.where, f.home
	return o != home && slices.ContainsFunc(home.lapses, func(l lapse) bool {
		if l.at > by || !l.covers(f.leftHome(e.id.Epoch)) {
			return false
		}
		said, out := home.forgot[o.peer], home.dropped[o.peer]
		if out < l.at {
			return said >= l.at && said <= by || !home.knows(o.peer)
		}
		return said >= l.at && said <= by || out <= by || home.knows(o.peer) // one that is back was out before
	})
}

// endsNoMore: an end was told of a job that its home had given to where a start is, and did not wait for; that start was on its way to a queue then.
func (f *fact) endsNoMore(now start) bool {
	return now.sent <= f.toldAt && f.notAwaited(now, f.toldAt)
}
