package reserve

import (
	"slices"

	"gbroker/grid"
)

// Made is the word of the batch system that it has what it was asked for, as it was read back, or, with
// why, that it has what it had before. A refusal that passes is no answer yet.
func (b *Book) Made(now grid.Tick, id grid.ReservationID, at grid.Place, why *grid.Refusal) {
	b.Pass(now)
	is := b.all[id]
	if is == nil || !same(at, is.Place()) || is.Holding != grid.Making && is.Holding != grid.Changing {
		return
	}
	switch {
	case why == nil:
		is.Holding, is.Was, is.WasCores, is.WasPrice = grid.Placed, nil, 0, 0
		is.Seq++
		b.changed[id] = true
	case why.MayPass():
	case is.Holding == grid.Making:
		b.become(is, grid.Released, now, "the batch system refuses it: "+why.Reason)
	default:
		is.Nodes, is.Start, is.End, is.Cores, is.Price = is.Was.Nodes, is.Was.Start, is.Was.End, is.WasCores, is.WasPrice
		is.Holding, is.Was, is.WasCores, is.WasPrice = grid.Placed, nil, 0, 0
		is.Reason = "the batch system refuses the change: " + why.Reason
		is.Seq++
		b.changed[id] = true
	}
}

// Ended is the word of the batch system that it has a reservation no more.
func (b *Book) Ended(id grid.ReservationID) {
	if is := b.all[id]; is != nil && is.Holding == grid.Ending {
		is.Holding, is.Was, is.WasCores, is.WasPrice = grid.NotPlaced, nil, 0, 0
		b.changed[id] = true
	}
}

// Listed compares the book with all that the batch system has for this broker: stray are those that are to
// be ended and are in no book. Those at which the batch system is under way are left out: whether the list is
// older than that is not known.
func (b *Book) Listed(now grid.Tick, has map[grid.ReservationID]grid.Place, down map[grid.ReservationID]string, underWay func(grid.ReservationID) bool) (stray []grid.ReservationID) {
	b.Pass(now)
	for _, is := range b.sorted() {
		if is.Kind != grid.NodesReserved || underWay(is.ID) {
			continue
		}
		at, there := has[is.ID]
		switch {
		case is.Holding == grid.Ending && !there:
			b.Ended(is.ID)
		case is.Holding != grid.Placed:
		case !there && is.State == grid.Active:
			b.become(is, grid.Released, now, "the batch system has ended it: its job has ended")
		case !there:
			b.become(is, grid.ReservationLost, now, "the batch system does not have it any more")
		case !within(is.Place(), at), is.State != grid.Active && at.Start > max(is.Start, now):
			b.become(is, grid.ReservationLost, now, "the batch system has made something else of it")
		case down[is.ID] != "" && is.State != grid.Active:
			b.become(is, grid.ReservationLost, now, "its node "+down[is.ID]+" is down")
		}
	}
	for id := range has {
		if (b.all[id] == nil || b.all[id].Holding == grid.NotPlaced) && !underWay(id) {
			stray = append(stray, id)
		}
	}
	slices.Sort(stray)
	return stray
}

// Elsewhere tells that the batch system has a reservation at another place than the book, or for longer.
func (b *Book) Elsewhere(now grid.Tick, id grid.ReservationID, at grid.Place) bool {
	is := b.all[id]
	if is == nil || is.Kind != grid.NodesReserved || is.Holding != grid.Placed || is.State.Over() || is.State == grid.Active {
		return false
	}
	later, earlier := at.Start > max(is.Start, now), at.Start < is.Start && at.Start > now
	return later || earlier || at.End > is.End || !within(is.Place(), at)
}

// Found takes over where the batch system has a reservation: the book is of before its change, of which its holder was told. He is told again.
func (b *Book) Found(now grid.Tick, id grid.ReservationID, at grid.Place) {
	if !b.Elsewhere(now, id, at) {
		return
	}
	is := b.all[id]
	if !within(grid.Place{Nodes: is.Nodes}, at) {
		is.Cores = is.Cores * len(at.Nodes) / max(len(is.Nodes), 1)
		is.Nodes = slices.Clone(at.Nodes)
	}
	is.Start, is.End, is.Reason = at.Start, at.End, "the batch system has it there: the journal was of before that"
	is.Seq++
	b.changed[id] = true
}

// Retell has the holders of all that stand told of them again, by numbers of words above those that a branch of the journal which is lost may
// have used: what they know may be of that branch.
func (b *Book) Retell(above uint64) {
	for id, is := range b.all {
		if !is.State.Over() {
			is.Seq = max(is.Seq, above) + 1
			b.changed[id] = true
		}
	}
}

// Unheard has a holder told again of all that he has, or had: he may have lost it.
func (b *Book) Unheard(holder grid.PeerID) {
	for id, is := range b.all {
		if is.Holder.Home == holder && is.Told > 0 {
			is.Told = 0
			b.changed[id] = true
		}
	}
}

// Entered has the holder of a reservation told that others are in it by its name; why says so. False is nothing to tell: it is over.
func (b *Book) Entered(id grid.ReservationID, why string) bool {
	is := b.all[id]
	if is == nil || !is.Live() {
		return false
	}
	is.Reason = why
	is.Seq++
	b.changed[id] = true
	return true
}

// within: what the batch system has covers what was reserved.
func within(r, has grid.Place) bool {
	if has.End < r.End || len(has.Nodes) < len(r.Nodes) {
		return false
	}
	there := make(map[grid.NodeName]bool, len(has.Nodes))
	for _, n := range has.Nodes {
		there[n] = true
	}
	for _, n := range r.Nodes {
		if !there[n] {
			return false
		}
	}
	return true
}
