package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// coallocation gives a job nodes at several sites for one interval, all or none, without a centre: its
// home coordinates. The job, the whole, waits at its home as any job does, kept back from the search.
// What is done for it goes by rounds; a round is one choice of sites, with a reservation and a part, a job of its
// own, at each.
//
//	PLANNED ─► slots asked ─► RESERVING ─► CONFIRMING ─► STAGING ─► GATHERING ─► GO ─► BEGUN ─► OVER
//	   │ ▲                        │ refused     │ lost       │ refused    │ missing    │ one did not begin
//	   │ └───── GIVING_UP ◄───────┴─────────────┴────────────┴────────────┴────────────┘
//	   └─► ONE_SITE: one site alone ends it as soon, or nearly so
//
// Every state is on disk before anything is said in it. Everything that is said is repeated until it is answered,
// and a restart goes on from the journal: what a state asks for is reckoned anew from the
// allocation and the records of its parts ([coallocation.advance]), never from what was said last.
//
// Before GO is on disk no part can begin, for none is told to: a round is given up at once, and what is
// left of it is cleared away beside the next one. After it a part counts as begun unless a broker
// took its start token; another round follows only if none has begun, or the program may run twice.
//
//	coalloc.go          the machine: routes, states, timers
//	coalloc_cycle.go    all that wait are planned together
//	coalloc_choose.go   sites are asked and chosen
//	coalloc_draft.go    the choice for a job that nobody has handed in
//	coalloc_reserve.go  reservations, at their holder
//	coalloc_part.go     parts: made, handed over, gathered; what became of them
//	coalloc_early.go    the start of a round that is brought forward
//	coalloc_lost.go     parts that a journal which was put back does not know
//	coalloc_alone.go    wholes that one site has
//	coalloc_end.go      giving up, the end of the whole, what is left
//	slots.go            the site's side: which slots there are
//	coalloc_jobs.go     what all this needs of the jobs
type coallocation struct {
	wholes   wholes
	cfg      Coallocating
	all      map[grid.JobID]*allocation
	drafts   map[grid.JobID]*draft
	reserved map[grid.ReservationID]grid.JobID // whose reservations they are
	stale    map[grid.JobID]bool               // to be looked at in this step
	cycle    *planning                         // under way
	wanted   bool                              // another is to follow
	next     grid.Tick                         // and not before
}

// Coallocating is what a home does for its co-allocated jobs; zero fields take defaults.
type Coallocating struct {
	Horizon grid.Tick // how far ahead slots are asked for
	Window  grid.Tick // reservations are made for what starts within it
	Gain    grid.Tick // several sites are taken if they end a job so much sooner than one
	Lead    grid.Tick // between the choice and the start, beside the delivery
	Limit   grid.Tick // of tentative reservations
	Lease   grid.Tick // of confirmed ones, renewed three times as often
	Grace   grid.Tick // how long parts wait for one another after their start
	Within  grid.Tick // a part ends itself unless it hears so long after its begin that all have begun
	Again   grid.Tick // between rounds that came to nothing, twice as long each time, up to Rest
	Rest    grid.Tick
	Cycle   grid.Tick // between two plannings of all that wait
	Bound   grid.Tick // clocks that are not known so well are not reckoned with
}

func (c Coallocating) withDefaults() Coallocating {
	for _, f := range []struct {
		v *grid.Tick
		d grid.Tick
	}{
		{&c.Horizon, 7 * grid.Day}, {&c.Window, 6 * grid.Hour}, {&c.Gain, grid.Minute}, {&c.Lead, 20 * grid.Second},
		{&c.Limit, grid.Minute}, {&c.Lease, 10 * grid.Minute}, {&c.Grace, 5 * grid.Minute}, {&c.Within, 2 * grid.Minute},
		{&c.Again, 5 * grid.Second}, {&c.Rest, 10 * grid.Minute}, {&c.Cycle, 2 * grid.Second}, {&c.Bound, 10 * grid.Second},
	} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	return c
}

