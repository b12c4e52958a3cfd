package core

import (
	"cmp"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// reservations keep the book of this site: who holds which of its nodes, or its uplink, from when to when.
// What is right is said by package reserve; this machine has it saved, has the batch system do it, and tells
// the holders.
//
//	Reserve ─► book: TENTATIVE, Making ─► one commit ─► the batch system ─► read back: Held ─► Reserved to the holder
//	              └► refused: Reserved with why, and when
//
// The holder hears of nothing that is not on disk and held. As long as the book says that something is Making,
// Changing or Ending the batch system is asked for it again, each time the same: so a restart goes on where
// the last life ended. At a start, and then at intervals, its list is compared with the book: what is in no book is
// ended, what is in the book and gone is LOST.
//
// Each change that its holder did not ask for is told him by a ReservationWord, again and again until it is
// acknowledged.
type reservations struct {
	*kernel
	book    *reserve.Book
	at      map[grid.ReservationID]*bookWork
	pending []pendingReserve // that wait for a snapshot
	cores   map[grid.NodeName]int
	listing bool      // the batch system is being asked for its list
	listed  grid.Tick // when it was last known

	uplink     map[grid.PeerID]int64 // what is reserved of it, as it was told
	uplinkRest int64
	uplinkTold bool

	estimator interface {
		look()
		safe() *plan.Plan
	}
	execution interface {
		unreserved(job grid.JobID, why string)
	}
	gates interface{ beforeStrays() gate }
}

// bookWork is what is under way for one reservation.
type bookWork struct {
	asked   int           // what the batch system is at
	again   grid.Tick     // when it is asked again; 0 is at once
	tries   int           // that came to nothing
	wants   *wire.Reserve // whose answer its holder waits for
	seq     uint64        // of the last word that was sent or answered
	word    grid.Tick     // when it is repeated
	repeats int
	state   grid.ReservationState // as it was saved last
	gives   []plan.Displaced      // who gives way to it
}

// pendingReserve asks for nodes that are to be found.
type pendingReserve struct {
	from grid.PeerID
	m    wire.Reserve
}

const (
	// listEvery is how often the batch system is asked what it holds, while the book has anything.
	listEvery = 30 * grid.Second
	// reserveAhead is how long making a reservation may take: it begins no sooner.
	reserveAhead = 5 * grid.Second
	// maxPendingReserves bounds those that wait for a snapshot.
	maxPendingReserves = 64
)

func newReservations(k *kernel) *reservations {
	c := &reservations{kernel: k, book: reserve.New(k.cfg.Reserving, nil), at: map[grid.ReservationID]*bookWork{}, cores: map[grid.NodeName]int{}}
	k.booker = c
	return c
}

// take takes up the reservations of the journal: those of this site.
func (c *reservations) take(list []grid.Reservation) {
	rules := c.operator(c.cfg.Reserving)
	own := slices.DeleteFunc(slices.Clone(list), func(r grid.Reservation) bool { return r.Site != c.cfg.Self })
	c.book = reserve.New(rules, own)
	for _, r := range own {
		c.work(r.ID).state = r.State
	}
}

// operator are the operator's rules, less those that are switched off to prove a checker.
func (c *reservations) operator(r reserve.Rules) reserve.Rules {
	r.Without = reserve.Broken{
		TentativeNeverExpires: c.without(TentativeNeverExpires), OverlapAllowed: c.without(OverlapAllowed), LeaseNotChecked: c.without(LeaseNotChecked),
	}
	return r
}

func (c *reservations) routes(r *routes) {
	onEvent(r, c.boot)
	onEvent(r, c.made)
	onEvent(r, c.ended)
	onEvent(r, c.compare)
	onEvent(r, c.looked)
	onEvent(r, c.rules)
	onEvent(r, c.pricesChanged)
	onMessage(r, c.reserve)
	onMessage(r, c.confirm)
	onMessage(r, c.release)
	onMessage(r, c.change)
	onMessage(r, c.acknowledged)
	onGeneral(r, bookDue, c.due)
}

func (c *reservations) work(id grid.ReservationID) *bookWork {
	w := c.at[id]
	if w == nil {
		w = &bookWork{}
		c.at[id] = w
	}
	return w
}

// boot goes on with what the last life has begun.
func (c *reservations) boot(Boot) {
	c.book.Pass(c.now)
	for _, r := range c.book.All() {
		if j := c.peek(r.For); r.For != "" && j != nil {
			c.jobSaved(j)
		}
	}
	c.settle()
	c.list()
}

// rules are other rules of the operator.
func (c *reservations) rules(e ReservingChanged) {
	c.book.SetRules(c.now, c.operator(e.Rules))
	c.settle()
}

// due does what is due by time.
func (c *reservations) due() {
	c.book.Pass(c.now)
	if c.now-c.listed >= listEvery {
		c.list()
	}
	c.settle()
}

// list asks what the batch system holds.
func (c *reservations) list() {
	if !c.listing && (c.book.Rules().Offered || len(c.book.All()) > 0) {
		c.listing = true
		c.emit(ListReservations{})
	}
}

// settle makes durable what has changed in the book, has the batch system do what the book wants of it,
// and tells holders what they have not heard.
func (c *reservations) settle() {
	changed, gone := c.book.Changed()
	for i := range changed {
		r := &changed[i]
		w := c.work(r.ID)
		var events []grid.Event
		if r.State != w.state {
			events = []grid.Event{{At: c.now, Site: c.siteName(c.cfg.Self), Why: r.State.String() + because(r.Reason)}}
			if r.State == grid.Confirmed {
				c.displaces(r, w)
			}
			if r.State.Over() && r.For != "" {
				c.execution.unreserved(r.For, "its reservation "+string(r.ID)+" is "+r.State.String()+because(r.Reason))
			}
		}
		w.state = r.State
		c.emit(Save{grid.Saved(r, events...)})
	}
	for _, id := range gone {
		delete(c.at, id)
		c.emit(Save{grid.Deleted(grid.KindReservation, string(id))})
	}
	for _, r := range c.book.All() {
		c.drive(&r)
		c.tell(&r)
	}
	c.shareUplink()
	c.rearm()
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// drive has the batch system do what the book wants.
func (c *reservations) drive(r *grid.Reservation) {
	w := c.work(r.ID)
	if w.asked > 0 || c.now < w.again {
		return
	}
	switch r.Holding {
	case grid.Making, grid.Changing:
		w.asked++
		c.emit(Reserve{Reservation: *r, Change: r.Holding == grid.Changing})
	case grid.Ending:
		w.asked++
		c.emit(Unreserve{r.ID})
	}
}

// tell sends word of what the holder has not heard.
func (c *reservations) tell(r *grid.Reservation) {
	w := c.work(r.ID)
	if r.Told >= r.Seq || r.Holding == grid.Making {
		w.word, w.repeats = 0, 0
		return
	}
	if r.Seq != w.seq {
		w.seq, w.word, w.repeats = r.Seq, c.now, 0
	}
	if c.now < w.word {
		return
	}
	c.send(r.Holder.Home, wire.ReservationWord{Reservation: *r, Clock: c.now})
	w.word = c.now + max(1, min(c.cfg.Retry<<min(w.repeats, 20), c.cfg.RetryMax))
	w.repeats++
}

// rearm sets the timer to the first of what is due.
func (c *reservations) rearm() {
	next := c.book.Next()
	first := func(t grid.Tick) {
		if t > 0 && (next == 0 || t < next) {
			next = t
		}
	}
	for _, r := range c.book.All() {
		w := c.work(r.ID)
		first(w.word)
		if r.Kind == grid.DeliveryReserved && r.Live() && r.Start > c.now {
			first(r.Start)
		}
		if w.asked == 0 && w.again > c.now {
			first(w.again)
		}
		if r.Holding != grid.NotHeld {
			first(max(c.listed+listEvery, c.now+grid.Second))
		}
	}
	if next > 0 {
		c.armGeneral(bookDue, next-c.now)
	}
}

// reserve takes the wish for a reservation.
func (c *reservations) reserve(from grid.PeerID, m wire.Reserve) {
	_, known := c.book.Get(m.ID)
	switch {
	case m.Holder.Home != from:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, &grid.Refusal{Kind: grid.Permanent, Reason: "its holder is not of the site that asks"})
	case m.What == grid.DeliveryReserved && from == c.cfg.Self:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, &grid.Refusal{Kind: grid.Permanent, Reason: "a delivery is between two sites"})
	case c.draining && !known:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, forNow(drained))
	case m.What == grid.NodesReserved && (len(m.Nodes) == 0 || c.pricesFor(m.Holder) != nil) && !known:
		mine := func(p pendingReserve) bool { return p.m.ID == m.ID && p.from == from }
		if !slices.ContainsFunc(c.pending, mine) && len(c.pending) < maxPendingReserves {
			c.pending = append(c.pending, pendingReserve{from, m})
		}
		c.estimator.look()
	default:
		c.ask(from, m, grid.Place{Nodes: m.Nodes, Start: m.From, End: m.From + m.Length}, 0)
	}
}

