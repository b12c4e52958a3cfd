package faults

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// host is the daemon of a site as a process: [core.Host] in a world in which processes crash, disks
// are slow and lie, and everything stops at times. What is done outside is in effects.go and
// executor.go.
//
//   - A crash may come before a write, after it, and after any effect; it ends all that is in
//     memory, what is at work outside too.
//   - After a write that failed it takes a second until there is another Core.
type host struct {
	s     *site
	up    bool
	life  int // raised by each crash: what was under way before is void
	cores uint64
	nonce uint64 // random number of this life
	core.Host
	write  core.Write // of this turn
	busy   bool       // a write is under way, or its effects wait
	frozen bool       // stopped: nothing happens here until it is thawed
	thaw   []func()
	ambush grid.Tick // it is fenced off for so long as soon as an attempt for another home is to be submitted; 0 is not so
	halted bool      // by a duplicate, as its alarm tells
	pauses uint64    // that were long enough to be felt (pulse.go of package broker)

	base, since grid.Tick // Core's time is base and what passed since by the clock
	wake        grid.Tick // when the next Tick is due, in true time; 0 is none
	wakes       uint64

	view     map[grid.JobID]*grid.Record // what readers see
	executor map[core.WorkKey][]*work
	lives    map[grid.PeerID]grid.Liveness
	met      map[grid.PeerID]uint64 // the lives of peers that were greeted
	answers  map[core.Token]func(core.Answer)
	tokens   core.Token
}

// boot starts the process.
func (h *host) boot() {
	s := h.s
	if h.up || s.gone {
		return
	}
	if s.careful && !s.reachesAll() || s.batch.off {
		s.w.after(5*grid.Second, h.boot)
		return
	}
	s.careful = false
	h.up = true
	h.base, h.since = s.clock.wall(s.w.now), s.w.now
	h.nonce = 1 + s.w.rnd.disk.Uint64N(1<<62)
	h.executor, h.Host = map[core.WorkKey][]*work{}, core.Host{}
	h.lives, h.met = map[grid.PeerID]grid.Liveness{}, map[grid.PeerID]uint64{}
	h.answers = map[core.Token]func(core.Answer){}
	s.w.tell(s, "the broker starts")
	h.begin()
	h.later(firstSweep, func() { h.sweep(secondSweep) })
	s.w.notice(s)
}

// reachesAll tells that all members live and can be reached. A journal is restored from a
// backup only then: nobody else can say what is missing in it.
func (s *site) reachesAll() bool {
	for _, m := range s.members {
		o := s.w.byPeer[m.Peer]
		if !o.gone && (!o.host.up || o.host.frozen || s.w.cut[s.i][o.i] > 0 || s.w.cut[o.i][s.i] > 0) {
			return false
		}
	}
	return true
}

// begin makes a Core from the journal.
func (h *host) begin() {
	s := h.s
	if !h.up || s.w.result.Violation != nil {
		return
	}
	s.disk.begin(s.clock.wall(s.w.now), uint32(s.w.rnd.disk.Uint64N(1<<62)))
	h.view = maps.Clone(s.disk.records)
	for _, id := range s.disk.putBack() {
		s.w.tell(s, "puts the folder of %s back", id)
	}
	s.w.truth.loaded(s)
	h.cores++
	h.halted = false
	s.batch.since, s.awake = max(s.batch.since, s.w.now), s.w.now
	h.Begin(core.NewFrom(s.w.config(s), s.members, s.disk.load()), h.clocks())
	h.turn()
}

// config is what the Core of a site is told.
func (w *world) config(s *site) core.Config {
	templates, results, allocations := s.disk.loadBeside()
	return core.Config{
		Allocations: allocations, Reservations: s.disk.loadReservations(), Reserving: s.reserveRules(), Reserves: s.reserves(), Coallocating: coallocating,
		Budgets: s.disk.loadBudgets(), Granted: w.granted(), Prices: w.prices(),
		Templates: templates, Results: results, Window: sweepWindow, Expand: w.expand,
		Self: s.peer, Site: s.facts, Seed: uint64(s.i)<<48 | s.host.cores<<32, Broken: w.broken.core,
		Journal: s.disk.id(), Boot: s.host.nonce, Seen: maps.Clone(s.disk.peers),
		Lives: s.disk.lives, Witness: s.disk.witness.last, Told: s.disk.said(), Unwritten: s.disk.unwritten(s.peer, s.clock.wall(w.now)),
		Refresh: 30 * grid.Second, Digest: grid.Minute, Decline: decline,
		Delta: 3 * grid.Minute, Settle: 20 * grid.Second, Tell: w.startsTold(), Draws: 1, // what is estimated breaks no promise, and more draws cost most of a history
		Draining: s.disk.state.Draining, State: s.disk.state, Load: s.disk.record, LongDocument: 1, Groups: s.disk.loadGroups(),
		Sign:   func(text []byte) []byte { return signature(s.peer, text) },
		Verify: func(by grid.PeerID, text, got []byte) bool { return string(signature(by, text)) == string(got) },
	}
}

