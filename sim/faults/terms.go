package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// Users who want their jobs kept back, altered or ended in time, and what must hold of these:
//
//	S13  no program starts before its dependencies and its instant allow; none that its home has
//	     saved to be held, until its user wants it released; and none of a version that was replaced,
//	     of a job over several sites until its parts were told to go
//	S14  what is told to be CANCELLED_DEADLINE has one; what has started is ended by it when it has come
//
// That nothing waits for ever which need not, is S1 and S9: what is held is released, or has a
// deadline; a dependency that can never come true ends the job.
//
// What a home has lost with its journal it cannot keep to: what the journal has then counts. Where that is put back to when the job was
// held, what its release has let go before may start. What a duplicate of it may have done is left out.

// asked is what the user of a job wants of it, and what its home was last seen to keep of that.
type asked struct {
	is         bool
	terms      grid.Terms  // as it was handed in
	held       bool        // by the home's journal, at home, and nobody has asked for its release since
	walltime   grid.Tick   // of its version, by the home's journal
	lost       []grid.Tick // those of versions before its home was set back: another site may have them
	again      grid.Tick   // when its home was last put back to when the job was held, and so lost its release; 0 is never
	owned      bool        // by the home's journal, at home
	place      place       // that it had there last
	latest     grid.Tick   // that its home's clock has shown at a save of the job
	overdue    bool        // by the clock of a site its deadline there had come, at a save of the job
	letGo      bool        // its user wants it released, and does not want it held any more
	released   bool        // and was told that it is
	releasedAt grid.Tick   // when that was
	came       []string    // what it was to wait for, and has come true, whatever its home has lost since
	vain       bool        // one of these could never come true, once
}

// place is what a job gets anew each time that it is put up for the search, and finds one.
type place struct {
	attempt uint32
	offer   grid.Epoch
}

func placeOf(r *grid.Record) place { return place{r.Attempt, r.Handoff.Epoch} }

// exacting is a user with a chain of jobs.
type exacting struct {
	w     *world
	s     *site
	at    *site // that is asked for changes
	rnd   *rand.Rand
	n     int
	jobs  []grid.JobID // that are accepted
	tries int
	said  *grid.Job // that was handed in, and was not answered
}

// loadTerms plans such users, in one history of three.
func (w *world) loadTerms() {
	r := w.rnd.term
	if r.IntN(3) > 0 || w.o.Keep != nil {
		return
	}
	for n := range 1 + r.IntN(2) {
		u := &exacting{w: w, s: w.sites[r.IntN(len(w.sites))], rnd: r, n: n}
		u.at = w.asker(u.s)
		w.after(between(r, grid.Second, arrivals/2), func() { u.submit(2 + r.IntN(4)) })
	}
}

// submit hands in the next of so many jobs, once the one before is accepted.
func (u *exacting) submit(more int) {
	if more == 0 || u.s.gone || u.tries > 200 {
		return
	}
	u.tries++
	w, r := u.w, u.rnd
	again := between(r, 5*grid.Second, 30*grid.Second)
	if !u.s.reaches() || u.s.disk.full {
		w.after(again, func() { u.submit(more) })
		return
	}
	if u.said == nil {
		j := u.next()
		u.said = &j
		f := newFact(j.ID, u.s, &j)
		f.asked = asked{is: true, terms: j.Terms, walltime: j.Walltime}
		w.truth.add(f)
	}
	j := *u.said
	w.tell(u.s, "an exacting user submits %s: %+v", j.ID, j.Terms)
	answered := false
	u.s.host.request(func(t core.Token) core.Request {
		return core.Submit{Token: t, Job: j, Key: fmt.Sprint("terms", u.n, "-", more)}
	}, func(a core.Answer) {
		answered = true
		if a.Err == nil || errors.Is(a.Err, grid.ErrInvalid) { // else it may have been taken all the same: it is handed in again
			u.said = nil
		}
		if a.Err != nil {
			u.w.after(again, func() { u.submit(more) })
			return
		}
		id := a.Record.Job.ID
		w.tell(u.s, "TELLS that %s is accepted", id)
		w.truth.facts[id].waitsFor()
		if !slices.Contains(u.jobs, id) {
			u.jobs = append(u.jobs, id)
			u.plan(id)
		}
		u.w.after(again, func() { u.submit(more - 1) })
	})
	w.after(grid.Minute, func() {
		if !answered {
			u.submit(more)
		}
	})
}

