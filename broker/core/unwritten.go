package core

import (
	"strings"

	"gbroker/grid"
)

// Unwritten finds what a journal has of the ends of jobs of this home, and of cancelled groups, and the file beside it
// has not: that is written after the commit, and one life after the other may have ended before. No clock tells
// which these are: it may have been set back at any time.
type Unwritten struct {
	home  grid.PeerID
	words map[grid.JobID]unwritten
	now   grid.Tick
	last  grid.Tick // end
}

type unwritten struct {
	word  grid.LastWord
	ended grid.Tick
}

// NewUnwritten is for the journal of a home, as it is read at an instant.
func NewUnwritten(home grid.PeerID, now grid.Tick) *Unwritten {
	return &Unwritten{home: home, now: now, words: map[grid.JobID]unwritten{}}
}

// Job takes a record of the journal.
func (u *Unwritten) Job(r *grid.Record) {
	if r.Job.Home == u.home && r.State.Terminal() {
		u.add(unwritten{r.Word(), r.Ended})
	}
}

// Group takes a group of the journal; one that is open tells its cancel at each start.
func (u *Unwritten) Group(g *grid.Group) {
	if g.CancelRequested && g.Ended != 0 {
		u.add(unwritten{grid.LastWord{Job: g.ID.Template(), State: grid.Submitted}, g.Ended})
	}
}

func (u *Unwritten) add(w unwritten) {
	w.word.Job = grid.JobID(strings.Clone(string(w.word.Job)))
	u.words[w.word.Job] = w
	u.last = max(u.last, w.ended)
}

// Heard takes a word of the file, after the journal. It tells that the journal has another one.
func (u *Unwritten) Heard(w grid.LastWord) (other bool) {
	k, known := u.words[w.Job]
	if !known {
		return false
	}
	if k.word == w {
		delete(u.words, w.Job)
		return false
	}
	return true
}

// Words are those that are left, but for those that the file need not have any more. An end of the future is one of a clock that was ahead: it
// makes no other one old.
func (u *Unwritten) Words() map[grid.JobID]bool {
	list, newest := map[grid.JobID]bool{}, min(u.last, u.now)
	for id, w := range u.words {
		if w.ended >= newest-grid.ToldFor {
			list[id] = true
		}
	}
	return list
}
