package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// A duplicate is a second broker under one identity: a journal that was copied, and started
// twice. A broker that has one does nothing at all but answer readers, until an
// administrator has stopped one of the two and says so (or starts this one again).

// foundDuplicate stops everything.
func (c *recovery) foundDuplicate(told grid.PeerID) {
	if c.rolled == nil { // it goes on, when it may, as one that was rolled back: what the other did it does not know
		c.rolledBack("it had a duplicate", grid.JournalID{})
	}
	c.out = slices.DeleteFunc(c.out, func(e Effect) bool { _, saves := e.(Save); return !saves })
	c.duplicate = told
	c.emit(Alarm{Text: c.halted(), Halted: true})
}

// halted says why nothing is done.
func (c *recovery) halted() string {
	return fmt.Sprintf("another broker runs under the identity of this one (%s has heard it): this one does nothing any more. "+
		"Stop the wrong one of the two, then say `gbroker resume` here", c.nameOf(c.duplicate))
}

// stopped answers what is asked of a broker that has a duplicate.
func (c *recovery) stopped(ev Event) {
	e, asks := ev.(Request)
	if !asks {
		return
	}
	if _, goesOn := e.(Resume); goesOn {
		c.emit(AlarmOver{})
		c.emit(Answer{Token: e.token(), Asked: c.allNames()})
		c.emit(Restart{})
		return
	}
	c.emit(Answer{Token: e.token(), Err: fmt.Errorf("%w: %s", grid.ErrUnavailable, c.halted())})
}

// resume changes nothing: what lets a stopped broker go on is in stopped.
func (c *recovery) resume(e Resume) { c.emit(Answer{Token: e.Token, Err: c.notStopped()}) }

// hadDuplicate asks all what a duplicate has done that nobody noticed. Whoever had answered before is asked again: it
// may have acted since. So are the control directories, which both have.
func (c *recovery) hadDuplicate(e HadDuplicate) {
	c.reconcileAnew()
	const why = "its administrator says that it had a duplicate"
	if r := c.rolled; r == nil {
		c.rolledBack(why, grid.JournalID{})
	} else {
		c.awaitAll(why)
		c.rolled.lost, c.rolled.asked = r.lost, r.asked
		for _, u := range r.unheard {
			c.notHeard(u)
		}
		c.doubtAll(grid.JournalID{})
		c.recount()
	}
	c.emit(Answer{Token: e.Token, Asked: c.waitedFor()})
}

// notStopped is what is told who resumes a broker that no duplicate has stopped. To take it for rolled back would stop it.
func (c *recovery) notStopped() error {
	asking := ""
	if c.recounting() {
		asking = "; it " + c.asking()
	}
	return fmt.Errorf("%w: this broker was not stopped: nothing to resume%s. If it had a duplicate that nobody noticed, and that is stopped, "+
		"say `gbroker had-duplicate`", grid.ErrInvalid, asking)
}

// allNames are the names of all members, in order.
func (c *recovery) allNames() (names []string) {
	for p := range c.members {
		names = append(names, c.nameOf(p))
	}
	slices.Sort(names)
	return names
}