// next is a job with terms.
func (u *exacting) next() grid.Job {
	r, now := u.rnd, u.s.host.now()
	j := grid.Job{
		ID:   grid.NewJobID(u.s.name(), fmt.Sprintf("T%015d%010d", u.n, u.tries)),
		Home: u.s.peer, User: grid.User{Home: u.s.peer, Name: "dave"}, Program: grid.Program{Executable: "/bin/true", Arguments: arguments}, Name: "chain",
		Walltime: between(r, 5*grid.Second, 2*grid.Minute), Rerunnable: r.IntN(4) == 0, Demand: cores(1),
	}
	if r.IntN(3) == 0 {
		j.Terms.NotBefore = now + between(r, grid.Second, 10*grid.Minute)
	}
	if r.IntN(3) == 0 {
		j.Terms.Held = true
	}
	if r.IntN(3) == 0 {
		j.Terms.Deadline = max(now, j.Terms.NotBefore) + between(r, 10*grid.Second, 30*grid.Minute)
	}
	if n := len(u.jobs); n > 0 && r.IntN(2) == 0 {
		kinds := []grid.DependencyKind{grid.After, grid.AfterAny, grid.AfterOK, grid.AfterNotOK}
		j.Terms.After = []grid.Dependency{{Kind: kinds[r.IntN(len(kinds))], On: string(u.jobs[r.IntN(n)])}}
	}
	if r.IntN(4) == 0 {
		j.Terms.After = append(j.Terms.After, grid.Dependency{Kind: grid.Singleton})
	}
	return j
}

// plan plans what its user does with a job.
func (u *exacting) plan(id grid.JobID) {
	w, r := u.w, u.rnd
	yes, at := true, between(r, grid.Second, 8*grid.Minute)
	if r.IntN(2) == 0 {
		w.after(at, func() { u.alter(id, grid.Alteration{Held: &yes}, 20) })
	}
	if f := w.truth.facts[id]; f.asked.terms.Deadline == 0 || r.IntN(3) > 0 { // else its deadline ends it
		w.after(at+between(r, grid.Second, 8*grid.Minute), func() { u.release(id) })
	}
	if r.IntN(2) == 0 {
		walltime, priority := between(r, 5*grid.Second, 2*grid.Minute), r.IntN(10)
		w.after(between(r, grid.Second, 10*grid.Minute), func() { u.alter(id, grid.Alteration{Walltime: &walltime, Priority: &priority}, 20) })
	}
}

// alter asks for a change until that is answered.
func (u *exacting) alter(id grid.JobID, to grid.Alteration, tries int) {
	f := u.w.truth.facts[id]
	if tries == 0 || u.s.gone || f.told != 0 || to.Held != nil && f.asked.letGo {
		return
	}
	answered := false
	u.at = u.at.orHome(u.s)
	if u.at.reaches() {
		u.w.tell(u.at, "an exacting user wants %s to be %s", id, to)
		u.ask(id, to, func(core.Answer) { answered = true })
	}
	u.w.after(between(u.rnd, 5*grid.Second, 20*grid.Second), func() {
		if !answered {
			u.alter(id, to, tries-1)
		}
	})
}

// ask asks for a change of a job, at the broker that this user asks.
func (u *exacting) ask(id grid.JobID, to grid.Alteration, answered func(core.Answer)) {
	u.s.ask(u.at, func(t core.Token) core.Request { return core.Alter{Token: t, Job: id, To: to, By: "dave"} },
		core.Wish{Job: id, User: "dave", Ask: wire.WishAlter, Alter: to}, answered)
}

