package faults

import (
	"slices"

	"gbroker/grid"
)

// What is not held against the brokers. Each excuse names a job and what nobody can know
// of it any more, or what an administrator has taken upon himself; the table in doc.go has
// them all.

// torn: two brokers under one name have both acted on the job. Until somebody has met both,
// and has told the one that he met first, neither can know of the other, and both may give
// the job away.
func (f *fact) torn() bool { return f.duplicates == [2]bool{true, true} }

// acted: one of two brokers under one name has saved something about the job.
func (f *fact) acted(first bool) {
	k := 1
	if first {
		k = 0
	}
	f.duplicates[k] = true
}

// madeByOther: one of two brokers under one name hears of a job that the other one has made.
func (f *fact) madeByOther(one *site) bool {
	if one.of == nil {
		return f.duplicates[1]
	}
	return f.duplicates[0]
}

// shared: something of the job was saved at a site since that had a duplicate.
func (f *fact) shared(s *site) bool {
	return s.copied > 0 && slices.ContainsFunc(f.wrote[s], func(t grid.Tick) bool { return t >= s.copied })
}

// fencedOff: an administrator of the home has said, after that start, that its site is fenced off,
// so that all that it had, of an older term, was started again; or both have said of each
// other that they will not come back, and now is what that site still had.
func (f *fact) fencedOff(e, now start) bool {
	return f.home.fenced[e.where.peer] >= e.at && e.id.Epoch.Term < now.id.Epoch.Term || f.onItsOwn(now, e.id.Epoch.Term)
}

// onItsOwn: the start is of an older term than that one, at a site that the home's administrator has fenced off, and whose
// own has said that the home will not come back.
func (f *fact) onItsOwn(now start, term uint32) bool {
	return f.home.fenced[now.where.peer] >= max(f.got[now.id.Epoch], 1) && now.id.Epoch.Term < term && f.estranged(now.where)
}

// leftThere: the start is of an older term than that one, of a job that may run again; the home's administrator has said that a site
// which had it then will not come back, and so it starts again as its home has it now. What the batch system had of it, or was given while that
// site could not yet miss its home, starts whatever was said, until the site has been told; or on its own, as it forgot the home.
func (f *fact) leftThere(now start, term uint32) bool {
	said, w := f.saidGone(now.id.Epoch), f.home.w
	told := !w.storm && w.now-max(said, w.storms) > cancelBound
	return f.rerun && now.id.Epoch.Term < term && said > 0 && (f.estranged(now.where) || now.sent <= said+hearing && !told)
}

// saidGone is when the home's administrator said last that a site which had the job in that term, up to that epoch, will not come
// back; 0 is never.
func (f *fact) saidGone(e grid.Epoch) (last grid.Tick) {
	for at, o := range f.owners {
		if said := f.home.forgot[o.peer]; at.Term == e.Term && !e.Before(at) && said >= f.got[at] {
			last = max(last, said)
		}
	}
	return last
}

// estranged: the administrators of the home and of that site have each said that the other
// will not come back. So the one starts the job again, and the other does not ask any more.
func (f *fact) estranged(s *site) bool {
	since := max(f.had[s], 1)
	return s.forgot[f.home.peer] >= since && f.home.forgot[s.peer] >= since
}

// toldByFence: the home's administrator has said that this site is fenced off, before its user was told an end; and
// the site's own has said that the home will not come back.
func (f *fact) toldByFence(s *site) bool {
	at := f.home.fenced[s.peer]
	return at > 0 && at <= f.toldAt && f.estranged(s)
}