// wholes is what co-allocation needs of the rest of Core; see coalloc_jobs.go.
type wholes interface {
	instant() grid.Tick
	retry(tries int) grid.Tick       // how soon what is not answered is said again
	jitter(span grid.Tick) grid.Tick // up to that
	round() uint64                   // a number of questions
	newStamp() uint32                // used by no branch of this journal
	again(at grid.Tick)              // brings [coallocation.due]
	say(to grid.PeerID, m wire.Message)
	save(a *grid.Allocation, why string)
	drop(of grid.JobID)

	// whole is the record of a co-allocated job, and why its terms keep it back.
	whole(id grid.JobID) (r *grid.Record, by keeping)
	// tell shows the user what is done for a whole, and when it is to start.
	tell(id grid.JobID, why string, start grid.Tick)
	// alone has a place searched for a whole at one site.
	alone(id grid.JobID, why string)
	renew(id grid.JobID) // makes the new version of one that was altered
	// pursue ends a whole that has a place by itself, where its user wants that.
	pursue(id grid.JobID)
	begun(id grid.JobID)
	end(id grid.JobID, of ending)
	unheard(id grid.JobID, end grid.State) bool // it cannot be told that end yet, as others may have something of it

	sites(id grid.JobID) []reachable
	bytes(id grid.JobID, to grid.PeerID) grid.Tick // how long its files take there

	part(id grid.JobID) *grid.Record
	parts(of grid.JobID, after int) []*grid.Record // those of higher numbers, and those that have not ended
	makePart(j grid.Job)
	// place hands a part to its site, if it has no place yet, or says why this site does not take it.
	place(id grid.JobID, to grid.PeerID, wait grid.Tick) *grid.Refusal
	cancel(id grid.JobID, why string)
	// disown cancels the parts of a whole that this journal has lost, which nobody sees to.
	disown(of grid.JobID)
	// deliver has a rate kept for the inputs of a part until then, where this site offers that; delivered gives it up.
	deliver(of, part grid.JobID, to grid.PeerID, until grid.Tick) *grid.Refusal
	delivered(part grid.JobID)
	// placeLien keeps back what a part can cost, of the budget of its user; liftLien frees that of one that is not made.
	placeLien(of grid.JobID, p *grid.AllocatedPart) *grid.Refusal
	liftLien(of, part grid.JobID)
	// short says which of the parts of a job that nobody has handed in, of such costs, the budget of its user does not cover.
	short(j *grid.Job, costs []grid.Amount) (at int, why *grid.Refusal)

	// What has to be known first: see gates_coalloc.go.
	beforeRound(id grid.JobID) gate
	beforeCancel(id grid.JobID) gate
	beforeConfirming(tentative, of int) gate
	beforeGo(arrived, of int) gate
	beforeAllBegun(begun, of int) gate
	beforeReleasingAgain() gate
	offset(t grid.Tick) grid.Tick
	beforeSaving(to grid.AllocationState) gate
}

// reachable is a site that a whole may use, or why not.
type reachable struct {
	peer    grid.PeerID
	name    grid.SiteName
	refusal *grid.Refusal
	link    float64   // round trip, in seconds; 0 is not known
	facts   grid.Site // as it told them last
}

// allocation is what is known of a whole: on disk, and of what was said.
type allocation struct {
	rec    grid.Allocation
	own    numbers // that this journal has used, or had used when this life began
	said   map[saying]repeated
	heard  map[grid.ReservationID]grid.Tick // when its site spoke of one last, or since when that is waited for
	due    grid.Tick                        // when it is looked at again
	sooner grid.Tick                        // when sites are asked for an earlier start
	asks   int                              // how often they were
}

// numbers are the highest number of a part, and that of a round.
type numbers struct {
	part  int
	round uint32
}

// saying is something that is repeated, by what it is about.
type saying struct {
	what word
	of   grid.ReservationID
}

// word is one of the things that are repeated.
type word uint8

const (
	sayReserve word = iota
	sayConfirm
	sayRelease
	sayGo
	sayBegun
	sayChange
)

type repeated struct {
	next, since grid.Tick
	tries       int
}

func newCoallocation(cfg Coallocating) *coallocation {
	return &coallocation{cfg: cfg.withDefaults(), all: map[grid.JobID]*allocation{}, drafts: map[grid.JobID]*draft{}, reserved: map[grid.ReservationID]grid.JobID{}, stale: map[grid.JobID]bool{}}
}

func (s *coallocation) routes(r *routes) {
	onEvent(r, s.reached)
	onMessage(r, s.onSlotsReply)
	onMessage(r, s.onReserved)
	onMessage(r, s.onReservationWord)
	onGeneral(r, allocationsDue, s.dueNow)
	r.after = append(r.after, s.settle)
}

// take takes up what the journal has.
func (s *coallocation) take(list []grid.Allocation) {
	for _, rec := range list {
		s.add(rec)
	}
}

// add takes up an allocation. Its parts change where they lie, so they are its own: what the journal has changes by a
// save alone.
func (s *coallocation) add(rec grid.Allocation) *allocation {
	rec.Parts = slices.Clone(rec.Parts)
	a := &allocation{rec: rec, own: numbers{rec.Last, rec.Round}, said: map[saying]repeated{}, heard: map[grid.ReservationID]grid.Tick{}}
	s.all[rec.Of] = a
	s.stale[rec.Of] = true
	for i := range rec.Parts {
		s.reserved[rec.Parts[i].Reservation] = rec.Of
	}
	return a
}

// recover takes up again what was under way.
func (s *coallocation) recover(jobs []*job) {
	for _, j := range jobs {
		if r := &j.rec; r.Job.Coallocation != nil && r.Role == grid.Owning && r.Owner == r.Job.Home && !r.State.Terminal() {
			s.accepted(r.Job.ID)
		}
	}
	for id, a := range s.all {
		s.fromNow(a)
		s.stale[id] = true
	}
}

