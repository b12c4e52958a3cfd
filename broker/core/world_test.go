package core

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// world hosts several Cores in virtual time over a lossy network, a batch system
// with start tokens, and journals that keep what was saved. One seed is one history.
type world struct {
	t      testing.TB
	rnd    *rand.Rand
	now    grid.Tick
	queue  worldHeap
	seq    int
	sites  []*site
	byPeer map[grid.PeerID]*site
	faults faults
	starts map[grid.JobID][]string // in truth: who started the program
	told   map[grid.JobID]bool     // the user was told KILLED
	onward int                     // commits by owners that are not the job's home
	drains int
	log    []string
	tell   func(at *site, text string) // each save, message and start, for a transcript; may be nil
	cut    map[[2]grid.PeerID]bool     // ways, from and to, on which all messages are lost
	dies   func(*site, Effect) bool    // where a site is to crash, right after an effect of its; may be nil
	// restored: a journal was put back, so that two records may say Owning for a while.
	restored bool
}

func (w *world) say(at *site, format string, args ...any) {
	if w.tell != nil {
		w.tell(at, fmt.Sprintf(format, args...))
	}
}

// faults are probabilities per message, and delays.
type faults struct {
	loss, duplicate float64
	delay           grid.Tick // messages take 1..delay
	batchError      float64   // a batch command is said to have failed; half of them took effect
	crash           float64   // per message delivered: the receiver crashes
	operator        float64   // per launch: somebody deletes the waiting local job, hides it for a while, or holds it
	disappear       float64   // per start: the program is lost with its node, without a word
}

type worldEvent struct {
	at  grid.Tick
	seq int
	run func()
}

type worldHeap []worldEvent

func (h worldHeap) Len() int { return len(h) }
func (h worldHeap) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(h[a].at, h[b].at), cmp.Compare(h[a].seq, h[b].seq)) < 0
}
func (h worldHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *worldHeap) Push(x any)   { *h = append(*h, x.(worldEvent)) }
func (h *worldHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// newWorld makes sites a, b, c, ... with the given cores, all members of each other.
func newWorld(t testing.TB, seed uint64, f faults, cores ...int) *world {
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000, faults: f,
		byPeer: map[grid.PeerID]*site{}, starts: map[grid.JobID][]string{}, told: map[grid.JobID]bool{},
	}
	for i, n := range cores {
		name := string(rune('a' + i))
		s := &site{
			w: w, peer: grid.PeerID("peer-" + name), name: grid.SiteName(name), cores: n, speed: 1,
			journal: map[grid.JobID]grid.Record{}, tokens: map[grid.AttemptID]string{}, answers: map[Token]Answer{}, serving: map[Token]Serve{},
			links: map[grid.PeerID]grid.Link{}, seen: map[grid.PeerID][]grid.JournalID{}, outputs: map[grid.JobID]bool{}, told: map[grid.JobID]grid.Record{},
			id: grid.JournalID{Incarnation: uint64(i + 1)},
		}
		w.sites = append(w.sites, s)
		w.byPeer[s.peer] = s
	}
	for _, s := range w.sites {
		for _, o := range w.sites {
			if o != s {
				s.members = append(s.members, grid.Member{Name: o.name, Peer: o.peer, Send: true})
			}
		}
	}
	return w
}

func (w *world) boot() {
	for _, s := range w.sites {
		s.boot()
	}
}

func (w *world) after(d grid.Tick, run func()) {
	w.seq++
	heap.Push(&w.queue, worldEvent{w.now + max(d, 0), w.seq, run})
}

// run lets the world go on until the instant end, or until done holds.
func (w *world) run(end grid.Tick, done func() bool) bool {
	for len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(worldEvent)
		w.now = e.at
		e.run()
		if done != nil && done() {
			return true
		}
	}
	return done == nil
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%9.3f ", float64(w.now-1_000_000)/1000)+fmt.Sprintf(format, args...))
}

