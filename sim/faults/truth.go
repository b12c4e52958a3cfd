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
//	S5   what a user was told stays true, and was true
//	S6   no message is sent that the codec refuses
//	S8   nothing is left over
//	S9   no waiting job is out of every queue for long
type truth struct {
	facts map[grid.JobID]*fact
}

// fact is the truth about one job.
type fact struct {
	id       grid.JobID
	home     *site
	rerun    bool
	cores    int
	accepted bool // a user was told so
	removed  bool // its user has asked for that, or was told that it is gone
	starts   []start
	running  map[uint32]int // programs of it that run now, by term
	losses   int            // of its program, by the batch system
	ends     []grid.Progress
	owners   map[grid.Epoch]*site
	owning   map[*site]grid.Epoch // who owns it now, by their journals
	cancel   grid.Tick            // when the wish was told to be recorded; 0 is not
	told     grid.State           // the final state that was told
	exit     int
	queued   grid.Tick // when it was last in a queue, or was given what it waits for
	moved    bool
	refused  bool    // a batch system has refused to take it
	stranded bool    // since it was handed in, no site of its home's file had enough processors for it
	twins    [2]bool // the first one, and its twin, have changed a record of it while both ran
}

// start is one start of a program.
type start struct {
	at    grid.Tick
	where *site
	id    grid.AttemptID
}

func (t *truth) fact(id grid.JobID) *fact { return t.facts[id] }

// sorted lists the facts in a fixed order.
func (t *truth) sorted() []*fact {
	return slices.SortedFunc(maps.Values(t.facts), func(a, b *fact) int { return cmp.Compare(a.id, b.id) })
}

// started: the program of a local job runs.
func (t *truth) started(s *site, l *local) {
	w, id := s.w, l.sub.ID
	f := t.facts[id.Job]
	f.starts = append(f.starts, start{w.now, s, id})
	f.running[id.Epoch.Term]++
	f.moved = f.moved || s != f.home
	w.tell(s, "STARTS %s", id)
	switch {
	case f.torn():
	case f.told == grid.Killed:
		w.violate("S2c", id.Job, "%s starts at %s after its user was told KILLED", id, s.name())
	case f.mayNotKnow(), f.estranged(s):
	case !f.rerun && len(f.starts) > 1 && !(f.home.fenced && f.newerTerm()):
		first := f.starts[0]
		w.violate("S2b", id.Job, "%s, which is not rerunnable, starts at %s, and was started at %s as %s before", id, s.name(), first.where.name(), first.id)
	case f.rerun && f.startsOf(id.Epoch.Term) > 1+f.losses:
		w.violate("S2b", id.Job, "%s starts at %s, the %d. time in its term, after %d losses", id, s.name(), f.startsOf(id.Epoch.Term), f.losses)
	case f.cancel > 0 && !w.storm && w.now-max(f.cancel, w.storms) > cancelBound:
		w.violate("S5", id.Job, "%s starts at %s though its user was told %.0f s ago that it is to be cancelled", id, s.name(), (w.now - f.cancel).Seconds())
	}
}

// estranged: the administrators of the home and of that site have each said that the other
// will not come back. So the one starts the job again, and the other does not ask any more.
func (f *fact) estranged(s *site) bool { return s.forgot[f.home.peer] && f.home.forgot[s.peer] }

// mayNotKnow: the home was restored, or has lost its journal, and so was the journal of
// another site that had started the program: what both have forgotten nobody knows. Or its
// user had the job removed, and with it the start tokens. Or its
// administrator has said that it need not wait for the word of such a site, or has removed it
// from the neighbours, which says the same.
func (f *fact) mayNotKnow() bool {
	last := len(f.starts) - 1
	return f.home.disk.damaged && (f.removed || slices.ContainsFunc(f.starts[:last], func(s start) bool {
		return f.home.forgot[s.where.peer] || f.home.dropped[s.where.peer] || s.where != f.home && s.where.disk.damaged
	}))
}

// acted: one of two brokers under one name has saved something about the job.
func (f *fact) acted(first bool) {
	k := 1
	if first {
		k = 0
	}
	f.twins[k] = true
}

// torn: two brokers under one name have both acted on the job. Until somebody has met both,
// and has told the one that he met first, neither can know of the other, and both may give
// the job away.
func (f *fact) torn() bool { return f.twins == [2]bool{true, true} }

