package faults

import (
	"maps"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// witness is the file beside the journal, which stays when that is put back (package store).
type witness struct {
	last grid.Witness
	told map[grid.JobID]words
}

// words are the last that a user was told of a job.
type words struct {
	at     grid.Tick
	record grid.Record
}

func (w witness) clone() witness { return witness{w.last, maps.Clone(w.told)} }

// tell writes in it what users are about to be told, and how far the journal is.
func (d *disk) tell(now grid.Tick, stamp uint32, told []grid.Record) {
	d.witness.last = grid.Witness{Position: d.id(), Stamp: stamp}
	for _, r := range told {
		d.witness.told[r.Job.ID] = words{now, r}
	}
}

// has: its user was told that end of the job last.
func (w witness) has(id grid.JobID, end grid.State) bool {
	last, told := w.told[id]
	return told && last.record.State == end
}

// toldOther: its user was told another end of the job last than a record has.
func (w witness) toldOther(id grid.JobID, r *grid.Record) bool {
	last, told := w.told[id]
	return told && last.record.State.Terminal() && last.record.State != grid.Lost && (last.record.State != r.State || last.record.ExitCode != r.ExitCode)
}

// said lists what users were told, in a fixed order.
func (d *disk) said() []grid.Record {
	list := make([]grid.Record, 0, len(d.witness.told))
	for _, id := range slices.Sorted(maps.Keys(d.witness.told)) {
		list = append(list, d.witness.told[id].record)
	}
	return list
}

// unwritten is what the journal has and that file lacks.
func (d *disk) unwritten(home grid.PeerID, now grid.Tick) map[grid.JobID]bool {
	u := core.NewUnwritten(home, now)
	for _, r := range d.records {
		u.Job(r)
	}
	for _, g := range d.groups {
		u.Group(g)
	}
	for _, w := range d.witness.told {
		u.Heard(w.record.Word())
	}
	return u.Words()
}

// loseWords is what a disk that lies does to it in a power cut.
func (d *disk) loseWords(since grid.Tick) {
	d.witness.last = grid.Witness{}
	maps.DeleteFunc(d.witness.told, func(_ grid.JobID, w words) bool { return w.at > since })
}
