package faults

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// disk is what survives a crash of a site's broker: the journal, with all that was
// committed, and the folders of jobs with their control directories.
type disk struct {
	records     map[grid.JobID]*grid.Record
	groups      map[grid.GroupID]*grid.Group
	beside      map[besideKey]grid.Entity // of groups: templates and results
	state       grid.SiteState
	incarnation uint64
	sequence    uint64
	lives       []grid.Life
	witness     witness // beside the journal
	folders     map[grid.JobID]*folder
	aside       map[grid.JobID][]*folder // put aside, as their jobs were not known
	full, slow  bool
	unreadable  bool                             // the control directories, for now
	peers       map[grid.PeerID][]grid.JournalID // what was seen of others' journals
	pending     []core.Saw                       // noted, and durable with the next commit
	backup      *backup
	snapshot    *backup // of the whole machine, folders too
	undo        []undo  // of the last commits, the oldest first
}

// begin is a start of the journal: a new life. What was noted and not yet saved is gone.
func (d *disk) begin(now grid.Tick, random uint32) {
	d.pending = nil
	known := []uint64{d.witness.last.Position.Life}
	for _, l := range d.lives {
		known = append(known, l.Number)
	}
	life := grid.NextLife(now, random, known...)
	d.lives = append(slices.Clip(d.lives), grid.Life{Number: life, First: d.sequence})
}

// folder is what there is of a job's files.
type folder struct {
	inputs, outputs bool
	known           map[token]bool   // written before an attempt is submitted
	tokens          map[token]holder // start.EPOCH.ATTEMPT
	ends            map[token]grid.Progress
	words           map[token]barrier // of parts of co-allocated jobs
}

// attempts lists those of which the control directory of a job tells.
func (d *disk) attempts(id grid.JobID) []grid.AttemptID {
	if f := d.folders[id]; f != nil {
		return f.attempts(id)
	}
	return nil
}

func (f *folder) attempts(id grid.JobID) (list []grid.AttemptID) {
	for t := range f.known {
		list = append(list, grid.AttemptID{Job: id, Epoch: t.epoch, Attempt: t.attempt})
	}
	for t := range f.tokens {
		list = append(list, grid.AttemptID{Job: id, Epoch: t.epoch, Attempt: t.attempt})
	}
	for t := range f.ends {
		list = append(list, grid.AttemptID{Job: id, Epoch: t.epoch, Attempt: t.attempt})
	}
	return list // in any order: only the last of them counts
}

// setAside moves the folder of a job to where stage.SetAside does. It stays there for longer than a history takes.
func (d *disk) setAside(id grid.JobID) {
	if f := d.folders[id]; f != nil {
		d.aside[id] = append(d.aside[id], f)
		delete(d.folders, id)
	}
}

// putBack moves folders back whose jobs the journal knows again, as the shell of the broker does at its start.
func (d *disk) putBack() (back []grid.JobID) {
	for _, id := range slices.Sorted(maps.Keys(d.aside)) {
		r := d.records[id]
		at := slices.IndexFunc(d.aside[id], func(f *folder) bool { return r != nil && core.IsFolderOf(r, f.attempts(id)) })
		if d.folders[id] != nil || at < 0 {
			continue
		}
		d.folders[id] = d.aside[id][at].clone() // a backup may have the other
		d.aside[id] = slices.Delete(slices.Clone(d.aside[id]), at, at+1)
		back = append(back, id)
	}
	return back
}

// token names a start token within its folder.
type token struct {
	epoch   grid.Epoch
	attempt uint32
}

// holder is who has taken a start token.
type holder uint8

const (
	nobody holder = iota
	theProgram
	theBroker
)

func newDisk() disk {
	return disk{records: map[grid.JobID]*grid.Record{}, groups: map[grid.GroupID]*grid.Group{}, beside: map[besideKey]grid.Entity{}, incarnation: 1, folders: map[grid.JobID]*folder{}, aside: map[grid.JobID][]*folder{}, peers: map[grid.PeerID][]grid.JournalID{}, witness: witness{told: map[grid.JobID]words{}}}
}

func (d *disk) folder(id grid.JobID) *folder {
	f := d.folders[id]
	if f == nil {
		f = &folder{known: map[token]bool{}, tokens: map[token]holder{}, ends: map[token]grid.Progress{}, words: map[token]barrier{}}
		d.folders[id] = f
	}
	return f
}

// record is what is on disk of one job.
func (d *disk) record(id grid.JobID) (grid.Record, error) {
	if r := d.records[id]; r != nil {
		return *r, nil
	}
	return grid.Record{}, fmt.Errorf("%w: the journal has no job %s", grid.ErrNotFound, id)
}

// commit makes changes durable, all or none.
func (d *disk) commit(now grid.Tick, changes []grid.Change) {
	d.note(now, changes)
	for _, c := range changes {
		if s, is := c.Record.(*grid.SiteState); is {
			d.state = *s
		}
		if id, _, is := c.Job(); is {
			d.put(id, c.Whole(d.records[id]))
		}
		if c.Kind == grid.KindGroup {
			g, _ := c.Record.(*grid.Group)
			d.putGroup(grid.GroupID(c.Key), g)
		}
		if k, is := isBeside(c); is {
			d.putBeside(k, c.Record)
		}
	}
	for _, s := range d.pending {
		d.see(s)
	}
	d.pending = nil
	d.sequence++
}

// put makes a record that of a job; nil deletes it.
func (d *disk) put(id grid.JobID, r *grid.Record) {
	if r == nil {
		delete(d.records, id)
	} else {
		d.records[id] = r
	}
}