// untraceable: nobody who is asked knows any more of an earlier start. Its home has lost what
// it wrote since, and the user had the job removed, and with it its start tokens; or the
// site that started it need not be asked, or has lost the same. Or its start token, which may have said that it never starts, or
// the end of a rerunnable one, is gone with all of the machine on which it ran, and that is
// the home, or its home is gone or had heard of no end.
func (f *fact) untraceable(e start, by grid.Tick) bool {
	if f.wiped(e, by) && (e.where == f.home || f.home.gone || f.told == 0 || f.told == grid.Lost) || f.letGo(e, by) {
		return true
	}
	gone := func(l lapse) bool { return l.at <= by && l.covers(e.at) && (l.files || f.erased[e.where] >= e.at) }
	return slices.ContainsFunc(f.home.lapses, func(l lapse) bool {
		switch {
		case l.at > by:
			return false
		case l.at >= e.at && f.forgetsRemoval(l):
			return true
		}
		return e.where != f.home && l.covers(f.leftHome(e.id.Epoch)) && (f.home.deaf(e.where, l) || slices.ContainsFunc(e.where.lapses, gone))
	})
}

// decided is by when it was decided that there is a start beside an earlier one: when it was submitted, or where that one
// was, when its wrapper asked for a token.
func (e start) decided(earlier start) grid.Tick {
	if e.where == earlier.where {
		return e.at
	}
	return e.queued
}

// unseen: an end, of this job or of that of which it is a part, is told at an instant, and nobody knew that this start of it runs: it is as one
// before a start after it, or is such a second one.
func (f *fact) unseen(e start, of *fact, ended grid.Epoch, told grid.Tick) bool {
	first := func(o start) bool {
		return o.at < e.at && f.unknownBy(o, e)
	}
	return f.wiped(e, told) || f.endUnheardOf(e.id.Epoch, of, ended, told) || f.untraceable(e, told) || slices.ContainsFunc(f.starts, first)
}

// wiped: what the control directory knew of a start is gone by then with the whole machine.
func (f *fact) wiped(e start, by grid.Tick) bool {
	return slices.ContainsFunc(e.where.lapses, func(l lapse) bool {
		return l.files && l.at <= by && (l.covers(e.at) || l.covers(e.queued) || l.covers(f.never[e.id]) || f.rerun && e.ended > 0 && l.covers(e.ended))
	})
}

// untaken: it was withdrawn, and its start token is gone with the whole machine and was not taken again: a submission that was on its way starts it.
func (f *fact) untaken(now start) bool {
	return slices.ContainsFunc(now.where.lapses, func(l lapse) bool { return l.files && l.covers(f.never[now.id]) })
}

// overtaken: a start began after another was submitted, when that attempt of it was withdrawn, and found no token since; see untaken. Who had submitted the
// other had been told the truth.
func (f *fact) overtaken(e, now start) bool { return now.queued < e.at && f.untaken(e) }

// unknownBy: nobody could know of an earlier start when it was decided that there is another.
func (f *fact) unknownBy(e, now start) bool {
	return f.untraceable(e, now.decided(e)) || f.apart(e, now) || f.overtaken(e, now)
}

// forgetsRemoval: with that its home lost that its user had it removed, and what is beside its journal. What was here of it went
// with the removal, the control directory too.
func (f *fact) forgetsRemoval(l lapse) bool {
	return f.removed && (l.words || l.since == forEver) && l.covers(f.removedAt)
}

// killForgotten: its home has lost that its user was told KILLED, and what is beside its journal with it; and so has the
// site that had the job then, or what it wrote of it last before that; or the administrator of the home has said since that it need not
// wait for the word of that.
func (f *fact) killForgotten() bool {
	switch {
	case !f.home.gone && f.home.disk.witness.has(f.id, grid.Killed):
		return false
	case f.killer == nil:
		return true
	}
	wrote := grid.Tick(0)
	for _, t := range f.wrote[f.killer] {
		if t <= f.killedAt {
			wrote = max(wrote, t)
		}
	}
	return slices.ContainsFunc(f.killer.lapses, func(l lapse) bool { return l.covers(f.killedAt) || wrote > 0 && l.covers(wrote) }) ||
		slices.ContainsFunc(f.home.lapses, func(l lapse) bool { return l.words && l.covers(f.killedAt) && f.home.deaf(f.killer, l) })
}

