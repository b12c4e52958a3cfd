package faults

import (
	"slices"

	"gbroker/grid"
)

// A disk that lies says that a commit is durable when it is not: in a power cut the last of
// them are gone. So the last commits can be undone.

// longestTail is the most that a disk may lose.
const longestTail = 30 * grid.Second

// undo is what a commit has replaced.
type undo struct {
	at       grid.Tick
	records  map[grid.JobID]*grid.Record // as they were; nil: there was none
	groups   map[grid.GroupID]*grid.Group
	beside   map[besideKey]grid.Entity
	state    grid.SiteState
	sequence uint64
	peers    map[grid.PeerID][]grid.JournalID // as they were, of those that it changes
}

// note keeps what a commit replaces, for as long as it may be undone.
func (d *disk) note(now grid.Tick, changes []grid.Change) {
	u := undo{at: now, state: d.state, sequence: d.sequence}
	for _, c := range changes {
		if id, _, is := c.Job(); is {
			keep(&u.records, id, d.records[id])
		}
		if c.Kind == grid.KindGroup {
			keep(&u.groups, grid.GroupID(c.Key), d.groups[grid.GroupID(c.Key)])
		}
		if k, is := isBeside(c); is {
			keep(&u.beside, k, d.beside[k])
		}
	}
	for _, s := range d.pending {
		keep(&u.peers, s.Peer, d.peers[s.Peer])
	}
	old := 0
	for old < len(d.undo) && d.undo[old].at < now-longestTail {
		old++
	}
	d.undo = append(slices.Delete(d.undo, 0, old), u)
}

// keep puts something into a map that most commits do not need.
func keep[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// loseTail undoes the commits since then; false if there are none.
func (d *disk) loseTail(since grid.Tick) bool {
	any := false
	for n := len(d.undo) - 1; n >= 0 && d.undo[n].at > since; n-- {
		u := d.undo[n]
		for id, r := range u.records {
			d.put(id, r)
		}
		for id, g := range u.groups {
			d.putGroup(id, g)
		}
		for k, e := range u.beside {
			d.putBeside(k, e)
		}
		for p, list := range u.peers {
			d.peers[p] = list
		}
		d.state, d.sequence, d.undo, any = u.state, u.sequence, d.undo[:n], true
	}
	d.lives = slices.DeleteFunc(slices.Clone(d.lives), func(l grid.Life) bool { return l.First > d.sequence })
	d.pending = nil
	d.loseWords(since)
	return any
}
