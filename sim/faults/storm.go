package faults

import (
	"math/rand/v2"
	"slices"

	"gbroker/grid"
)

// stormLength is how long faults may happen; each ends within faultLength.
const (
	stormLength = 20 * grid.Minute
	faultLength = 5 * grid.Minute
)

// plan plans the faults that befall a site, not a message or a command.
func (w *world) plan() {
	w.repeat(Partition, w.rnd.net, func(*rand.Rand, *site) { w.part(false) })
	w.repeat(OneWay, w.rnd.net, func(*rand.Rand, *site) { w.part(true) })
	w.repeat(FalseWord, w.rnd.net, func(r *rand.Rand, s *site) {
		if n := len(s.members); n > 0 {
			w.slander(s, w.byPeer[s.members[r.IntN(n)].Peer])
		}
	})
	w.repeat(DiskFull, w.rnd.disk, func(r *rand.Rand, s *site) {
		w.during(DiskFull, s, between(r, grid.Second, faultLength), func(on bool) { s.disk.full = on })
	})
	w.repeat(SlowDisk, w.rnd.disk, func(r *rand.Rand, s *site) {
		w.during(SlowDisk, s, between(r, grid.Second, faultLength), func(on bool) { s.disk.slow = on })
	})
	w.repeat(ControlUnreadable, w.rnd.batch, func(r *rand.Rand, s *site) {
		w.during(ControlUnreadable, s, between(r, grid.Second, faultLength), func(on bool) { s.disk.unreadable = on })
	})
	w.repeat(ClockStep, w.rnd.crash, func(r *rand.Rand, s *site) {
		if by := between(r, -2*grid.Hour, 2*grid.Hour); w.happens(ClockStep) {
			w.tell(s, "its clock is set by %v s", by.Seconds())
			s.clock.set(by)
		}
	})
	w.repeat(Pause, w.rnd.crash, func(r *rand.Rand, s *site) {
		if span := between(r, grid.Second, 3*grid.Minute); s.host.up && w.happens(Pause) {
			s.host.pause(span)
		}
	})
	w.repeat(Crash, w.rnd.crash, func(r *rand.Rand, s *site) {
		if down := between(r, 50, 3*grid.Minute); s.host.up && w.happens(Crash) {
			s.host.crash(down, "at any time")
		}
	})
	w.repeat(PowerCut, w.rnd.crash, func(r *rand.Rand, s *site) {
		if down := between(r, grid.Second, 4*grid.Minute); w.happens(PowerCut) {
			s.powerCut(down)
		}
	})
	w.repeat(JournalLost, w.rnd.disk, func(r *rand.Rand, s *site) {
		if down := between(r, grid.Second, 2*grid.Minute); s.host.up && s.duplicate == nil && w.happens(JournalLost) {
			s.host.crash(down, "and its journal is lost")
			s.disk.loseJournal()
			w.truth.setBack(s, lapse{since: forEver})
		}
	})
	w.repeat(Drain, w.rnd.crash, func(r *rand.Rand, s *site) {
		w.during(Drain, s, between(r, 30*grid.Second, faultLength-grid.Minute), s.drain)
	})
	for _, s := range w.sites {
		w.after(between(w.rnd.disk, grid.Minute, stormLength/2), func() { s.disk.backup = s.disk.copy(w.now, false) })
	}
	w.repeat(JournalRestored, w.rnd.disk, func(r *rand.Rand, s *site) {
		if down := between(r, grid.Second, 2*grid.Minute); s.host.up && s.duplicate == nil && s.disk.backup != nil && !w.restoring() && w.happens(JournalRestored) {
			s.host.crash(down, "and its journal is restored from a backup")
			s.disk.restore(s.disk.backup)
			w.truth.setBack(s, lapse{since: s.disk.backup.at})
			s.careful = true
		}
	})
	w.repeat(TailLost, w.rnd.snap, func(r *rand.Rand, s *site) {
		down, span := between(r, grid.Second, 4*grid.Minute), between(r, 100, longestTail)
		if s.host.up && s.duplicate == nil && w.happens(TailLost) {
			s.powerCut(down)
			if s.disk.loseTail(w.now - span) {
				w.tell(s, "the last %v s of its journal are lost", span.Seconds())
				w.truth.setBack(s, lapse{since: w.now - span, words: true, unnoticed: true})
			}
		}
	})
	if w.rates[MachineRestored] > 0 {
		for _, s := range w.sites {
			w.after(between(w.rnd.snap, grid.Minute, stormLength/2), func() { s.disk.snapshot = s.disk.copy(w.now, true) })
		}
	}
	w.repeat(MachineRestored, w.rnd.snap, func(r *rand.Rand, s *site) {
		if down := between(r, grid.Second, 2*grid.Minute); s.host.up && s.duplicate == nil && s.disk.snapshot != nil && !w.restoring() && w.happens(MachineRestored) {
			s.host.crash(down, "and its machine is put back to a snapshot")
			s.disk.restore(s.disk.snapshot)
			w.truth.setBack(s, lapse{since: s.disk.snapshot.at, files: true, words: true, unnoticed: true})
			s.careful = true
		}
	})
	w.repeat(DuplicateInstance, w.rnd.disk, func(r *rand.Rand, s *site) {
		if span := between(r, 20*grid.Second, faultLength-grid.Minute); s.host.up && s.duplicate == nil && !s.careful && w.happens(DuplicateInstance) {
			s.startDuplicate(span)
		}
	})
	w.repeat(Forgotten, w.rnd.crash, func(r *rand.Rand, s *site) {
		if n := len(s.members); n > 0 {
			if lost := w.byPeer[s.members[r.IntN(n)].Peer]; w.happens(Forgotten) {
				s.forget(lost, false)
			}
		}
	})
	w.repeat(Fenced, w.rnd.crash, func(r *rand.Rand, s *site) {
		span := between(r, grid.Minute, faultLength-grid.Minute)
		switch {
		case r.IntN(2) == 0:
			s.host.ambush = span
		case s.host.up && !s.host.frozen && w.happens(Fenced):
			s.fence(span)
		}
	})
	w.repeat(MemberRemoved, w.rnd.net, func(r *rand.Rand, s *site) {
		if n := len(s.members); n > 0 {
			m, span := s.members[r.IntN(n)], between(r, 10*grid.Second, faultLength-grid.Minute)
			if w.happens(MemberRemoved) {
				s.unknow(m)
				w.after(span, func() { s.know(m) })
			}
		}
	})
	w.repeat(MemberJoins, w.rnd.net, func(r *rand.Rand, s *site) {
		o := w.sites[r.IntN(len(w.sites))]
		if o != s && w.lag[s.i][o.i] == 0 && w.happens(MemberJoins) {
			w.lag[s.i][o.i] = between(r, 1, 80)
			w.lag[o.i][s.i] = w.lag[s.i][o.i]
			w.join(s, o, true)
			w.after(between(r, 0, grid.Minute), func() { // the other administrator is slower
				w.join(o, s, r.IntN(2) == 0)
				o.changed(s.peer)
			})
			s.changed(o.peer)
		}
	})
	w.repeat(SiteGone, w.rnd.crash, func(_ *rand.Rand, s *site) {
		if !s.gone && len(w.sites) > 2 && w.happens(SiteGone) {
			s.perish()
		}
	})
}

