package core

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// Host is what a process does around its Core, without threads, files, networks and clocks: the
// daemon and every simulation have this one.
//
//	events ─► Post ─► Turn: Step, Step, Step ─► Write ─► durable ─► Written ─► effects leave
//	                                              └► failed ─► Lost ─► Begin with another Core
//
// It holds that
//
//   - no effect and no answer of a step leaves before the saves of all steps up to it are
//     durable. One Write serves all events that came while the last one was written, [MaxBatch]
//     at most;
//   - a write that fails ends the Core: its effects are dropped, its requests are told so. Another
//     Core is made from the journal, and is told what was heard of peers, for overlay and netmon
//     tell changes only;
//   - a Core hears of a time in which nobody listened before it hears anything else after it.
//
// The zero Host has no Core. It is not safe for concurrent use.
type Host struct {
	core    *Core
	inbox   []Event
	writing bool
	peers   map[grid.PeerID]*heard
	drift   grid.Tick      // as the clocks said last
	ahead   grid.Tick      // so far the wall clock is, in whole seconds
	pauses  uint64         // that Core was told of
	off     Rules          // rules of the host's that are switched off
	asked   map[Token]bool // requests that the Core has taken, and not answered
}

// heard is what was last heard of a peer.
type heard struct{ site, link, journal, live Event }

// MaxBatch bounds the events that one Write serves.
const MaxBatch = 256

// StallAfter is how late a step must be, or how far the wall clock must have jumped against
// Core's, to count as a time in which nobody listened.
const StallAfter = 3 * grid.Second

// Reading is what the clocks of a process say.
type Reading struct {
	Now    grid.Tick // Core's time; it never goes back
	Drift  grid.Tick // how far the wall clock is ahead of it
	Pauses uint64    // how often it was found that the process had not run
	Pause  grid.Tick // for how long the last time
}

// Write is what must be durable before the effects of some steps leave: first the journal (what
// was seen of peers and the changes, in one transaction), then what users are told, beside it.
type Write struct {
	Early   []Effect // leave before it is written: none, unless a rule is switched off
	Seen    []Saw
	Changes []grid.Change // the last record of each entity, all that is appended
	Told    []grid.Record
	Restart bool           // the Core ends after it, as an administrator wished
	Failed  error          // nothing of it is to be written: the Core cannot go on
	Effects []Effect       // leave after it, in this order
	Pauses  uint64         // that there had been when they were decided
	at      map[entity]int // the last of each in Changes, once there are many
}

// Begin gives the host a Core that was made from the journal.
func (h *Host) Begin(c *Core, now Reading) {
	h.core, h.writing, h.off = c, false, c.cfg.Broken
	h.drift, h.ahead, h.pauses = now.Drift, 0, now.Pauses
	h.feelWall(now.Drift)
	h.inbox = slices.Concat([]Event{Boot{}}, h.remembered(), h.inbox)
}

// Core is the present one; nil from a failed write to the next Begin.
func (h *Host) Core() *Core { return h.core }

// Post takes an event.
func (h *Host) Post(ev Event) { h.inbox = append(h.inbox, ev) }

// Ready tells that there is something to do for Turn.
func (h *Host) Ready() bool { return h.core != nil && !h.writing && len(h.inbox) > 0 }

// Turn steps the Core through what has come. No other follows before Written or Lost.
func (h *Host) Turn(clocks func() Reading) (w Write, ok bool) {
	if !h.Ready() {
		return w, false
	}
	n := min(len(h.inbox), MaxBatch)
	batch := h.inbox[:n]
	for i, ev := range batch {
		h.remember(ev)
		made := h.step(clocks(), ev)
		if i == 0 {
			w.Pauses = h.pauses
		}
		if h.off.Without(EffectBeforeEarlierSave) && w.saves() && !saves(made) {
			w.Early = append(w.Early, made...)
			continue
		}
		w.take(made)
	}
	h.taken(n)
	if h.off.Without(EffectBeforeSave) {
		w.Early, w.Effects = append(w.Early, w.Effects...), nil
	}
	h.writing = true
	return w, true
}

// taken takes the first n events out. What comes next has their place, unless they were many.
func (h *Host) taken(n int) {
	switch {
	case n < len(h.inbox):
		h.inbox = h.inbox[n:]
	case cap(h.inbox) > MaxBatch:
		h.inbox = nil
	default:
		clear(h.inbox)
		h.inbox = h.inbox[:0]
	}
}