// accepted begins with a whole that was handed in, or is learnt again.
func (s *coallocation) accepted(id grid.JobID) {
	if s.all[id] == nil {
		a := s.add(grid.Allocation{Of: id, State: grid.Planned})
		s.save(a, "it may have several sites")
	}
}

// saved: a job was saved that is a whole, or a part of one.
func (s *coallocation) saved(j *grid.Job) {
	switch {
	case j.Part != nil:
		s.stale[j.Part.Of] = true
	case j.Coallocation != nil:
		s.stale[j.ID] = true
	}
}

// dropped: the record of a whole is gone.
func (s *coallocation) dropped(id grid.JobID) {
	if a := s.all[id]; a != nil {
		for i := range a.rec.Parts {
			delete(s.reserved, a.rec.Parts[i].Reservation)
		}
		delete(s.all, id)
		s.wholes.drop(id)
	}
}

// settle looks at all of which something has changed, until nothing changes any more.
func (s *coallocation) settle() {
	for again := true; again; again = s.turn() {
		for len(s.stale) > 0 {
			ids := slices.Sorted(maps.Keys(s.stale))
			clear(s.stale)
			for _, id := range ids {
				if a := s.all[id]; a != nil {
					s.advance(a)
				} else if d := s.drafts[id]; d != nil {
					s.weighDraft(d)
				} else {
					s.wholes.disown(id)
				}
			}
		}
	}
}

// dueNow: time has passed for some.
func (s *coallocation) dueNow() {
	now := s.wholes.instant()
	for id, a := range s.all {
		if a.due != 0 && a.due <= now {
			s.stale[id] = true
		} else if a.due != 0 {
			s.wholes.again(a.due)
		}
	}
	for id := range s.drafts {
		s.stale[id] = true
	}
}

// advance does what there is to do for a whole now.
func (s *coallocation) advance(a *allocation) {
	a.due = 0
	for last := grid.AllocationState(0); a.rec.State != last; {
		last = a.rec.State
		s.hear(a)
		switch {
		case s.ends(a):
		case a.rec.State == grid.Planned:
			s.plan(a)
		case a.rec.State == grid.Reserving:
			s.reserve(a)
		case a.rec.State == grid.Confirming:
			s.confirm(a)
		case a.rec.State == grid.Staging:
			s.stage(a)
		case a.rec.State == grid.Gathering:
			s.gather(a)
		case a.rec.State == grid.Going:
			s.goOn(a)
		case a.rec.State == grid.Together:
			s.together(a)
		case a.rec.State == grid.GivingUp:
			s.giveUp(a)
		}
	}
	s.renew(a)
	s.clear(a)
}

// become changes the state; it is on disk before anything that follows is said.
func (s *coallocation) become(a *allocation, to grid.AllocationState, why string) {
	if !a.rec.State.CanBecome(to) {
		panic(fmt.Sprintf("allocation of %s: %v does not become %v", a.rec.Of, a.rec.State, to))
	}
	a.rec.State, a.rec.Reason, a.rec.Outgrown = to, why, false
	if to >= grid.Gathering { // the files are there, or are not to come
		for _, p := range a.current() {
			s.wholes.delivered(p.Job)
			if to >= grid.GivingUp && !p.Made {
				s.wholes.liftLien(a.rec.Of, p.Job)
			}
		}
	}
	if s.wholes.beforeSaving(to) == open {
		s.save(a, why)
	}
}

func (s *coallocation) save(a *allocation, why string) {
	rec := a.rec
	rec.Parts = slices.Clone(rec.Parts)
	s.wholes.save(&rec, why)
}

// wake has it looked at again at an instant.
func (s *coallocation) wake(a *allocation, at grid.Tick) {
	at = max(at, s.wholes.instant()+1)
	if a.due == 0 || at < a.due {
		a.due = at
	}
	s.wholes.again(a.due)
}

// repeat tells whether something is to be said now, for the first time or again.
func (s *coallocation) repeat(a *allocation, what word, of grid.ReservationID) bool {
	now, key := s.wholes.instant(), saying{what, of}
	r := a.said[key]
	if r.next > now {
		s.wake(a, r.next)
		return false
	}
	if r.since == 0 {
		r.since = now
	}
	r.next = now + s.wholes.retry(r.tries)
	r.tries++
	a.said[key] = r
	s.wake(a, r.next)
	return true
}

// current are the parts of the round, by rank.
func (a *allocation) current() []*grid.AllocatedPart {
	var list []*grid.AllocatedPart
	for i := range a.rec.Parts {
		if p := &a.rec.Parts[i]; p.Round == a.rec.Round {
			list = append(list, p)
		}
	}
	return list
}