// ask has the book decide on a place, at a rate.
func (c *reservations) ask(from grid.PeerID, m wire.Reserve, at grid.Place, rate float64) {
	cores := 0
	for _, n := range at.Nodes {
		cores += c.cores[n]
	}
	if why := c.beyondShare(m.Holder, at, cores); why != nil {
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, why)
		return
	}
	r, why := c.book.Reserve(c.now, c.cfg.Self, reserve.Ask{
		ID: m.ID, Holder: m.Holder, For: m.For, Kind: m.What, Place: at, Cores: cores, Bandwidth: m.Bandwidth, Limit: m.Limit, Grace: m.Grace, Early: m.Early, Price: rate,
	})
	if why == nil && r.Holding == grid.Making {
		c.work(m.ID).wants = &m
	} else {
		c.answer(from, wire.KindReserve, m.Sent, r, why)
	}
	c.settle()
}

// answer tells the holder what a reservation is now; that is word of it too.
func (c *reservations) answer(to grid.PeerID, of wire.Kind, sent grid.Tick, r grid.Reservation, why *grid.Refusal) {
	if r.Start == 0 { // it was given up, and never was
		r = grid.Reservation{ID: r.ID}
	}
	if w := c.at[r.ID]; w != nil && r.Seq > 0 {
		w.seq, w.word = r.Seq, c.now+c.cfg.Retry
	}
	if _, known := c.book.Get(r.ID); !known {
		delete(c.at, r.ID) // it was refused: nothing is kept of it
	}
	c.send(to, wire.Reserved{Of: of, Reservation: r, Refusal: why, Slack: c.cfg.Slack, Sent: sent, Clock: c.now})
}

