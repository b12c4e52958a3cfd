package faults

import (
	"cmp"
	"maps"
	"slices"

	"gbroker/grid"
)

// truth is what happened, whatever any record says: which programs were started and
// ended, where and how, and what users were told. The properties of the design's
// section 7 are checked against it, each at the moment at which it could break:
//
//	S1   in the end every accepted job is in a final state; LOST only with reason
//	S2a  two sites never own a job at one epoch, nor at one term at the same time
//	S2b  a program is started once; a rerunnable one once per term and loss of it
//	S2c  none is started after its user was told KILLED
//	S4   a job over several sites has all of them or none (and S3: reservations; together.go)
//	S5   what a user was told stays true, and was true
//	S6   no message is sent that the codec refuses
//	S8   nothing is left over
//	S9   no waiting job is out of every queue for long
//	S10  a group is whole or absent (and S11, S12: groups.go)
//	S13  none starts that its home keeps back (and S14: terms.go)
//	S15  what is wished for at another broker is done once (asker.go)
//	S16  a budget is what is free, in liens and spent of it (budgets.go)
//	S17  a task of a workflow begins when it may, with what it needs, and as often as it may (and S18: flows_truth.go)
//
// Programs and owners are here, what users are told in told.go, and what is not held
// against the brokers in excuse.go.
type truth struct {
	facts  map[grid.JobID]*fact
	order  []*fact                         // of them, by identifier; made when it is asked for
	pieces map[grid.ReservationID][]*piece // of jobs over several sites; see together.go
}

// fact is the truth about one job.
type fact struct {
	id         grid.JobID
	home       *site
	rerun      bool
	cores      int
	files      bool // it has inputs
	accepted   bool // a user was told so
	uploaded   bool // a user was told that its files are there
	wished     bool // a user has asked for its end
	removed    bool // its user has asked for that, or was told that it is gone
	removedAt  grid.Tick
	starts     []start
	ends       []grid.Progress
	owners     map[grid.Epoch]*site
	got        map[grid.Epoch]grid.Tick // when these did
	given      map[grid.Epoch]giving    // how it came there from another site
	owning     map[*site]grid.Epoch     // who owns it now, by their journals
	had        map[*site]grid.Tick      // since when who has owned it, or was to: it was handed over to them
	wrote      map[*site][]grid.Tick    // when something of it was saved there
	turned     map[*site][]grid.Tick    // when who has it, as that says, or that it has ended
	last       map[*site]turn           // what that said last
	swept      map[*site]grid.Tick      // when its folder was discarded there last, or put aside
	erased     map[*site]grid.Tick      // when it was discarded there last, with its start tokens
	givenUp    grid.Epoch               // at which it was, in its home's journal, as a site was forgotten that had it
	cancel     grid.Tick                // when the wish was told to be recorded; 0 is not
	told       grid.State               // the final state that was told
	toldAt     grid.Tick
	toldOf     grid.Epoch // at which it was owned
	lost       bool       // that was LOST, once
	exit       int
	once       grid.State                   // what was told before its home lost that, and others know
	killed     bool                         // that was KILLED, and others had the job
	killedAt   grid.Tick                    // when it was told
	killer     *site                        // who had the job then; nil is its home
	never      map[grid.AttemptID]grid.Tick // attempts that were withdrawn: they never start
	queued     grid.Tick                    // when it was handed in, was last in a queue, or was given what it waits for
	moved      bool
	asked      asked      // what its user wants of it beside
	refusal    refusal    // of a batch system, the last one
	nobody     grid.Epoch // at which the last search for a place found that no site can run it, now or later
	stranded   bool       // since it was handed in, no site of its home's file had enough processors for it
	regained   grid.Tick  // and when one came back since; 0 is none
	sites      int        // that it may have at one time; 0 is one
	rounds     []*round
	whole      *fact   // of which it is a part
	task       *task   // of a workflow, that it is
	duplicates [2]bool // the first one, and its duplicate, have changed a record of it while both ran

	// What its home has lost the knowledge of, with its journal; see lapse.go.
	unknown    bool           // the job
	stale      bool           // what its user was told, until it has read that again beside its journal
	unsupplied bool           // that its files came
	unwished   bool           // that it is to be cancelled
	doubtful   map[*site]bool // whether another has it: that site was set back, and may have given it away; see doubts
	raised     bool           // its home began a term of it while that was doubtful there
	read       map[*site]bool // it was open in the journal of that site when its broker started last
	learnt     bool           // and has learnt it again from one who was to get it: nobody knows who owns it
}