// unheardAt: the home has lost that it gave the job away to there, or to who gave it on, and its administrator has said since that it
// need not wait for the word of o, who owns it at that epoch.
func (f *fact) unheardAt(o *site, e grid.Epoch, now grid.Tick) bool {
	return o != f.home && slices.ContainsFunc(f.home.lapses, func(l lapse) bool {
		return l.at <= now && l.covers(f.leftHome(e)) && f.home.deaf(o, l)
	})
}

// unheard: a site that has lost what it wrote need not wait for the word of o, which was a neighbour when it would have asked.
func (s *site) unheard(o *site, now grid.Tick) bool {
	return o != s && slices.ContainsFunc(s.branches(), func(l lapse) bool {
		return l.at <= now && (s.forgot[o.peer] >= l.from() || s.dropped[o.peer] >= l.from())
	})
}

// askedKnow: another site has the tombstone of such an end, and the home has to wait for its word: since it has lost that it told
// that, its administrator has not said otherwise.
func (f *fact) askedKnow(end grid.State) bool {
	return slices.ContainsFunc(f.home.w.sites, func(o *site) bool {
		r := o.disk.records[f.id]
		deaf := slices.ContainsFunc(f.home.lapses, func(l lapse) bool { return l.covers(f.toldAt) && f.home.deaf(o, l) })
		return o != f.home && !o.gone && !deaf && r != nil && tombstoneOf(end)(r)
	})
}

// deaf: since that was lost the administrator of s has said that o will not come back, or has had it
// out of the neighbours' file.
func (s *site) deaf(o *site, l lapse) bool {
	return s.forgot[o.peer] >= l.at || s.dropped[o.peer] >= l.at || !s.knows(o.peer)
}

// behind: s has lost that it gave the job away, at a later epoch than that at which it owns it by
// its journal. Others tell it; until then it starts nothing (S2b).
func (f *fact) behind(s *site, e grid.Epoch) bool {
	for later, g := range f.given {
		if g.by == s && e.Before(later) && later.Term == e.Term && slices.ContainsFunc(s.lapses, func(l lapse) bool { return l.covers(g.at) }) {
			return true
		}
	}
	return false
}

// mayBeLost: the home's administrator has said of a site that had the job that it will not come
// back; or the home has lost what it wrote of the job: it does not know it any more, or
// does not know, or did not when it started it again, who has it, and one who may need not be asked, or another owner does not; or both have
// forgotten its end.
func (f *fact) mayBeLost(of grid.Epoch, now grid.Tick) bool {
	return f.givenUp != (grid.Epoch{}) && f.givenUp.Term == of.Term || f.learnt || slices.ContainsFunc(f.home.lapses, f.forgetsRemoval) || f.forgottenByBoth() || slices.ContainsFunc(f.home.w.sites, func(s *site) bool {
		return (f.doubtful[s] || s == f.home && f.raised) && slices.ContainsFunc(f.home.w.sites, func(o *site) bool { return o != f.home && s.unheard(o, now) })
	})
}

// givesUp notes that its home saves a job while its administrator forgets a site that has it, as was saved there before or is saved now.
func (f *fact) givesUp(r *grid.Record) {
	for p, is := range f.home.forgetting {
		last := len(r.Trail) - 1
		if is && f.had[f.home.w.byPeer[p]] > 0 && (f.last[f.home].says(p) || turnOf(r).says(p) || last >= 0 && r.Trail[last] == p || f.fellBack(r, p) || awaitsSuccessors(r)) {
			f.givenUp = r.Epoch
		}
	}
}

// awaitsSuccessors: its home has raised the term, and does not begin before it has heard who may have got it before that.
func awaitsSuccessors(r *grid.Record) bool {
	return r.Role == grid.Owning && r.RaisedFrom != grid.Epoch{} && r.Epoch.Hop == 0 && r.Attempt == 0
}

// fellBack: who has the job by its home's record has declined it, and p, who gave it to there, may have taken it back.
func (f *fact) fellBack(r *grid.Record, p grid.PeerID) bool {
	n := len(r.Certificates)
	o := f.home.w.byPeer[r.Owner]
	return n > 1 && r.Certificates[n-2].To == p && o != nil && o.disk.records[f.id] != nil && o.disk.records[f.id].Role == grid.Declined
}