// newerTerm: the last start is of a newer term than all before. An administrator who says
// that a site is fenced off has all of its jobs started again, also those that ran there;
// what is left of the older term must not start any more.
func (f *fact) newerTerm() bool {
	last := len(f.starts) - 1
	for _, s := range f.starts[:last] {
		if s.id.Epoch.Term >= f.starts[last].id.Epoch.Term {
			return false
		}
	}
	return true
}

// cancelBound is how long after the last fault a cancel may take to be everywhere.
const cancelBound = 20 * grid.Minute

func (f *fact) startsOf(term uint32) int {
	n := 0
	for _, s := range f.starts {
		if s.id.Epoch.Term == term {
			n++
		}
	}
	return n
}

// lost: the program of a local job is no more, and nobody writes down its end.
func (t *truth) lost(_ *site, l *local) {
	if f := t.facts[l.sub.ID.Job]; f != nil {
		f.running[l.sub.ID.Epoch.Term]--
		f.losses++
	}
}

// ended: the program of a local job has ended.
func (t *truth) ended(s *site, l *local, p grid.Progress) {
	f := t.facts[l.sub.ID.Job]
	if l.started > 0 {
		f.running[l.sub.ID.Epoch.Term]--
	}
	f.ends = append(f.ends, p)
	s.w.tell(s, "ENDS %s, cause %d, exit code %d", l.sub.ID, p.Cause, p.ExitCode)
}

// saved: changes are in the journal of s.
func (t *truth) saved(s *site, changes []grid.Change) {
	one := s
	s = s.principal()
	for _, c := range changes {
		if c.Site != nil {
			s.w.tell(s, "saves that it is drained: %v", c.Site.Draining)
			continue
		}
		f := t.facts[c.Job]
		if s.twin != nil {
			f.acted(one == s)
		}
		if c.Record == nil {
			delete(f.owning, s)
			s.w.tell(s, "forgets %s", c.Job)
			t.forgotten(s, f)
			continue
		}
		r := c.Record
		if s.w.tracing() {
			s.w.tell(s, "saves %s: %s", c.Job, sayRecord(s, r))
		}
		if s == f.home && f.cancel > 0 && !r.CancelRequested && !r.State.Terminal() && !s.disk.damaged {
			s.w.violate("S5", f.id, "%s was told to be cancelled, and %s saves that it is not", f.id, s.name())
		}
		if r.Standing != grid.Owning || r.State.Terminal() {
			delete(f.owning, s)
			continue
		}
		t.owned(s, f, r.Epoch)
	}
}

// owned checks S2a.
func (t *truth) owned(s *site, f *fact, e grid.Epoch) {
	if o := f.owners[e]; o != nil && o != s && !f.torn() {
		s.w.violate("S2a", f.id, "%s and %s both own %s at epoch %s", o.name(), s.name(), f.id, e)
		return
	}
	f.owners[e] = s
	f.owning[s] = e
	for o, at := range f.owning {
		if o != s && at.Term == e.Term && !f.torn() && !(f.home.disk.damaged && f.home.dropped[o.peer]) && !s.disk.damaged && !o.disk.damaged {
			s.w.violate("S2a", f.id, "%s owns %s at epoch %s while %s owns it at %s", s.name(), f.id, e, o.name(), at)
		}
	}
}

// forgotten checks S5: a home forgets no job that its user was told is accepted.
func (t *truth) forgotten(s *site, f *fact) {
	if s == f.home && f.accepted && !f.removed && !s.disk.damaged {
		s.w.violate("S5", f.id, "%s forgets %s, which was accepted and never removed", s.name(), f.id)
	}
}

// restored: the journal of s is older now. That a job was cancelled which no other site ever
// owned, nobody knows any more: its user has to say it again.
func (t *truth) restored(s *site) {
	for _, f := range t.facts {
		if r := s.disk.records[f.id]; f.home != s || r != nil && r.CancelRequested || f.leftHome() {
			continue
		}
		f.cancel = 0
		if f.told == grid.Killed {
			f.told = 0
		}
	}
}

// leftHome reports that another site has owned the job.
func (f *fact) leftHome() bool {
	for _, s := range f.owners {
		if s != f.home {
			return true
		}
	}
	return false
}