// release asks for it again and again: a home may be set back to when the job was held, also when its end was told.
func (u *exacting) release(id grid.JobID) {
	no := false
	f := u.w.truth.facts[id]
	if u.s.gone || f.told != 0 && !u.w.storm {
		return
	}
	f.asked.letGo = true
	u.at = u.at.orHome(u.s)
	if r := u.s.disk.records[id]; u.at.reaches() && r != nil && r.Job.Terms.Held {
		f.asked.held = false
		asked := u.w.now
		u.w.tell(u.at, "an exacting user releases %s", id)
		u.ask(id, grid.Alteration{Held: &no}, func(a core.Answer) {
			if a.Err == nil {
				f.releasedTold(asked)
			}
		})
	}
	u.w.after(between(u.rnd, 20*grid.Second, grid.Minute), func() { u.release(id) })
}

// termsSaved sees what the home of a job has saved of it.
func (t *truth) termsSaved(s *site, f *fact, r *grid.Record) {
	if !f.asked.is {
		return
	}
	t.releasedSaved(s, f, r)
	owned := r.Role == grid.Owning
	atHome := owned && r.State == grid.Ready
	f.asked.held = atHome && r.Job.Terms.Held || f.asked.held && r.Job.Terms.Held
	// What comes home is of its version again; and it may be altered, and find a place, in one save.
	if atHome || owned && (!f.asked.owned || placeOf(r) != f.asked.place) {
		f.asked.walltime = r.Job.Walltime
	}
	f.asked.owned, f.asked.place = owned, placeOf(r)
}

// byAnother: another broker of its home's name may have acted on the job, and that cannot keep to what it did.
func (f *fact) byAnother() bool { return f.shared(f.home) || f.torn() }

// setBack: its home has now lost what it wrote of the job after this record, or all of it.
func (a *asked) setBack(r *grid.Record, l lapse) {
	isHeld := r != nil && r.Job.Terms.Held
	if isHeld && !a.held {
		a.again = l.at
	}
	// Where it has lost that it was released, it has lost too which wishes came before that.
	a.held, a.released = a.held && isHeld, a.released && r != nil && !isHeld && !l.covers(a.releasedAt)
	a.owned = r != nil && r.Role == grid.Owning
	if r == nil || r.Job.Walltime != a.walltime {
		a.lost = append(a.lost, a.walltime)
	}
	if r != nil {
		a.walltime, a.place = r.Job.Walltime, placeOf(r)
	}
}

// wentBefore: its home has lost that it released the job, and this start was on its way then: the batch system of the home had been asked
// for it, or the job had left the home and the home has not given it away since.
func (f *fact) wentBefore(now start) bool {
	went := now.sent
	if now.where != f.home {
		went = f.leftHome(now.id.Epoch)
	}
	return went > 0 && went <= f.asked.again
}

// mayGo checks S13.
func (f *fact) mayGo(w *world, now start, job *grid.Job) {
	if !f.asked.is {
		return
	}
	t := &f.asked.terms
	kept := f.home.disk.records[f.id]
	// What its user has wished since does not reach that site.
	apart := kept != nil && (f.onItsOwn(now, kept.Epoch.Term) || f.leftThere(now, kept.Epoch.Term))
	twin, latest := f.byAnother(), max(f.asked.latest, f.home.host.now())
	if d := f.home.duplicate; d != nil {
		latest = max(latest, d.host.now())
	}
	switch {
	case f.asked.held && !twin && !apart && !f.wentBefore(now):
		w.violate("S13", f.id, "%s starts at %s, and is held at its home", now.id, now.where.name())
	case latest < t.NotBefore:
		w.violate("S13", f.id, "%s starts at %s, %.0f s before it may", now.id, now.where.name(), (t.NotBefore - latest).Seconds())
	case job.Walltime != f.asked.walltime && !twin && !slices.Contains(f.asked.lost, job.Walltime) && !apart:
		w.violate("S13", f.id, "%s starts at %s with a walltime of %.0f s, which was altered to %.0f s", now.id, now.where.name(), job.Walltime.Seconds(), f.asked.walltime.Seconds())
	}
	for _, d := range t.After {
		if d.Kind != grid.Singleton && !f.met(d) && !slices.Contains(f.asked.came, d.On) && !f.other(d).byAnother() {
			w.violate("S13", f.id, "%s starts at %s, and its dependency %s %s has not come true", now.id, now.where.name(), d.Kind, d.On)
		}
	}
}