// restoring tells that a site waits for its members before it starts from a backup: two
// would wait for each other.
func (w *world) restoring() bool {
	return slices.ContainsFunc(w.sites, func(s *site) bool { return s.careful })
}

// repeat plans as many strikes of a kind as the profile has for it, at any times, each
// at any site.
func (w *world) repeat(k Kind, r *rand.Rand, strike func(*rand.Rand, *site)) {
	n := int(w.rates[k])
	if r.Float64() < w.rates[k]-float64(n) {
		n++
	}
	for range n {
		s := w.sites[r.IntN(len(w.sites))]
		w.after(between(r, grid.Minute, stormLength-1), func() {
			if !s.gone {
				strike(r, s)
			}
		})
	}
}

// during has a fault last for a span.
func (w *world) during(k Kind, s *site, span grid.Tick, set func(on bool)) {
	if !w.happens(k) {
		return
	}
	w.tell(s, "%s for %v s", k, span.Seconds())
	set(true)
	w.after(span, func() {
		w.tell(s, "%s is over", k)
		set(false)
	})
}

// powerCut ends the broker and all programs of a site.
func (s *site) powerCut(down grid.Tick) {
	s.host.crash(down, "power cut")
	for _, l := range append([]*local(nil), s.batch.jobs...) {
		if (l.started > 0 || l.entered > 0) && !l.foreign {
			s.batch.vanish(l)
		}
	}
}

// perish is the end of a site, with all that runs and lies there.
func (s *site) perish() {
	s.w.tell(s, "the site is gone for ever")
	s.powerCut(0)
	if s.gone = true; s.duplicate != nil {
		s.duplicate.gone = true
		s.duplicate.host.crash(0, "with it")
	}
	s.batch.jobs, s.batch.holds = nil, nil
}

// fence stops a broker for a while; its batch system is emptied and off, and the
// administrators of all the others, who know that, forget the site.
func (s *site) fence(span grid.Tick) {
	w := s.w
	s.host.pause(span)
	w.tell(s, "its batch system is emptied, and off for %v s", span.Seconds())
	s.batch.off = true
	s.batch.emptied++
	for _, l := range append([]*local(nil), s.batch.jobs...) {
		s.batch.vanish(l)
	}
	w.after(span/2, func() {
		for _, m := range s.members {
			if o := w.byPeer[m.Peer]; s.batch.off && !o.gone {
				o.forget(s, true)
			}
		}
	})
	w.after(span, func() {
		s.batch.off = false
		s.batch.pass()
	})
}

// bury has the administrators forget the sites that are gone, and those of which they read
// that they do not know a job any more that they should have.
func (w *world) bury() {
	for _, s := range w.sites {
		for _, m := range s.members {
			if o := w.byPeer[m.Peer]; !s.gone && (o.gone || s.misses(o)) {
				s.forget(o, o.gone && w.rnd.user.IntN(2) == 0)
			}
		}
	}
}

// misses: by the journal of s the other one has a job, and does not know that, as one of the two
// has lost what it knew.
func (s *site) misses(o *site) bool {
	if len(o.lapses) == 0 && len(s.lapses) == 0 {
		return false
	}
	for id, r := range s.disk.records {
		has := r.Role == grid.Watching && r.Owner == o.peer && !r.State.Terminal() || r.Handoff.Phase == grid.Committed && r.Handoff.To == o.peer
		epoch := r.Epoch
		if r.Adopted != (grid.Epoch{}) {
			epoch = r.Adopted
		}
		k := o.disk.records[id]
		if has && (k == nil || k.Role != grid.Prepared && k.Epoch.Before(epoch) || k.Role == grid.Tombstone && k.Owner == o.peer && !k.Closed) {
			return true
		}
	}
	return false
}