// shown: readers at s see the record from now on.
func (t *truth) shown(s *site, id grid.JobID, r *grid.Record) {
	f := t.facts[id]
	if f == nil || s != f.home || r == nil || s.disk.damaged {
		return
	}
	w := s.w
	if r.Removed {
		f.removed = true
		return
	}
	if f.told != 0 && f.told != grid.Lost && (r.State != f.told || r.ExitCode != f.exit) {
		w.violate("S5", id, "%s was told to be %s (exit code %d) and is told to be %s (%d) now", id, f.told, f.exit, r.State, r.ExitCode)
	}
	if !r.State.Terminal() || f.told == r.State {
		return
	}
	f.told, f.exit = r.State, r.ExitCode
	w.tell(s, "TELLS that %s is %s: %s", id, r.State, r.Reason)
	t.judge(s, f, r)
}

// judge checks that a final state is true.
func (t *truth) judge(s *site, f *fact, r *grid.Record) {
	w := s.w
	// What still runs of an older term, at a site that was forgotten, is not this job any more.
	if r.State != grid.Lost && f.running[r.Epoch.Term] > 0 {
		w.violate("S5", f.id, "%s is told to be %s while its program runs", f.id, r.State)
		return
	}
	switch r.State {
	case grid.Lost:
		if !t.mayBeLost(w, f) {
			w.violate("S1", f.id, "%s is LOST (%s), and nothing was lost in truth", f.id, r.Reason)
		}
	case grid.Killed:
		if !r.CancelRequested {
			w.violate("S5", f.id, "%s is told to be KILLED, and nobody asked for that", f.id)
		}
	case grid.Completed, grid.CancelledWalltime:
		if !f.endedSo(r) {
			w.violate("S5", f.id, "%s is told to be %s with exit code %d, and no program of it ended so", f.id, r.State, r.ExitCode)
		}
		t.hasOutput(s, f, r)
	case grid.Failed:
		if len(f.starts) == 0 && !f.refused && !f.stranded {
			w.violate("S5", f.id, "%s is told to be FAILED (%s), and nothing of that kind happened", f.id, r.Reason)
		}
	}
}

// strand marks the jobs of s that have not ended and that none of its sites can run: their
// home may say so, and end them.
func (t *truth) strand(s *site) {
	for _, f := range t.facts {
		if f.home == s && f.told == 0 && !s.capable(f.cores) {
			f.stranded = true
		}
	}
}

// capable tells that s, or a site that it may send jobs to, has as many processors; one
// that is gone does not say that it has too few.
func (s *site) capable(cores int) bool {
	return cores <= s.facts.Processes || slices.ContainsFunc(s.members, func(m grid.Member) bool {
		return m.Send && cores <= s.w.byPeer[m.Peer].facts.Processes
	})
}

// mayBeLost: its home was told to forget a site, or a journal was lost or restored.
func (t *truth) mayBeLost(w *world, f *fact) bool {
	for _, s := range w.sites {
		if s.disk.damaged || f.home.forgot[s.peer] {
			return true
		}
	}
	return false
}

// endedSo tells that the program of which the record tells ended as it says.
func (f *fact) endedSo(r *grid.Record) bool {
	for _, p := range f.ends {
		if p.ID.Epoch != r.Epoch && p.ID.Epoch != r.Adopted {
			continue
		}
		if p.Cause == grid.ByItself && r.State == grid.Completed && p.ExitCode == r.ExitCode ||
			p.Cause == grid.ByWalltime && r.State == grid.CancelledWalltime {
			return true
		}
	}
	return false
}

// loaded checks S5 when a broker has started: what users were told is in the journal.
func (t *truth) loaded(s *site) {
	s = s.principal()
	if s.disk.damaged {
		return
	}
	for _, f := range t.sorted() {
		if f.home != s || !f.accepted || f.removed {
			continue
		}
		r := s.disk.records[f.id]
		if r == nil {
			s.w.violate("S5", f.id, "after a start %s does not know %s, which was accepted", s.name(), f.id)
			return
		}
		if f.cancel > 0 && !r.CancelRequested && !r.State.Terminal() {
			s.w.violate("S5", f.id, "after a start %s does not know that %s is to be cancelled, which was told", s.name(), f.id)
			return
		}
		t.shown(s, f.id, r)
	}
}