// step tells the Core of a time in which nobody listened, and then what has come.
func (h *Host) step(now Reading, ev Event) []Effect {
	var stall []Effect
	if span := h.stall(now); span >= StallAfter {
		stall = h.core.Step(now.Now, Stall{span})
	}
	if r, asks := ev.(Request); asks {
		h.asks(r.token())
	}
	effects := h.core.Step(now.Now, h.byCore(ev))
	if stall != nil {
		effects = append(stall, effects...)
	}
	for _, e := range effects {
		if a, answers := e.(Answer); answers {
			delete(h.asked, a.Token)
		}
	}
	return h.byWall(effects)
}

// stall is how long nobody listened: timers are late, a clock jumped, or the process was found
// not to have run.
func (h *Host) stall(now Reading) grid.Tick {
	span := grid.Tick(0)
	if due, ok := h.core.Next(); ok {
		span = now.Now - due
	}
	span = max(span, now.Drift-h.drift, h.drift-now.Drift)
	h.drift = now.Drift
	h.feelWall(now.Drift)
	if now.Pauses != h.pauses {
		h.pauses, span = now.Pauses, max(span, now.Pause)
	}
	return span
}

// Written tells that the write is durable, as the journal's change of that number.
func (h *Host) Written(sequence uint64) {
	h.writing = false
	h.core.Durable(sequence)
}

// Lost ends the Core, whose write failed or which cannot go on. It tells which requests it had taken that nobody answers any more.
func (h *Host) Lost() (unanswered []Token) {
	unanswered = slices.Sorted(maps.Keys(h.asked))
	h.core, h.writing, h.asked = nil, false, nil
	return unanswered
}

func (h *Host) asks(t Token) {
	if h.asked == nil {
		h.asked = map[Token]bool{}
	}
	h.asked[t] = true
}

// Next is when Core wants a Tick; ok is false if nothing is waited for.
func (h *Host) Next() (at grid.Tick, ok bool) {
	if h.core == nil {
		return 0, false
	}
	return h.core.Next()
}

// take adds the effects of a step.
func (w *Write) take(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Save:
			w.merge(e.Change)
		case Saw:
			w.Seen = append(w.Seen, e)
		case KeepTold:
			w.Told = append(w.Told, e.Record)
		case Restart:
			w.Restart = true
		case Fail:
			w.Failed = e.Err
		}
	}
	if w.Effects == nil {
		w.Effects = effects
	} else {
		w.Effects = append(w.Effects, effects...)
	}
}

// entity names what a change is of.
type entity struct {
	kind grid.Kind
	key  string
}

// merge makes one change of all that are of one entity, but for a save after a deletion.
func (w *Write) merge(c grid.Change) {
	if k := w.last(c.Kind, c.Key); k >= 0 && w.Changes[k].Record != nil {
		w.Changes[k] = w.Changes[k].Then(c)
		return
	}
	if w.at != nil {
		w.at[entity{c.Kind, c.Key}] = len(w.Changes)
	}
	w.Changes = append(w.Changes, c)
}

// fewChanges are gone through; where there are more, a map finds them.
const fewChanges = 16

// last is the index of the last change of an entity; -1 is none.
func (w *Write) last(kind grid.Kind, key string) int {
	if len(w.Changes) < fewChanges {
		for k := len(w.Changes) - 1; k >= 0; k-- {
			if c := &w.Changes[k]; c.Kind == kind && c.Key == key {
				return k
			}
		}
		return -1
	}
	if w.at == nil {
		w.at = make(map[entity]int, 2*fewChanges)
		for k := range w.Changes {
			w.at[entity{w.Changes[k].Kind, w.Changes[k].Key}] = k
		}
	}
	if k, seen := w.at[entity{kind, key}]; seen {
		return k
	}
	return -1
}

func (w *Write) saves() bool { return len(w.Changes) > 0 }

func saves(effects []Effect) bool {
	return slices.ContainsFunc(effects, func(e Effect) bool { _, is := e.(Save); return is })
}

// remember keeps what the next Core has to know, should this one end.
func (h *Host) remember(ev Event) {
	about := func(p grid.PeerID) *heard {
		if h.peers == nil {
			h.peers = map[grid.PeerID]*heard{}
		}
		if h.peers[p] == nil {
			h.peers[p] = &heard{}
		}
		return h.peers[p]
	}
	switch e := ev.(type) {
	case PeerSite:
		about(e.Peer).site = e
	case LinkChanged:
		about(e.Peer).link = e
	case PeerJournal:
		about(e.Peer).journal = e
	case PeerChanged:
		about(e.Peer).live = e
	}
}

func (h *Host) remembered() []Event {
	var list []Event
	for _, p := range slices.Sorted(maps.Keys(h.peers)) {
		for _, ev := range []Event{h.peers[p].site, h.peers[p].link, h.peers[p].journal, h.peers[p].live} {
			if ev != nil {
				list = append(list, ev)
			}
		}
	}
	return list
}