func (c *reservations) confirm(from grid.PeerID, m wire.Confirm) {
	r, why := c.book.Confirm(c.now, m.ID, from, m.Lease)
	c.answer(from, wire.KindConfirm, m.Sent, r, why)
	c.settle()
}

func (c *reservations) release(from grid.PeerID, m wire.Release) {
	r := c.book.Release(c.now, m.ID, from, cmp.Or(m.Why, "given up"))
	c.answer(from, wire.KindRelease, 0, r, nil)
	c.settle()
}

func (c *reservations) change(from grid.PeerID, m wire.Change) {
	cores := 0
	for _, n := range m.Nodes {
		cores += c.cores[n]
	}
	r, why := c.book.Change(c.now, m.ID, from, reserve.Wish{
		Number: m.Number, For: m.For, Place: grid.Place{Nodes: m.Nodes, Start: m.Start, End: m.End}, Cores: cores, Details: m.Details,
	})
	c.answer(from, wire.KindChange, m.Sent, r, why)
	c.settle()
}

func (c *reservations) acknowledged(from grid.PeerID, m wire.ReservationAck) {
	c.book.Acknowledged(m.ID, from, m.Seq)
	c.settle()
}

// made is the batch system's word on what it was asked for.
func (c *reservations) made(e Reserved) {
	w := c.work(e.ID)
	w.asked = max(0, w.asked-1)
	var why *grid.Refusal
	if e.Err != "" {
		why = &grid.Refusal{Kind: e.Kind, Reason: clip(e.Err)}
	}
	if c.later(w, why != nil && why.MayPass()) {
		c.note("", "", "reservation "+string(e.ID)+" is not made yet: "+e.Err)
	}
	c.book.Made(c.now, e.ID, e.Place, why)
	r, known := c.book.Get(e.ID)
	if m := w.wants; known && m != nil && r.Holding != grid.Making {
		w.wants = nil
		if r.State.Over() {
			why = &grid.Refusal{Kind: grid.Temporary, Reason: clip(r.Reason)}
		}
		c.answer(r.Holder.Home, wire.KindReserve, m.Sent, r, why)
	}
	c.settle()
}

// later puts off what is to be tried again.
func (c *reservations) later(w *bookWork, failed bool) bool {
	if !failed {
		w.again, w.tries = 0, 0
		return false
	}
	w.again = c.now + max(1, min(c.cfg.Retry<<min(w.tries, 20), endAtMost))
	w.tries++
	return true
}

// endAtMost is the longest pause between two tries: what is past its limit is gone soon after.
const endAtMost = 5 * grid.Second

// ended is the batch system's word that it holds a reservation no more.
func (c *reservations) ended(e Unreserved) {
	w := c.work(e.ID)
	w.asked = max(0, w.asked-1)
	if c.later(w, e.Err != "") {
		c.note("", "", "reservation "+string(e.ID)+" is not ended yet: "+e.Err)
	} else {
		c.book.Ended(e.ID)
	}
	if _, known := c.book.Get(e.ID); !known && w.asked == 0 {
		delete(c.at, e.ID)
	}
	c.settle()
}