// putGroup makes a record that of a group; nil deletes it.
func (d *disk) putGroup(id grid.GroupID, g *grid.Group) {
	if g == nil {
		delete(d.groups, id)
	} else {
		d.groups[id] = g
	}
}

// besideKey is what lies beside a group.
type besideKey struct {
	kind grid.Kind
	key  string
}

func isBeside(c grid.Change) (besideKey, bool) {
	return besideKey{c.Kind, c.Key}, c.Kind == grid.KindTemplate || c.Kind == grid.KindResults || c.Kind == grid.KindAllocation || c.Kind == grid.KindReservation || c.Kind == grid.KindBudget
}

func (d *disk) putBeside(k besideKey, e grid.Entity) {
	if e == nil {
		delete(d.beside, k)
	} else {
		d.beside[k] = e
	}
}

// see notes how far a peer's journal has come.
func (d *disk) see(s core.Saw) {
	list := slices.Clone(d.peers[s.Peer])
	k := slices.IndexFunc(list, func(o grid.JournalID) bool { return o.SameLife(s.Journal) })
	if k < 0 {
		list = append(list, s.Journal)
	} else {
		list[k].Sequence = max(list[k].Sequence, s.Journal.Sequence)
	}
	d.peers[s.Peer] = list
}

// backup is a copy of the journal.
type backup struct {
	at       grid.Tick
	records  map[grid.JobID]*grid.Record
	groups   map[grid.GroupID]*grid.Group
	beside   map[besideKey]grid.Entity
	state    grid.SiteState
	sequence uint64
	lives    []grid.Life
	peers    map[grid.PeerID][]grid.JournalID
	folders  map[grid.JobID]*folder
	aside    map[grid.JobID][]*folder
	witness  witness
}

// copy makes a backup of the journal, or of all that is there.
func (d *disk) copy(at grid.Tick, folders bool) *backup {
	b := &backup{at, maps.Clone(d.records), maps.Clone(d.groups), maps.Clone(d.beside), d.state, d.sequence, d.lives, maps.Clone(d.peers), nil, nil, witness{}}
	if folders {
		b.aside = maps.Clone(d.aside) // nothing in them changes any more
		b.folders, b.witness = cloneFolders(d.folders), d.witness.clone()
	}
	return b
}

func cloneFolders(all map[grid.JobID]*folder) map[grid.JobID]*folder {
	list := make(map[grid.JobID]*folder, len(all))
	for id, f := range all {
		list[id] = f.clone()
	}
	return list
}

func (f *folder) clone() *folder {
	return &folder{f.inputs, f.outputs, maps.Clone(f.known), maps.Clone(f.tokens), maps.Clone(f.ends), maps.Clone(f.words)}
}

// restore puts a backup in the place of the journal, and of the folders if it has them, with
// the file beside the journal.
func (d *disk) restore(b *backup) {
	if b.folders != nil {
		d.aside = maps.Clone(b.aside)
		d.folders, d.witness = cloneFolders(b.folders), b.witness.clone()
	}
	d.groups, d.beside = maps.Clone(b.groups), maps.Clone(b.beside)
	d.records, d.state, d.sequence, d.lives, d.peers = maps.Clone(b.records), b.state, b.sequence, b.lives, maps.Clone(b.peers)
	d.pending, d.undo = nil, nil
}

// id says how far the journal is.
func (d *disk) id() grid.JournalID {
	p := grid.JournalID{Incarnation: d.incarnation, Sequence: d.sequence}
	if n := len(d.lives); n > 0 {
		p.Life = d.lives[n-1].Number
	}
	return p
}

// load is what a new Core is made from.
func (d *disk) load() iter.Seq[grid.Record] {
	ids := slices.Sorted(maps.Keys(d.records))
	return func(yield func(grid.Record) bool) {
		for _, id := range ids {
			if !yield(*d.records[id]) {
				return
			}
		}
	}
}

// loadGroups is what a new Core is told of groups.
func (d *disk) loadGroups() []grid.Group {
	list := make([]grid.Group, 0, len(d.groups))
	for _, id := range sortedGroups(d.groups) {
		list = append(list, *d.groups[id])
	}
	return list
}

// loadBeside is what lies beside them.
func (d *disk) loadBeside() (templates []grid.Template, results []grid.Results, allocations []grid.Allocation) {
	for _, e := range d.beside { // in any order: they go to their groups
		switch e := e.(type) {
		case *grid.Template:
			templates = append(templates, *e)
		case *grid.Results:
			r := *e
			r.Of = slices.Clone(r.Of)
			results = append(results, r)
		case *grid.Allocation:
			allocations = append(allocations, *e)
		}
	}
	return templates, results, allocations
}

// loadReservations is what a new Core is told of reservations.
func (d *disk) loadReservations() (list []grid.Reservation) {
	for _, e := range d.beside {
		if r, is := e.(*grid.Reservation); is {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b grid.Reservation) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// loseJournal leaves an empty one, of a new incarnation.
func (d *disk) loseJournal() {
	d.records, d.groups = map[grid.JobID]*grid.Record{}, map[grid.GroupID]*grid.Group{}
	d.beside = map[besideKey]grid.Entity{}
	d.state = grid.SiteState{}
	d.incarnation++
	d.sequence, d.lives = 0, nil
	d.peers, d.pending, d.backup = map[grid.PeerID][]grid.JournalID{}, nil, nil
	d.snapshot, d.undo = nil, nil
}
