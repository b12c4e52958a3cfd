package reserve

import (
	"slices"

	"gbroker/grid"
)

// Confirm keeps a tentative reservation, and renews the lease of one that is confirmed; a lease of 0 ends
// never. It is not known to its holder before the batch system has it.
func (b *Book) Confirm(now grid.Tick, id grid.ReservationID, holder grid.PeerID, lease grid.Tick) (r grid.Reservation, why *grid.Refusal) {
	is := b.found(now, id, holder)
	switch {
	case is == nil:
		return grid.Reservation{ID: id}, unknown()
	case is.State.Over():
		return *is, refused("it is over: " + is.Reason)
	case is.Holding == grid.Making:
		return *is, &grid.Refusal{Kind: grid.Temporary, Reason: "it is being made"}
	}
	if is.State == grid.Tentative {
		b.become(is, grid.Confirmed, now, "")
	}
	is.Until = 0
	if lease > 0 {
		is.Until = now + lease
	}
	b.changed[id] = true
	return *is, nil
}

// Release gives a reservation up. One that is not known is remembered: no late word makes it.
func (b *Book) Release(now grid.Tick, id grid.ReservationID, holder grid.PeerID, why string) grid.Reservation {
	is := b.found(now, id, holder)
	if is == nil && b.all[id] == nil && b.remembered(holder) < maxRemembered {
		is = &grid.Reservation{ID: id, Kind: grid.NodesReserved, Holder: grid.User{Home: holder}, Made: now}
		b.all[id] = is
		b.set(is, grid.Released, now, why)
	}
	if is == nil {
		return grid.Reservation{ID: id}
	}
	if !is.State.Over() {
		b.become(is, grid.Released, now, why)
	}
	return *is
}

// Wish is what a reservation shall be.
type Wish struct {
	Number  uint64
	For     grid.JobID
	Place   grid.Place
	Cores   int
	Price   float64
	Details []grid.Variable
	Move    bool // nothing but its place changes: For and Details say nothing
}

// Change does all of a wish, or nothing of it; an older one than the last does nothing. What is moved
// counts where it was too, until the batch system has moved it.
func (b *Book) Change(now grid.Tick, id grid.ReservationID, holder grid.PeerID, w Wish) (r grid.Reservation, why *grid.Refusal) {
	is := b.found(now, id, holder)
	if is != nil && w.Move {
		w.For, w.Details = is.For, is.Details
	}
	switch {
	case is == nil:
		return grid.Reservation{ID: id}, unknown()
	case is.State.Over():
		return *is, refused("it is over: " + is.Reason)
	case w.Number <= is.Number:
		return *is, nil
	case is.Holding == grid.Making || is.Holding == grid.Changing:
		return *is, &grid.Refusal{Kind: grid.Temporary, Reason: "the batch system is at it"}
	case is.State == grid.Tentative && w.For != is.For:
		return *is, refused("it is not confirmed")
	case is.State == grid.Active && w.For != is.For:
		return *is, refused("its job runs")
	}
	if len(w.Place.Nodes) == 0 {
		w.Place.Nodes, w.Cores = is.Nodes, is.Cores
	}
	if moved := !same(w.Place, is.Place()); moved {
		if why := b.mayMove(now, is, w.Place); why != nil {
			return *is, why
		}
		b.move(is, w.Place, w.Cores, w.Price)
	}
	is.Number, is.Details = w.Number, slices.Clone(w.Details)
	if is.Holding != grid.Changing { // else it is told of when the batch system has it
		is.Seq++
	}
	b.changed[id] = true
	if is.State != grid.Tentative && is.State != grid.Active {
		is.For = w.For
		if w.For == "" && is.State == grid.Bound {
			is.Came = 0
			b.become(is, grid.Confirmed, now, "unbound")
		}
	}
	return *is, nil
}

func same(a, b grid.Place) bool {
	return a.Start == b.Start && a.End == b.End && slices.Equal(a.Nodes, b.Nodes)
}