// startsTold is how often sites tell when jobs would start there: in each second history for each point that faults aim at.
func (w *world) startsTold() grid.Tick {
	return grid.Tick(w.o.Seed/uint64(len(points))%2) * 15 * grid.Second
}

// signature stands for one by the key behind a peer ID: nobody here forges.
func signature(by grid.PeerID, text []byte) []byte {
	h := fnv.New64a()
	h.Write([]byte(by))
	h.Write(text)
	return h.Sum(nil)
}

// coallocating is what homes do for jobs over several sites.
var coallocating = core.Coallocating{Limit: 2 * grid.Minute, Grace: grid.Minute, Within: 30 * grid.Second, Lease: 2 * grid.Minute, Rest: grid.Minute}

// decline is how long a candidate waits that hears nothing: longer than all that heals.
const decline = 30 * grid.Minute

// now is Core's time: the wall clock at the start and what passed since.
func (h *host) now() grid.Tick {
	c := &h.s.clock
	return h.base + c.mono(h.s.w.now) - c.mono(h.since)
}

// clocks reads those of the process.
func (h *host) clocks() core.Reading {
	now := h.now()
	return core.Reading{Now: now, Drift: h.s.clock.wall(h.s.w.now) - now, Pauses: h.pauses, Pause: core.StallAfter}
}

// post hands an event to the Core.
func (h *host) post(ev core.Event) {
	h.Post(ev)
	h.turn()
}

// live tells a change of who lives.
func (h *host) live(p grid.PeerID, l grid.Liveness) {
	if h.lives[p] != l {
		h.lives[p] = l
		h.post(core.PeerChanged{Peer: p, Liveness: l})
	}
}

// turn steps the Core through what has come.
func (h *host) turn() {
	w := h.s.w
	clocks := func() core.Reading { w.result.Steps++; return h.clocks() }
	for h.up && !h.busy && !h.frozen && h.Ready() && w.result.Violation == nil {
		h.write, _ = h.Turn(clocks)
		h.perform(&h.write)
	}
}

// perform makes a write durable, then lets the effects leave. It is of this turn alone.
func (h *host) perform(wr *core.Write) {
	h.s.disk.pending = append(h.s.disk.pending, wr.Seen...)
	if len(wr.Changes) == 0 {
		h.written(wr)
		h.finish(wr)
		return
	}
	kept := *wr
	if h.leave(kept.Early, kept.Pauses); !h.up || h.at(beforeSave, kept.Changes) {
		return
	}
	h.busy = true
	h.later(h.syncTime(), func() { h.commit(&kept) })
}

// written: what is told to users goes beside the journal.
func (h *host) written(wr *core.Write) {
	h.s.disk.tell(h.s.w.now, h.Core().Stamp(), wr.Told)
	h.Written(h.s.disk.sequence)
}

// syncTime is how long a commit takes.
func (h *host) syncTime() grid.Tick {
	r := h.s.w.rnd.disk
	if h.s.disk.slow {
		return between(r, 100, 2*grid.Second)
	}
	return between(r, 0, 12)
}

func (h *host) commit(wr *core.Write) {
	w, s := h.s.w, h.s
	h.busy = false
	if w.strikes(SaveFails, w.rnd.disk) {
		h.fail(wr)
		return
	}
	w.truth.changesGroup(s, wr.Changes)
	s.disk.commit(w.now, wr.Changes)
	h.written(wr)
	w.truth.saved(s, wr.Changes)
	if h.at(afterSave, wr.Changes) {
		return
	}
	h.finish(wr)
	h.turn()
}