// met tells that a dependency has come true.
func (f *fact) met(d grid.Dependency) bool {
	other := f.other(d)
	well := other.told == grid.Completed && other.exit == 0
	switch d.Kind {
	case grid.After:
		return other.told != 0 || len(other.starts) > 0
	case grid.AfterOK:
		return well
	case grid.AfterNotOK:
		return other.told != 0 && !well || other.lost // also where it has gained a result since
	}
	return other.told != 0
}

// inVain: a dependency of the job can never come true, or could not as its home knew then, so that it may fail without a start. Another
// broker of the home's name may have been told other ends.
func (f *fact) inVain() bool {
	return f.asked.vain || f.depends(f.neverMet) || f.depends(func(d grid.Dependency) bool { return f.other(d).byAnother() })
}

func (f *fact) depends(so func(grid.Dependency) bool) bool {
	return slices.ContainsFunc(f.asked.terms.After, func(d grid.Dependency) bool { return d.Kind != grid.Singleton && so(d) })
}

// neverMet: the job that it is about has ended otherwise, as far as was told last: one that was LOST may have gained its result since.
func (f *fact) neverMet(d grid.Dependency) bool {
	other := f.other(d)
	well := other.told == grid.Completed && other.exit == 0
	return d.Kind == grid.AfterOK && other.told != 0 && !well || d.Kind == grid.AfterNotOK && well
}

// stirs: a user is told the end of a job. What waits for it may go, or never will, whatever its home loses since.
func (t *truth) stirs(id grid.JobID) {
	for _, f := range t.facts {
		for _, d := range f.asked.terms.After {
			if d.On == string(id) {
				f.asked.stirs(f, d)
			}
		}
	}
}

// waitsFor: the job is accepted. What it waits for may have ended before.
func (f *fact) waitsFor() {
	f.accepted = true
	for _, d := range f.asked.terms.After {
		f.asked.stirs(f, d)
	}
}

func (a *asked) stirs(f *fact, d grid.Dependency) {
	switch {
	case d.Kind == grid.Singleton:
	case f.met(d):
		a.came = append(a.came, d.On)
	default:
		a.vain = a.vain || f.neverMet(d)
	}
}

// keptBack: its home has reason to let it wait. What it waits for may wait again itself, if its home has lost that it went.
func (f *fact) keptBack() bool {
	r := f.home.disk.records[f.id]
	if !f.asked.is || r == nil {
		return false
	}
	t := &r.Job.Terms
	waits := slices.ContainsFunc(t.After, func(d grid.Dependency) bool {
		return d.Kind == grid.Singleton && f.namesakes() || d.Kind != grid.Singleton && (!f.met(d) || f.other(d).waitsAgain())
	})
	return t.Held || t.NotBefore > f.home.host.now() || waits
}

// waitsAgain: its home has it as one that has not gone yet, and has reason to let it wait.
func (f *fact) waitsAgain() bool {
	r := f.home.disk.records[f.id]
	return r != nil && r.State == grid.Ready && f.keptBack()
}

// other is the job that a dependency is on.
func (f *fact) other(d grid.Dependency) *fact { return f.home.w.truth.facts[grid.JobID(d.On)] }

// namesakes: another job of the chain has not ended.
func (f *fact) namesakes() bool {
	for _, o := range f.home.w.truth.facts {
		if o != f && o.asked.is && o.home == f.home && o.accepted && o.told == 0 {
			return true
		}
	}
	return false
}