func (s *site) boot() {
	records := make([]grid.Record, 0, len(s.journal))
	for _, r := range s.journal {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b grid.Record) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	s.nonce++
	s.onDisk = shown(s.journal)
	s.id.Life = s.nonce<<8 | s.id.Incarnation
	s.lives = append(slices.Clip(s.lives), grid.Life{Number: s.id.Life, First: s.id.Sequence})
	s.host = Host{}
	s.host.Begin(New(s.config(), s.members, records), Reading{Now: s.w.now + s.ahead})
	s.up, s.wake = true, 0
	s.turn()
	for _, o := range s.w.sites {
		if o == s {
			continue
		}
		if l, ok := s.links[o.peer]; ok {
			s.step(LinkChanged{o.peer, l})
		}
		if o.up {
			s.step(PeerChanged{o.peer, grid.Alive})
			o.later(1, PeerChanged{s.peer, grid.Alive})
			s.later(1, PeerJournal{o.peer, o.id, o.nonce})
			o.later(1, PeerJournal{s.peer, s.id, s.nonce})
		}
	}
}

// oneOwner checks S2a: at most one site owns a job at the highest epoch, and none at the same one.
func (w *world) oneOwner(id grid.JobID) {
	var at []grid.Epoch
	for _, s := range w.sites {
		if r, ok := s.journal[id]; ok && r.Role == grid.Owning {
			at = append(at, r.Epoch)
		}
	}
	slices.SortFunc(at, grid.Epoch.Compare)
	if n := len(at); n > 1 && !w.restored && at[n-1].Term == at[n-2].Term {
		w.t.Fatalf("%d sites own %s, at epochs %v\n%s", len(at), id, at, w.story(id))
	}
}

func (w *world) story(id grid.JobID) string {
	text := ""
	for _, l := range w.log {
		text += l + "\n"
	}
	if len(text) > 20000 {
		text = text[len(text)-20000:]
	}
	return text
}

func (w *world) send(from *site, e Send) {
	to := w.byPeer[e.To]
	frame, err := wire.Encode(e.Message)
	if err != nil {
		w.t.Fatalf("%s sends what cannot be encoded: %v", from.name, err)
	}
	m, err := wire.Decode(frame)
	if err != nil {
		w.t.Fatalf("%s sends what cannot be decoded: %v", from.name, err)
	}
	copies := 1
	if w.cut[[2]grid.PeerID{from.peer, to.peer}] {
		copies = 0
		w.say(from, "-> %s  %s  (lost)", to.name, spoken(m))
	} else if w.rnd.Float64() < w.faults.loss {
		copies = 0
	} else if w.rnd.Float64() < w.faults.duplicate {
		copies = 2
	}
	for range copies {
		d := grid.Tick(1)
		if w.faults.delay > 1 {
			d += grid.Tick(w.rnd.Int64N(int64(w.faults.delay)))
		}
		w.after(d, func() {
			if !to.up {
				return
			}
			w.logf("%s -> %s %T", from.name, to.name, m)
			w.say(from, "-> %s  %s", to.name, spoken(m))
			to.step(Message{From: from.peer, Message: m})
			if w.rnd.Float64() < w.faults.crash {
				to.crash(grid.Tick(10 + w.rnd.Int64N(20000)))
			}
		})
	}
}

// submit hands a job to a site; it is repeated until the site is up.
func (w *world) submit(at grid.Tick, s *site, n int, cores int, walltime grid.Tick, files bool) grid.JobID {
	id := grid.NewJobID(s.name, fmt.Sprintf("%026d", n))
	j := grid.Job{
		ID: id, Home: s.peer, User: grid.User{Home: s.peer, Name: "alice"}, Walltime: walltime,
		Program: grid.Program{Executable: "/bin/true"},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: cores, Processes: 1, Cores: 1}}},
	}
	j.Rerunnable = n%2 == 0
	if files {
		j.Inputs = grid.Manifest{{Path: "data", Size: 1000, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	}
	var try func()
	try = func() {
		if _, saved := s.journal[id]; saved && !files {
			return
		}
		if !s.up {
			w.after(1000, try)
			return
		}
		s.step(Submit{Token: Token(n), Job: j, Key: string(id)})
		if files {
			s.step(Uploaded{Token: Token(n), Job: id, Inputs: j.Inputs})
		}
	}
	w.after(at, try)
	return id
}

func (w *world) home(id grid.JobID) *grid.Record {
	for _, s := range w.sites {
		if s.name == id.Site() {
			if r, ok := s.journal[id]; ok {
				return &r
			}
		}
	}
	return nil
}

func (w *world) allEnded(ids []grid.JobID) bool {
	for _, id := range ids {
		r := w.home(id)
		if r == nil || !r.State.Terminal() {
			return false
		}
	}
	return true
}