// fail ends the Core: a save failed, of which nobody knows whether it reached the disk.
func (h *host) fail(wr *core.Write) {
	w, s := h.s.w, h.s
	reached := w.rnd.disk.IntN(3) == 0
	w.tell(s, "a save fails; on disk all the same: %v", reached)
	if reached {
		s.disk.commit(w.now, wr.Changes)
		w.truth.saved(s, wr.Changes)
	}
	for _, e := range wr.Effects {
		if a, ok := e.(core.Answer); ok {
			h.answer(core.Answer{Token: a.Token, Err: fmt.Errorf("%w: saving to the journal", grid.ErrUnavailable)})
		}
	}
	h.Lost()
	h.stopTimer()
	h.later(grid.Second, h.begin)
}

// finish lets effects leave and sees to the next Tick. A pause may strike between the
// commit and the effects.
func (h *host) finish(wr *core.Write) {
	w, stopped := h.s.w, false
	switch {
	case h.ambush > 0 && launchesForOthers(h.s, wr.Effects) && w.happens(Fenced):
		h.s.fence(h.ambush)
		h.ambush, stopped = 0, true
	case w.rates[PauseInside] > 0 && w.strikes(PauseInside, w.rnd.crash):
		h.pause(between(w.rnd.crash, grid.Second, 3*grid.Minute))
		stopped = true
	}
	if stopped {
		h.busy = true
		kept := *wr
		h.later(0, func() {
			h.busy = false
			h.goOn(&kept)
			h.turn()
		})
		return
	}
	h.goOn(wr)
}

// launchesForOthers tells that an attempt for another home is about to be submitted.
func launchesForOthers(s *site, effects []core.Effect) bool {
	return slices.ContainsFunc(effects, func(e core.Effect) bool {
		l, is := e.(core.Launch)
		return is && l.Submission.Job.Home != s.peer
	})
}

func (h *host) goOn(wr *core.Write) {
	h.leave(wr.Effects, wr.Pauses)
	if h.up && h.Core() != nil {
		h.setTimer()
	}
}

// leave lets effects leave in order, with a crash after any.
func (h *host) leave(effects []core.Effect, pauses uint64) {
	for _, e := range effects {
		h.dispatch(e, pauses)
		if !h.up || h.Core() == nil || h.s.w.result.Violation != nil || h.after(e) {
			return
		}
	}
}

// stopTimer has no Tick come any more: the next Core may want one at the same instant.
func (h *host) stopTimer() {
	h.wakes++
	h.wake = 0
}

func (h *host) setTimer() {
	at, ok := h.Next()
	if !ok {
		return
	}
	w := h.s.w
	due := w.now + h.s.clock.truly(max(0, at-h.now()))
	if h.wake == due {
		return
	}
	h.wake = due
	h.wakes++
	mine := h.wakes
	h.later(due-w.now, func() {
		if h.wakes == mine && h.Core() != nil {
			h.wake = 0
			h.post(core.Tick{})
		}
	})
}

// crash ends the process; it starts again after down, if ever.
func (h *host) crash(down grid.Tick, why string) {
	if !h.up {
		return
	}
	s := h.s
	s.w.tell(s, "CRASH (%s)", why)
	h.up, h.Host, h.busy, h.frozen = false, core.Host{}, false, false
	h.life++
	h.stopTimer()
	h.thaw, h.executor, h.answers = nil, nil, nil
	s.w.notice(s)
	s.w.after(down, h.boot)
}

// pause stops the process for a while, as SIGSTOP does; the clock goes on.
func (h *host) pause(span grid.Tick) {
	if !h.up || h.frozen {
		return
	}
	s, life := h.s, h.life
	s.w.tell(s, "stopped for %v s", span.Seconds())
	h.frozen = true
	s.w.notice(s)
	s.w.after(span, func() {
		if h.life != life {
			return
		}
		s.w.tell(s, "goes on")
		h.frozen, s.batch.since, s.awake = false, max(s.batch.since, s.w.now), s.w.now
		if span >= core.StallAfter {
			h.pauses++
		}
		list := h.thaw
		h.thaw = nil
		for _, run := range list {
			run()
		}
		h.turn()
		s.w.notice(s)
	})
}

// Folders of no known job, and attempts of no record, are looked for as package broker does it.
const (
	firstSweep  = 20 * grid.Second
	secondSweep = 100 * grid.Second
	nextSweeps  = 10 * grid.Minute
)

func (h *host) sweep(next grid.Tick) {
	if h.Core() != nil {
		if ids, err := h.s.batch.attempts(); err == nil {
			h.post(core.Attempts{IDs: ids})
		}
		h.post(core.Folders{Jobs: slices.Sorted(maps.Keys(h.s.disk.folders))})
	}
	h.later(next, func() { h.sweep(nextSweeps) })
}