func (b *Book) mayMove(now grid.Tick, is *grid.Reservation, to grid.Place) *grid.Refusal {
	if is.State == grid.Active && (to.Start != is.Start || !slices.Equal(to.Nodes, is.Nodes) || to.End < is.End) {
		return refused("its job runs: it can only be made longer")
	}
	ask := Ask{ID: is.ID, Holder: is.Holder, Kind: is.Kind, Place: to, Bandwidth: is.Bandwidth}
	if comesBy(is) > 0 {
		ask.Grace = is.Grace
	}
	return b.refuse(now, is.Site, ask)
}

func (b *Book) move(is *grid.Reservation, to grid.Place, cores int, price float64) {
	if is.Holding == grid.Placed {
		was := is.Place()
		is.Was, is.WasCores, is.WasPrice, is.Holding = &was, is.Cores, is.Price, grid.Changing
	}
	is.Nodes, is.Start, is.End, is.Cores, is.Price = to.Nodes, to.Start, to.End, cores, price
	b.changed[is.ID] = true
}

func unknown() *grid.Refusal { return refused("there is no such reservation") }

// Bind gives a confirmed reservation to a job of its holder, which alone may use it from then on. One that
// may begin early is moved to begin as soon as now allows.
func (b *Book) Bind(now grid.Tick, id grid.ReservationID, job grid.JobID, user grid.User) (r grid.Reservation, why *grid.Refusal) {
	is := b.found(now, id, user.Home)
	switch {
	case is == nil || is.Kind != grid.NodesReserved:
		return r, unknown()
	case is.Holder != user:
		return r, refused("it is another user's")
	case is.State.Over():
		return r, refused("it is over: " + is.Reason)
	case is.State == grid.Tentative:
		return r, &grid.Refusal{Kind: grid.Temporary, Reason: "it is not confirmed"}
	case is.For != "" && is.For != job:
		return r, refused("it is for job " + string(is.For))
	}
	if is.State == grid.Confirmed {
		is.For = job
		b.become(is, grid.Bound, now, "")
		b.hasten(now, is)
	}
	return *is, nil
}

// soon is how far ahead the batch system is asked to begin at the least.
const soon = 5 * grid.Second

// hasten moves a reservation forward, if its nodes are free.
func (b *Book) hasten(now grid.Tick, is *grid.Reservation) {
	start := (now + soon + grid.Second - 1) / grid.Second * grid.Second
	to := grid.Place{Nodes: is.Nodes, Start: start, End: start + is.End - is.Start}
	if is.Early && is.Holding == grid.Placed && start < is.Start && b.mayMove(now, is, to) == nil {
		b.move(is, to, is.Cores, is.Price)
	}
}

// Arrived tells that the job of a reservation is there and waits in it: it counts as come.
func (b *Book) Arrived(now grid.Tick, id grid.ReservationID, job grid.JobID) {
	b.Pass(now)
	if is := b.all[id]; is != nil && is.State == grid.Bound && is.For == job && is.Came == 0 {
		is.Came = now
		b.changed[id] = true
	}
}

// Started tells that the job of a reservation runs.
func (b *Book) Started(now grid.Tick, id grid.ReservationID, job grid.JobID) {
	b.Pass(now)
	if is := b.all[id]; is != nil && is.State == grid.Bound && is.For == job {
		is.Came = now
		b.become(is, grid.Active, now, "")
	}
}

// Left tells that the job of a reservation is not here any more, and will not run in it: what it had is
// released.
func (b *Book) Left(now grid.Tick, id grid.ReservationID, job grid.JobID, why string) {
	b.Pass(now)
	if is := b.all[id]; is != nil && !is.State.Over() && is.State != grid.Tentative && is.For == job {
		b.become(is, grid.Released, now, why)
	}
}

// Unbound tells that the job of a reservation has left before it ran: it stays its holder's, for that job should it come again, or another.
func (b *Book) Unbound(now grid.Tick, id grid.ReservationID, job grid.JobID, why string) {
	b.Pass(now)
	if is := b.all[id]; is != nil && is.State == grid.Bound && is.For == job {
		is.For, is.Came = "", 0
		b.become(is, grid.Confirmed, now, why)
	}
}

// Acknowledged tells that the holder has heard so much.
func (b *Book) Acknowledged(id grid.ReservationID, holder grid.PeerID, seq uint64) {
	if is := b.all[id]; is != nil && is.Holder.Home == holder && seq <= is.Seq && seq > is.Told {
		is.Told = seq
		b.changed[id] = true
	}
}