// compare takes the list of the batch system. What was asked for before it was made has been answered.
func (c *reservations) compare(e ReservationsListed) {
	c.listing = false
	if e.Err != "" {
		c.note("", "", "the reservations of the batch system are not known: "+e.Err)
		c.listed = c.now - listEvery + endAtMost
		c.settle()
		return
	}
	c.listed = c.now
	has, down := map[grid.ReservationID]grid.Place{}, map[grid.ReservationID]string{}
	for _, h := range e.All {
		has[h.ID] = h.Place
		if len(h.Down) > 0 {
			down[h.ID] = string(h.Down[0])
		}
	}
	underWay := func(id grid.ReservationID) bool { return c.at[id] != nil && c.at[id].asked > 0 }
	for _, id := range c.book.Listed(c.now, has, down, underWay) {
		if c.gates.beforeStrays() == open {
			c.note("", "", "reservation "+string(id)+" is in no book: it is ended")
			c.work(id).asked++
			c.emit(Unreserve{id})
		}
	}
	c.settle()
}

// looked finds nodes for those that named none.
func (c *reservations) looked(e Looked) {
	if e.Err == "" {
		clear(c.cores)
		for _, n := range e.Snapshot.Nodes {
			c.cores[n.Name] = n.Cores
		}
	}
	pending := c.pending
	c.pending = nil
	for _, p := range pending {
		if e.Err != "" {
			c.answer(p.from, wire.KindReserve, p.m.Sent, grid.Reservation{ID: p.m.ID}, forNow(noLook))
			continue
		}
		at, why := grid.Place{Nodes: p.m.Nodes, Start: p.m.From, End: p.m.From + p.m.Length}, (*grid.Refusal)(nil)
		if len(at.Nodes) == 0 {
			at, why = c.find(e.Snapshot, p.m)
		}
		rate := 0.0
		if why == nil {
			rate, why = c.price(&p.m, at)
		}
		if why != nil {
			c.answer(p.from, wire.KindReserve, p.m.Sent, grid.Reservation{ID: p.m.ID}, why)
			continue
		}
		c.ask(p.from, p.m, at, rate)
	}
}

// find looks for whole nodes that cover a demand, as early as possible within the interval.
func (c *reservations) find(s plan.Snapshot, m wire.Reserve) (at grid.Place, why *grid.Refusal) {
	d := m.Demand
	d.Exclusive = true
	if lacks := plan.Refuse(s, plan.Question{Demand: d, Queue: cmp.Or(m.Queue, s.Default), Limit: m.Length}); lacks != nil {
		return at, lacks
	}
	from := wholeSecond(max(m.From, s.At+reserveAhead))
	slots := c.free(plan.Build(s).Slots(nil, m.Holder, from, m.Until))
	market, err := plan.NewMarket([]plan.SlotSite{{Site: s.Site, Nodes: s.Nodes}}, slots)
	if err != nil {
		return at, &grid.Refusal{Kind: grid.Temporary, Reason: clip(err.Error())}
	}
	wanted := plan.Wanted{Demand: d, Fee: plan.AnyFee, Now: from, Walltime: m.Length, FirstStart: true}
	found, lack := market.Select(wanted)
	if lack != nil {
		return at, &grid.Refusal{Kind: grid.Temporary, Reason: "its nodes are not free for so long within that time"}
	}
	at = grid.Place{Start: wholeSecond(found.Start)}
	at.End = wholeSecond(at.Start + m.Length)
	names := map[grid.NodeName]bool{}
	for _, t := range found.Taken {
		names[t.Node] = true
	}
	at.Nodes = slices.Sorted(maps.Keys(names))
	return at, nil
}

func wholeSecond(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }

// free are the slots that the book has not given to anybody: the snapshot may be older.
func (c *reservations) free(slots []grid.Slot) (list []grid.Slot) {
	busy := map[grid.NodeName][]grid.Place{}
	for _, p := range c.book.Busy("") {
		for _, n := range p.Nodes {
			busy[n] = append(busy[n], p)
		}
	}
	for _, s := range slots {
		rest := []grid.Slot{s}
		for _, p := range busy[s.Node] {
			rest = outside(rest, p)
		}
		list = append(list, rest...)
	}
	return list
}

func outside(slots []grid.Slot, p grid.Place) (rest []grid.Slot) {
	for _, s := range slots {
		before, after := s, s
		before.End, after.Start = min(s.End, p.Start), max(s.Start, p.End)
		if before.Start < before.End {
			rest = append(rest, before)
		}
		if after.Start < after.End && after.Start > s.Start {
			rest = append(rest, after)
		} else if after.Start == s.Start && before.Start >= before.End {
			rest = append(rest, after)
		}
	}
	return rest
}