// doubts notes what a site saves of whether it owns the job; that it has given it up is the end of a doubt. That its home begins
// a term is not: who may have it still has it then. Nor is that it goes on though one that may have it was given up, and nobody has said
// that nothing of it runs there.
func (f *fact) doubts(s *site, r *grid.Record) {
	switch {
	case r.Uncertain && f.mayDoubt(s, r.Epoch):
		f.doubtful[s] = true
	case f.doubtful[s] && s == f.home && r.Role == grid.Owning && r.Epoch.Hop == 0 && f.owners[r.Epoch] == nil:
		f.raised = true
		delete(f.doubtful, s)
	case !r.Uncertain && !r.Unfenced && r.State != grid.Lost && r.End != grid.Lost:
		delete(f.doubtful, s)
	}
}

// mayDoubt: s was set back, and cannot know whether it gave the job away since, at that epoch or before: its journal had it when its broker started, or got
// it before that noticed, or its administrator said that there was a duplicate. What came later cannot be in a branch that was lost before; but a home that is told of one more life, longer than its
// journal was then, cannot tell that from a duplicate of its own.
func (f *fact) mayDoubt(s *site, e grid.Epoch) bool {
	return len(s.branches()) > 0 && (s == f.home || f.read[s] || s.asks == 0 || f.got[e] <= max(s.asks, s.relearns))
}

// forgottenByBoth: one site has given the job to another, and both have lost what they wrote of it since; or the home has lost what it
// has heard of one that had it, and that one too. It may have been with the one as the other remembers it.
func (f *fact) forgottenByBoth() bool {
	both := func(a, b *site, since grid.Tick) bool { return f.forgets(a, since) && f.forgets(b, since) }
	for _, g := range f.given {
		if both(g.by, g.to, g.at) {
			return true
		}
	}
	return f.sweptAway() || slices.ContainsFunc(f.home.w.sites, func(s *site) bool {
		return s != f.home && f.had[s] > 0 && both(f.home, s, f.had[s])
	})
}

// sweptAway: of two brokers under one name at a site that had the job, one may have swept the sandbox
// and the control directory that the other needs; or they are gone with its machine.
func (f *fact) sweptAway() bool {
	return slices.ContainsFunc(f.home.w.sites, func(o *site) bool {
		return (o == f.home || f.had[o] > 0) && (f.shared(o) && f.swept[o] >= o.copied || slices.ContainsFunc(o.lapses, func(l lapse) bool { return l.files && f.loses(o, l) }))
	})
}

// excused: the job's home is gone for ever, or has lost the knowledge of the job, and nobody
// who has it could tell, or of its files, or the only sites that could have run it are gone. A part is taken back by its site,
// whatever its home knows.
func (w *world) excused(f *fact) bool {
	fits := f.cores <= w.most(f.home)
	if f.isWhole() && !f.inOneSite() {
		fits = f.roomy(w)
	}
	return f.home.gone || f.waitsInVain() || f.unknown && !f.isPart() && !w.taught(f) || !fits
}

// waitsInVain: its home has lost that its files came, and waits for them, or has it without them. A home that knows that it has lost that looks for them.
func (f *fact) waitsInVain() bool {
	r, files := f.home.disk.recordOf(f.id), f.home.disk.folders[f.id]
	missing := files == nil || !files.inputs
	switch {
	case !f.unsupplied:
		return false
	case r == nil:
		return !f.home.w.taught(f)
	case r.State == grid.Submitted || r.State == grid.StageIn:
		return missing || !r.Unsupplied
	}
	return r.Role == grid.Owning && missing
}

// taught: somebody whom the home hears owns the job, and tells it.
func (w *world) taught(f *fact) bool {
	return slices.ContainsFunc(w.sites, func(o *site) bool {
		r := o.disk.records[f.id]
		return o != f.home && !o.gone && o.knows(f.home.peer) && f.home.knows(o.peer) && r != nil && r.Role == grid.Owning
	})
}