// start is one start of a program.
type start struct {
	at     grid.Tick
	where  *site
	id     grid.AttemptID
	sent   grid.Tick // when the batch system was asked to take it
	queued grid.Tick // when it had
	ended  grid.Tick // 0 is not, or not by itself
	lost   bool      // the batch system has lost it: nobody writes down its end
}

// runs: the program runs.
func (e start) runs() bool { return e.ended == 0 && !e.lost }

// giving is the commit of a handoff.
type giving struct {
	at     grid.Tick
	by, to *site
}

func newFact(id grid.JobID, home *site, job *grid.Job) *fact {
	sites := 0
	if job.Coallocation != nil {
		sites = job.Coallocation.Sites
	}
	f := &fact{
		sites: sites,
		id:    id, home: home, queued: home.w.now, rerun: job.Rerunnable, cores: job.Demand.Cores(), files: len(job.Inputs) > 0,
		owners: map[grid.Epoch]*site{}, got: map[grid.Epoch]grid.Tick{}, given: map[grid.Epoch]giving{}, owning: map[*site]grid.Epoch{}, had: map[*site]grid.Tick{}, wrote: map[*site][]grid.Tick{}, turned: map[*site][]grid.Tick{}, last: map[*site]turn{}, swept: map[*site]grid.Tick{}, erased: map[*site]grid.Tick{}, doubtful: map[*site]bool{}, read: map[*site]bool{},
		never: map[grid.AttemptID]grid.Tick{},
	}
	f.stranded = f.homeless()
	return f
}

// sorted lists the facts in a fixed order.
func (t *truth) sorted() []*fact {
	if len(t.order) != len(t.facts) {
		t.order = slices.SortedFunc(maps.Values(t.facts), func(a, b *fact) int { return cmp.Compare(a.id, b.id) })
	}
	return t.order
}

// add takes up a job that is handed in, or made.
func (t *truth) add(f *fact) {
	t.facts[f.id] = f
	t.order = nil
}

// arguments are those of each job at one site: brokers keep them in their journals alone.
var arguments = []string{"as", "handed", "in"}

// started: the program of a local job runs.
func (t *truth) started(s *site, l *local) {
	w, id := s.w, l.sub.ID
	f := t.facts[id.Job]
	now := start{at: w.now, where: s, id: id, sent: l.sent, queued: l.queued}
	f.moved = f.moved || s != f.home
	w.tell(s, "STARTS %s", id)
	if !f.isPart() && !f.isWhole() && !slices.Equal(l.sub.Job.Program.Arguments, arguments) {
		w.violate("S5", f.id, "%s starts with the arguments %q, and was handed in with %q", id, l.sub.Job.Program.Arguments, arguments)
	}
	t.mayBegin(s, l)
	if f.task != nil {
		t.taskBegins(f, l.sub.Job.Inputs)
	}
	if !f.torn() && !f.untaken(now) {
		f.mayStart(w, now)
		f.mayGo(w, now, &l.sub.Job)
	}
	f.starts = append(f.starts, now)
}

