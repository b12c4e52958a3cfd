package core

import (
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
//	Reserve ─► book: TENTATIVE, Making ─► one commit ─► the batch system ─► read back: Placed ─► Reserved to the holder
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
	moving  []pendingChange
	nodes   map[grid.NodeName]plan.Node // of the last look at the batch system, and
	shapes  plan.Shapes                 // what jobs can ask of it
	listing bool                        // the batch system is being asked for its list
	listed  grid.Tick                   // when it was last known
	unsure  bool                        // whether it still has what is in no book
	behind  bool                        // the journal was rolled back: what it has next counts for more than the book

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
	gates interface {
		beforeLosing() gate
		beforeStrays() gate
		reserving(r reserve.Rules) reserve.Rules
	}
}

// bookWork is what is under way for one reservation.
type bookWork struct {
	asked   int           // what the batch system is at
	again   grid.Tick     // when it is asked again; 0 is at once
	tries   int           // that came to nothing
	wants   *wire.Reserve // whose answer its holder waits for
	changes *wire.Change  // likewise
	seq     uint64        // of the last word that was sent or answered
	word    grid.Tick     // when it is repeated
	repeats int
	state   grid.ReservationState // as it was saved last
	gives   []plan.Displaced      // who gives way to it
	guests  guests                // of whom its holder was told

	recovered bool // it was in the journal when this life began
}

// guests are the local jobs of others that are in a reservation by its name, as they are told while it is in that state: the reason
// of the next state takes their place.
type guests struct {
	in   grid.ReservationState
	jobs []string
}

func (g guests) are(o guests) bool { return g.in == o.in && slices.Equal(g.jobs, o.jobs) }

// pendingReserve asks for nodes that are to be found.
type pendingReserve struct {
	from grid.PeerID
	m    wire.Reserve
}

const (
	// listEvery is how often the batch system is asked what it holds, while the book has anything, or it what is in no book.
	listEvery = 30 * grid.Second
	// reserveAhead is how long making a reservation may take: it begins no sooner.
	reserveAhead = 5 * grid.Second
	// maxPendingReserves bounds those that wait for a snapshot.
	maxPendingReserves = 64
)

func newReservations(k *kernel) *reservations {
	c := &reservations{kernel: k, book: reserve.New(k.cfg.Reserving, nil), at: map[grid.ReservationID]*bookWork{}, nodes: map[grid.NodeName]plan.Node{}}
	k.reserver = c
	return c
}

// take takes up the reservations of the journal: those of this site.
func (c *reservations) take(list []grid.Reservation) {
	rules := c.gates.reserving(c.cfg.Reserving)
	own := slices.DeleteFunc(slices.Clone(list), func(r grid.Reservation) bool { return r.Site != c.cfg.Self })
	c.book = reserve.New(rules, own)
	for _, r := range own {
		w := c.work(r.ID)
		w.state, w.recovered = r.State, true
	}
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
	onMessage(r, c.recounted)
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
	c.book.SetRules(c.now, c.gates.reserving(e.Rules))
	c.settle()
}

// branchLost: the journal was rolled back. A reservation may have been changed since, by the word of its holder, which the batch system knows;
// and of all that stand their holders may have heard more than this journal has.
func (c *reservations) branchLost() {
	c.behind = true
	c.list()
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
	c.send(r.Holder.Home, wire.ReservationWord{Reservation: r.AsPlaced(), Clock: c.now})
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
		if r.Holding != grid.NotPlaced {
			first(max(c.listed+listEvery, c.now+grid.Second))
		}
	}
	if c.unsure {
		first(max(c.listed+listEvery, c.now+grid.Second))
	}
	if next > 0 {
		c.armGeneral(bookDue, next-c.now)
	}
}
