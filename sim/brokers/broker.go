package brokers

import (
	"bytes"
	"fmt"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// broker is the daemon of a site: [core.Host] in a calm world, in which each write is durable at once and nothing fails.
type broker struct {
	n        *neighbourhood
	r        *run
	site     int
	peer     grid.PeerID
	prefix   string // of the identifiers of its jobs
	batch    *batch
	sequence uint64
	core.Host
	turning bool
	wake    grid.Tick // the next Tick; 0 is none
	journal map[grid.JobID]*grid.Record
	coming  []int32 // jobs whose files are being fetched
	views   views
	sent    map[int][]coming // by site: what was offered there lately
	away    bool
	ended   []parting
}

// parting is a record that nobody asks for any more after a while.
type parting struct {
	at grid.Tick
	id grid.JobID
}

// begin makes the Core of an empty journal.
func (h *broker) begin() {
	h.Begin(core.New(h.config(), h.neighbours(), nil), h.clocks())
	h.turn()
}

func (h *broker) neighbours() []grid.Member {
	var list []grid.Member
	for _, m := range h.hears() {
		sends := slices.Contains(h.r.members(h.site), m)
		list = append(list, grid.Member{Name: grid.SiteName(h.r.w.Sites[m].Name), Peer: h.n.brokers[m].peer, Send: sends})
	}
	return list
}

// hears are the sites that the broker knows.
func (h *broker) hears() []int {
	if !h.r.w.Known {
		return h.r.members(h.site)
	}
	var all []int
	for i := range h.r.w.Sites {
		if i != h.site {
			all = append(all, i)
		}
	}
	return all
}

// meet tells what overlay and netmon would say of the members at the start.
func (h *broker) meet() {
	for _, m := range h.hears() {
		o := h.n.brokers[m]
		h.Post(core.PeerSite{Peer: o.peer, Site: h.r.facts(m)})
		h.Post(core.LinkChanged{Peer: o.peer, Link: h.n.link(h.site, m)})
		h.Post(core.PeerJournal{Peer: o.peer, Journal: o.position(), Boot: uint64(m) + 1})
		h.Post(core.PeerChanged{Peer: o.peer, Liveness: grid.Alive})
	}
	h.noted()
	h.turn()
}

// position of its journal.
func (h *broker) position() grid.JournalID {
	return grid.JournalID{Incarnation: uint64(h.site) + 1, Sequence: h.sequence, Life: uint64(h.site) + 1}
}

// config is what the Core of a site is told: the daemon's defaults, but for what is said again at intervals in case it
// was lost, or the batch system had not told it: here nothing is lost, and the batch system tells all.
func (h *broker) config() core.Config {
	const seldom = grid.Hour
	b := &h.r.w.Brokering
	cfg := core.Config{
		Self: h.peer, Site: h.r.facts(h.site), Journal: h.position(), Boot: uint64(h.site) + 1,
		Lives:  []grid.Life{{Number: uint64(h.site) + 1}},
		Seed:   h.r.w.Seed<<32 ^ uint64(h.site)<<8,
		Sign:   func(text []byte) []byte { return signature(h.peer, text) },
		Verify: func(by grid.PeerID, text, s []byte) bool { return bytes.Equal(signature(by, text), s) },
		Load:   h.load, Refresh: seldom, Digest: seldom,
	}
	cfg.Keep = never // what has ended is let go here when nobody asks for it any more, not by the days of a log
	cfg.Delta, cfg.Settle = b.Reevaluate, b.Reevaluate
	if b.Reevaluate == 0 {
		cfg.Delta, cfg.Settle = never, never
	}
	if b.OldForAll { // one that has come stays until others can see that it did
		cfg.Cooldown = max(b.ViewAge, 1)
	}
	if b.Rule == Published { // whatever is gained is gained
		cfg.Published, cfg.Margin, cfg.MarginShare, cfg.Soon, cfg.Cooldown, cfg.MaxHops = true, 1, 1e-9, 1, 1, 1<<30
	}
	if b.Rule == Core {
		cfg.Tell = b.Tell
	}
	cfg.Unlearned = b.Knowledge != Learned
	if b.Knowledge == True {
		cfg.Known = func(j *grid.Job) grid.Tick { return h.r.w.Jobs[number(j.ID)].Run }
	}
	return cfg
}

// never is longer than any run.
const never = 1 << 20 * grid.Day

func (h *broker) load(id grid.JobID) (grid.Record, error) {
	if r := h.journal[id]; r != nil {
		return *r, nil
	}
	return grid.Record{}, fmt.Errorf("%w: the record of job %s was let go, and is asked for", grid.ErrNotFound, id)
}

func (h *broker) clocks() core.Reading { return core.Reading{Now: h.r.now} }

// post hands an event to the Core.
func (h *broker) post(ev core.Event) {
	h.Post(ev)
	h.turn()
}

// turn steps the Core through what has come, and does what it says.
func (h *broker) turn() {
	if h.turning {
		return
	}
	h.turning = true
	for h.Ready() && h.r.err == nil {
		w, _ := h.Turn(h.step)
		h.perform(&w)
	}
	h.turning = false
	h.setTimer()
}

func (h *broker) step() core.Reading {
	h.r.result.Steps++
	return h.clocks()
}

func (h *broker) perform(w *core.Write) {
	if w.Failed != nil {
		h.r.fail(fmt.Errorf("the broker of %s cannot go on: %w", h.prefix, w.Failed))
	}
	if len(w.Changes) > 0 {
		h.sequence++
	}
	for i := range w.Changes {
		h.commit(&w.Changes[i])
	}
	h.Written(h.sequence)
	for _, e := range w.Effects {
		h.do(e)
	}
}

// commit keeps what the journal would, until nobody asks for it any more.
func (h *broker) commit(c *grid.Change) {
	id, r, is := c.Job()
	switch {
	case !is:
	case r == nil:
		delete(h.journal, id)
	default:
		h.journal[id] = c.Whole(h.journal[id])
		if r.Job.Home == h.peer && r.State == grid.Killed && h.r.result.Jobs[number(id)].End == 0 {
			h.r.cancelled(number(id))
		}
		if core.IsArchived(r) {
			h.ended = append(h.ended, parting{h.r.now + h.r.lingers, id})
		}
	}
	for len(h.ended) > 0 && h.ended[0].at <= h.r.now {
		p := h.ended[0]
		h.ended = h.ended[1:]
		r, end := h.journal[p.id], h.r.result.Jobs[number(p.id)].End
		switch {
		case r == nil || !core.IsArchived(r):
		case end == 0 || h.r.now-epoch < end+h.r.lingers: // it was here, and runs elsewhere, or did lately
			h.ended = append(h.ended, parting{h.r.now + h.r.lingers, p.id})
		default:
			delete(h.journal, p.id)
		}
	}
}

// keepAll is for how many jobs the records of all are kept to the end: they come back to sites where they were long ago.
const keepAll = 1 << 17

// lingers is how long the record of a job that has ended is kept: of few jobs, and where sites are away that hear of it when they are
// back, for ever.
func (w *World) lingers() grid.Tick {
	if len(w.Jobs) <= keepAll {
		return never
	}
	for i := range w.Sites {
		if len(w.Sites[i].Away) > 0 {
			return never
		}
	}
	return w.askedFor()
}

// askedFor is how long after its end a job may be asked for: all that is said is heard by then.
func (w *World) askedFor() grid.Tick { return 2 * grid.Second }

func (h *broker) setTimer() {
	at, ok := h.Next()
	if !ok || at == h.wake {
		return
	}
	h.wake = at
	h.r.at(at, func() {
		if h.wake == at {
			h.wake = 0
			h.post(core.Tick{})
		}
	})
}