// mayStart checks S2b, S2c and S5 before a start is one of those that were.
func (f *fact) mayStart(w *world, now start) {
	same, losses := 0, 0 // starts in this term that the brokers can know of
	for _, e := range f.starts {
		if e.id.Epoch.Term != now.id.Epoch.Term || f.unknownBy(e, now) {
			continue
		}
		if same++; e.lost {
			losses++
		}
	}
	switch {
	case (f.told == grid.Killed || f.killed && !f.killForgotten() && !f.goesUnheard(now)) && !f.toldByFence(now.where) && !f.endUnheardOf(now.id.Epoch, f, f.toldOf, f.toldAt):
		w.violate("S2c", f.id, "%s starts at %s after its user was told KILLED", now.id, now.where.name())
	case f.told != 0 && f.told != grid.Lost && f.told != grid.Killed && now.id.Epoch.Term >= f.toldOf.Term && !f.endUnheardOf(now.id.Epoch, f, f.toldOf, f.toldAt) && !f.endsNoMore(now):
		w.violate("S5", f.id, "%s starts at %s after its user was told %s", now.id, now.where.name(), f.told)
	case f.rerun && same > losses:
		w.violate("S2b", f.id, "%s starts at %s, the %d. time in its term, after %d losses", now.id, now.where.name(), same+1, losses)
	case f.cancel > 0 && !w.storm && w.now-max(f.cancel, w.storms) > cancelBound && !f.estranged(now.where):
		w.violate("S5", f.id, "%s starts at %s though its user was told %.0f s ago that it is to be cancelled", now.id, now.where.name(), (w.now - f.cancel).Seconds())
	case !f.rerun:
		for _, e := range f.starts {
			if !f.fencedOff(e, now) && !f.unknownBy(e, now) && !f.waitsForNobody(e, now) {
				w.violate("S2b", f.id, "%s, which is not rerunnable, starts at %s, and was started at %s as %s before", now.id, now.where.name(), e.where.name(), e.id)
				return
			}
		}
	}
}

// cancelBound is how long after the last fault a cancel may take to be everywhere.
const cancelBound = 20 * grid.Minute

// withdrawn: the token of an attempt says that it never starts.
func (t *truth) withdrawn(s *site, id grid.AttemptID) {
	if f := t.facts[id.Job]; f != nil {
		f.never[id] = s.w.now
	}
}

// lost: the program of a local job is no more, and nobody writes down its end.
func (t *truth) lost(s *site, l *local) {
	if f := t.facts[l.sub.ID.Job]; f != nil {
		if e := f.running(s, l.sub.ID); e != nil {
			e.lost = true
		}
	}
}

// sweeps: the folder of a job is discarded at a site, or put aside.
func (t *truth) sweeps(one *site, id grid.JobID, discarded bool) {
	f := t.facts[id]
	if f == nil {
		return
	}
	if f.swept[one.principal()] = one.w.now; discarded {
		f.erased[one.principal()] = one.w.now
	}
}

// running is the start of an attempt that runs at a site.
func (f *fact) running(s *site, id grid.AttemptID) *start {
	for i := range f.starts {
		if e := &f.starts[i]; e.id == id && e.where == s && e.runs() {
			return e
		}
	}
	return nil
}

// ended: the program of a local job has ended.
func (t *truth) ended(s *site, l *local, p grid.Progress) {
	f := t.facts[l.sub.ID.Job]
	f.ends = append(f.ends, p)
	if e := f.running(s, l.sub.ID); e != nil {
		e.ended = s.w.now
	}
	s.w.tell(s, "ENDS %s, cause %d, exit code %d", l.sub.ID, p.Cause, p.ExitCode)
}

// saved: changes are in the journal of one, which may be a duplicate.
func (t *truth) saved(one *site, changes []grid.Change) {
	t.groupsSaved(one, changes)
	s, first := one.principal(), one.of == nil
	for _, c := range changes {
		if site, is := c.Record.(*grid.SiteState); is {
			s.w.tell(s, "saves that it is drained: %v", site.Draining)
			s.noticed(site.RolledBack != 0)
			continue
		}
		if b, is := c.Record.(*grid.Budget); is {
			t.budgetSaved(s, b)
		}
		if a, is := c.Record.(*grid.Allocation); is {
			t.roundSaved(s, a)
		}
		if r, is := c.Record.(*grid.Reservation); is && r.Site == s.peer {
			t.reservationSaved(s, r)
		}
		id, r, is := c.Job()
		if !is {
			continue
		}
		f := t.facts[id]
		if f == nil && r != nil && r.Job.Part != nil {
			f = t.newPart(s.w.byPeer[r.Job.Home], &r.Job)
		}
		if f == nil {
			continue
		}
		f.wrote[s] = append(f.wrote[s], s.w.now)
		if s.duplicate != nil {
			f.acted(first)
		}
		if r == nil {
			f.turns(s, nil)
			delete(f.owning, s)
			s.w.tell(s, "forgets %s", id)
			t.forgotten(s, f)
			continue
		}
		if s.w.tracing() {
			s.w.tell(s, "saves %s: %s", id, sayRecord(s, r))
		}
		if d := r.Job.Terms.Deadline; d != 0 && one.host.now() >= d { // a clock that is set moves what was reckoned by it before
			f.asked.overdue = true
		}
		if s == f.home {
			f.asked.latest = max(f.asked.latest, one.host.now())
		}
		if s == f.home && first {
			t.termsSaved(s, f, r)
			f.learnt = f.learnt || f.unknown && r.State == grid.Lost
			f.unknown = false
			t.stillCancelled(s, f, r)
		}
		f.searched(c.Decisions)
		f.doubts(s, r)
		for _, p := range r.Trail { // also where it was handed on, and taken back, in one save
			f.has(s.w.byPeer[p])
		}
		if committed(r) {
			to := s.w.byPeer[r.Handoff.To]
			f.has(to)
			if e := r.Handoff.Epoch; f.given[e].at == 0 {
				f.given[e] = giving{s.w.now, s, to}
			}
		}
		if s == f.home {
			f.givesUp(r)
		}
		f.turns(s, r)
		if r.Role != grid.Owning || r.State.Terminal() {
			delete(f.owning, s)
			continue
		}
		t.owned(s, f, r)
	}
}

// committed: the record says that the job was handed on, also where a step that was saved with that one has let go of the handoff.
func committed(r *grid.Record) bool {
	h := r.Handoff
	return h.Phase == grid.Committed || h.To != "" && r.Role == grid.Watching && r.Owner == h.To && r.Epoch == h.Epoch
}

// turn is what a record says of who has the job.
type turn struct {
	role   grid.Role
	owner  grid.PeerID
	epoch  grid.Epoch
	to     grid.PeerID // to whom it was handed on
	closed bool
	end    grid.State
	over   bool
}

// turnOf is that of a record; nil is none.
func turnOf(r *grid.Record) (t turn) {
	if r == nil {
		return t
	}
	t = turn{role: r.Role, owner: r.Owner, epoch: r.Epoch, closed: r.Closed, end: r.End, over: r.State.Terminal()}
	if committed(r) {
		t.to = r.Handoff.To
	}
	return t
}

// says tells that a site has the job by it.
func (t turn) says(p grid.PeerID) bool { return t.owner == p || t.to == p }

// turns notes that a record says something else of that than the one before; nil is none.
func (f *fact) turns(s *site, r *grid.Record) {
	if to := turnOf(r); to != f.last[s] {
		f.last[s] = to
		f.turned[s] = append(f.turned[s], s.w.now)
	}
}

// has notes that a site has the job, or is to get it.
func (f *fact) has(s *site) {
	if f.had[s] == 0 {
		f.had[s] = f.home.w.now
	}
}

// owned checks S2a.
func (t *truth) owned(s *site, f *fact, r *grid.Record) {
	e := r.Epoch
	f.has(s)
	if o := f.owners[e]; o != nil && o != s && !f.torn() {
		s.w.violate("S2a", f.id, "%s and %s both own %s at epoch %s", o.name(), s.name(), f.id, e)
		return
	}
	if f.owners[e] = s; f.got[e] == 0 {
		f.got[e] = s.w.now
	}
	if r.Uncertain || f.behind(s, e) { // it asks whether it owns the job before it does anything with it
		delete(f.owning, s)
		return
	}
	f.owning[s] = e
	for o, at := range f.owning {
		if o != s && at.Term == e.Term && !f.torn() && !f.unheardAt(o, at, s.w.now) && !f.unheardAt(s, e, s.w.now) && !f.behind(o, at) && !f.unheardOf(at, f.rootOf(e)) && !f.unheardOf(e, f.rootOf(at)) && !f.gaveTwice(at, e) && !f.gaveTwice(e, at) {
			s.w.violate("S2a", f.id, "%s owns %s at epoch %s while %s owns it at %s", s.name(), f.id, e, o.name(), at)
		}
	}
}
