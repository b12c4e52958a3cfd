package core

import (
	"cmp"
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
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

type site struct {
	w       *world
	peer    grid.PeerID
	name    grid.SiteName
	host    Host
	life    int // raised by a crash: what belongs to an older life is void
	up      bool
	wake    grid.Tick
	journal map[grid.JobID]grid.Record
	state   grid.SiteState
	cores   int
	speed   float64
	tokens  map[grid.AttemptID]string // "started" or "withdrawn"
	local   []*localJob
	members []grid.Member
	answers map[Token]Answer
	links   map[grid.PeerID]grid.Link
	id      grid.JournalID // of the journal, as it is
	seen    map[grid.PeerID][]grid.JournalID
	nonce   uint64              // of the present life
	outputs map[grid.JobID]bool // what jobs left is here
	lives   []grid.Life
	told    map[grid.JobID]grid.Record // beside the journal
}

type localJob struct {
	s        grid.Submission
	started  grid.Tick
	ended    bool
	progress grid.Progress
	deleted  bool
	held     bool
	hidden   grid.Tick // until then no listing shows it
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
			journal: map[grid.JobID]grid.Record{}, tokens: map[grid.AttemptID]string{}, answers: map[Token]Answer{},
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

func (s *site) config() Config {
	return Config{
		Self: s.peer, Site: s.facts(), Seed: uint64(s.life) << 32, Journal: s.id, Seen: s.seen, Boot: s.nonce, Lives: s.lives,
		Sign:   func(text []byte) []byte { return signature(s.peer, text) },
		Verify: func(by grid.PeerID, text, sig []byte) bool { return string(signature(by, text)) == string(sig) },
		Margin: grid.Second, Cooldown: 5 * grid.Second, Soon: grid.Second, Settle: 2 * grid.Second, Delta: 20 * grid.Second,
		Grace: 5 * grid.Second, Refresh: grid.Second, Draining: s.state.Draining, State: s.state, Load: s.load,
	}
}

func (s *site) load(id grid.JobID) (grid.Record, error) {
	r, known := s.journal[id]
	if !known {
		return r, fmt.Errorf("%w: job %s", grid.ErrNotFound, id)
	}
	return r, nil
}

// signature stands for one by the key behind a peer ID.
func signature(by grid.PeerID, text []byte) []byte {
	h := fnv.New128a()
	h.Write([]byte(by + "'s key"))
	h.Write(text)
	return h.Sum(nil)
}

func (s *site) facts() grid.Site {
	return grid.Site{Name: s.name, Processes: s.cores, Speed: s.speed, Architecture: "x86_64", System: "LINUX"}
}

func (s *site) boot() {
	records := make([]grid.Record, 0, len(s.journal))
	for _, r := range s.journal {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b grid.Record) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	s.nonce++
	s.id.Life = s.nonce<<8 | s.id.Incarnation
	s.lives = append(slices.Clip(s.lives), grid.Life{Number: s.id.Life, First: s.id.Sequence})
	s.host = Host{}
	s.host.Begin(New(s.config(), s.members, records), Reading{Now: s.w.now})
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

// crash loses what was in memory; jobs in the batch system go on.
func (s *site) crash(down grid.Tick) {
	if !s.up {
		return
	}
	s.w.logf("%s crashes", s.name)
	s.up = false
	s.life++
	for _, o := range s.w.sites {
		if o != s && o.up {
			o.later(5, PeerChanged{s.peer, grid.Doubtful})
		}
	}
	s.w.after(down, func() {
		s.w.logf("%s is back", s.name)
		s.boot()
	})
}

// later feeds an event to the present life of the site.
func (s *site) later(d grid.Tick, ev Event) {
	life := s.life
	s.w.after(d, func() {
		if s.up && s.life == life {
			s.step(ev)
		}
	})
}

func (s *site) step(ev Event) {
	s.host.Post(ev)
	s.turn()
}

// turn makes durable what is to be, and lets the effects leave; it may crash after each.
func (s *site) turn() {
	w, ok := s.host.Turn(func() Reading { return Reading{Now: s.w.now} })
	if !ok {
		return
	}
	for _, e := range w.Effects {
		if isWrite(e) {
			if s.do(e); s.dies(e) {
				return
			}
		}
	}
	s.host.Written(s.id.Sequence)
	for _, e := range w.Effects {
		if !isWrite(e) {
			if s.do(e); s.dies(e) {
				return // what else this step wanted is lost
			}
		}
	}
	if at, ok := s.host.Next(); ok && (s.wake == 0 || at < s.wake || s.wake <= s.w.now) {
		s.wake = at
		s.later(at-s.w.now, Tick{})
	}
}

// dies tells that the site crashes right after an effect.
func (s *site) dies(e Effect) bool {
	if s.w.dies == nil || !s.w.dies(s, e) {
		return false
	}
	s.w.dies = nil
	s.w.say(s, "CRASHES")
	s.crash(crashed)
	return true
}

// isWrite tells of an effect that is to be on disk before any other leaves.
func isWrite(e Effect) bool {
	switch e.(type) {
	case Save, Saw, Tell:
		return true
	}
	return false
}

func (s *site) do(e Effect) {
	w := s.w
	switch e := e.(type) {
	case Save:
		s.save(e.Change)
		s.id.Sequence++
	case Saw:
		s.saw(e)
	case Tell:
		s.told[e.Record.Job.ID] = e.Record
	case Fail:
		w.t.Fatalf("%s: %v\n%s", s.name, e.Err, w.story(""))
	case Alarm:
		w.say(s, "alarm: %s", cmp.Or(e.Text, "over"))
	case Send:
		w.send(s, e)
	case Answer:
		s.answers[e.Token] = e
	case Look:
		s.later(1, Looked{Snapshot: s.snapshot()})
	case Launch:
		s.later(2, s.launch(e.Submission))
	case Withdraw:
		s.later(2, s.withdraw(e.ID))
	case Kill:
		s.kill(e.ID)
	case Probe:
		s.later(2, Progressed{Progress: s.progress(e.ID)})
	case Reconcile:
		ev := Reconciled{Jobs: e.Jobs, All: true}
		for id := range s.tokens {
			ev.Attempts = append(ev.Attempts, id)
		}
		for _, l := range s.local {
			ev.Attempts = append(ev.Attempts, l.s.ID)
		}
		s.later(2, ev)
	case Fetch:
		w.after(20, func() { s.fetch(e) })
	case Collect:
		s.outputs[e.Job.ID] = true
		s.later(3, Collected{Job: e.Job.ID, Epoch: e.Epoch, Outputs: grid.Manifest{{Path: "stdout"}}})
	case Discard:
		if !e.Keep {
			delete(s.outputs, e.Job)
		}
	case Publish, Show, Delivered:
	case Note:
		w.logf("%s notes %s: %s", s.name, e.Job, e.Text)
	}
}

// fetch brings files of a job here, if the other side has them.
func (s *site) fetch(e Fetch) {
	ev := Fetched{Job: e.Job, Epoch: e.Epoch, Set: e.Set}
	switch o := s.w.byPeer[e.From]; {
	case !o.up:
		ev.Err = "peer is down"
	case e.Set == OutputFiles && !o.outputs[e.Job]:
		ev.Err, ev.Final = "it has no output of that job", true
	case e.Set == OutputFiles:
		s.outputs[e.Job] = true
	}
	s.later(0, ev)
}

// saw keeps the highest sequence of each life, as package store does.
func (s *site) saw(e Saw) {
	list := slices.Clone(s.seen[e.Peer])
	k := slices.IndexFunc(list, func(o grid.JournalID) bool { return o.SameLife(e.Journal) })
	if k < 0 {
		list = append(list, e.Journal)
	} else {
		list[k].Sequence = max(list[k].Sequence, e.Journal.Sequence)
	}
	s.seen[e.Peer] = list
}

// save checks what must hold for a record, against the one before.
func (s *site) save(c grid.Change) {
	if state, is := c.Record.(*grid.SiteState); is {
		s.state = *state
		return
	}
	id, saved, _ := c.Job()
	if saved == nil {
		delete(s.journal, id)
		return
	}
	old, known := s.journal[id]
	r := *saved
	s.w.logf("%s saves %s %s %s owner=%s epoch=%s handoff=%d/%s attempt=%d %v", s.name, r.Job.ID, r.Role, r.State, r.Owner, r.Epoch, r.Handoff.Phase, r.Handoff.Epoch, r.Attempt, c.Events)
	if known && old.State.Terminal() && old.State != grid.Lost && r.State != old.State {
		s.w.t.Fatalf("%s: %s left the terminal state %s for %s\n%s", s.name, id, old.State, r.State, s.w.story(id))
	}
	if known && r.Epoch.Before(old.Epoch) {
		s.w.t.Fatalf("%s: %s went back from epoch %s to %s\n%s", s.name, id, old.Epoch, r.Epoch, s.w.story(id))
	}
	if known && old.Role == grid.Owning && r.Role == grid.Owning && old.State != r.State && !old.State.CanBecome(r.State, grid.Own) && !old.State.CanBecome(r.State, grid.Begun) {
		s.w.t.Fatalf("%s: %s went from %s to %s, which the diagram has not\n%s", s.name, id, old.State, r.State, s.w.story(id))
	}
	if r.Handoff.Phase == grid.Committed && old.Handoff.Phase != grid.Committed && r.Job.Home != s.peer {
		s.w.onward++
	}
	for _, e := range c.Events {
		w := s.w
		handoff := ""
		if r.Handoff.Phase != grid.NoHandoff {
			handoff = fmt.Sprintf(" to %s at %s", w.byPeer[r.Handoff.To].name, r.Handoff.Epoch)
		}
		w.say(s, "%s %s %s %s%s: %s", short(r.Job.ID), r.Role, r.State, r.Epoch, handoff, e.Why)
	}
	s.journal[id] = r
	s.w.oneOwner(id)
	if r.Job.Home == s.peer && r.State == grid.Completed && old.State != r.State && !s.outputs[id] {
		s.w.t.Fatalf("%s is told COMPLETED without its output\n%s", id, s.w.story(id))
	}
	if r.Job.Home == s.peer && r.State.Terminal() && r.State != grid.Lost && s.w.runs(id) {
		s.w.t.Fatalf("%s is told %s while its program runs\n%s", id, r.State, s.w.story(id))
	}
	if r.Job.Home == s.peer && r.State == grid.Killed {
		s.w.told[id] = true
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

// The batch system: FIFO over the declared cores; tokens decide starts.

func (s *site) snapshot() plan.Snapshot {
	p := plan.Snapshot{At: s.w.now, Policy: plan.Policy{Kind: plan.EASY}, Site: s.facts(), Nodes: []plan.Node{{Name: "n", Cores: s.cores}}}
	for _, l := range s.local {
		switch {
		case l.ended:
		case l.started > 0:
			n := l.s.Job.Demand.Cores()
			p.Running = append(p.Running, plan.Running{Job: l.s.ID.Job, Start: l.started, End: max(s.w.now+1, l.started+l.s.Limit),
				Shares: []plan.Share{{Node: 0, Processes: n, Cores: n}}})
		case s.tokens[l.s.ID] == "" && !l.deleted && l.hidden <= s.w.now:
			p.Waiting = append(p.Waiting, plan.Waiting{Job: l.s.ID.Job, Demand: l.s.Job.Demand, Limit: l.s.Limit, Held: l.held})
		}
	}
	return p
}

func (s *site) find(id grid.AttemptID) *localJob {
	for _, l := range s.local {
		if l.s.ID == id {
			return l
		}
	}
	return nil
}

func (s *site) launch(sub grid.Submission) Event {
	failed := s.w.rnd.Float64() < s.w.faults.batchError
	if !failed || s.w.rnd.Float64() < 0.5 {
		if s.find(sub.ID) == nil {
			l := &localJob{s: sub}
			s.local = append(s.local, l)
			s.w.after(1, s.schedule)
			if s.w.rnd.Float64() < s.w.faults.operator {
				s.operate(l)
			}
		}
	}
	if failed {
		return Launched{ID: sub.ID, Err: "the answer was lost"}
	}
	return Launched{ID: sub.ID, Local: grid.LocalID(sub.ID.Tag())}
}

// operate is somebody at the site who does something to our local job, soon.
func (s *site) operate(l *localJob) {
	w := s.w
	w.after(grid.Tick(1+w.rnd.Int64N(3000)), func() {
		switch w.rnd.IntN(3) {
		case 0:
			w.logf("%s: the local job of %s is deleted", s.name, l.s.ID)
			l.deleted = l.started == 0
		case 1:
			l.hidden = w.now + grid.Tick(w.rnd.Int64N(4000))
		case 2:
			l.held = l.started == 0
			w.after(20*grid.Second, func() { l.held = false; s.schedule() })
		}
		s.schedule()
	})
}

// schedule starts what fits, in order; it goes on while the broker is down.
func (s *site) schedule() {
	free := s.cores
	for _, l := range s.local {
		n := l.s.Job.Demand.Cores()
		switch {
		case l.ended || l.deleted || l.held || s.tokens[l.s.ID] == "withdrawn":
		case l.started > 0:
			free -= n
		case n <= free:
			free -= n
			s.start(l)
		default:
			return
		}
	}
}

func (s *site) start(l *localJob) {
	w := s.w
	s.tokens[l.s.ID] = "started"
	id := l.s.ID.Job
	w.starts[id] = append(w.starts[id], fmt.Sprintf("%s %s at %d", s.name, l.s.ID, w.now))
	w.logf("%s STARTS %s", s.name, l.s.ID)
	w.say(s, "STARTS %s %s#%d", short(id), l.s.ID.Epoch, l.s.ID.Attempt)
	if n := len(w.starts[id]); n > 1 && (!l.s.Job.Rerunnable || l.s.ID.Epoch.Term == 1 && w.runs(id)) {
		w.t.Fatalf("%s started more than once: %v\n%s", id, w.starts[id], w.story(id))
	}
	if w.told[id] {
		w.t.Fatalf("%s started after its user was told KILLED\n%s", id, w.story(id))
	}
	l.started = w.now
	s.word(s.progress(l.s.ID))
	run := grid.Tick(float64(l.s.Job.Walltime) / s.speed * (0.3 + 0.7*w.rnd.Float64()))
	if w.tell != nil { // a transcript rests on no chance
		run = grid.Tick(float64(l.s.Job.Walltime) / s.speed / 2)
	}
	why := grid.ByItself
	if w.rnd.Float64() < w.faults.disappear {
		why, run = grid.Disappeared, run/2
	}
	w.after(run, func() { s.endLocal(l, why) })
}

func (s *site) endLocal(l *localJob, why grid.Cause) {
	if l.ended {
		return
	}
	l.ended = true
	l.progress = grid.Progress{ID: l.s.ID, Phase: grid.Ended, Started: l.started, Finished: s.w.now, Cause: why}
	s.word(l.progress)
	s.schedule()
}

// word is the batch system's own word of a change; like every word it may be lost.
func (s *site) word(p grid.Progress) {
	if s.w.rnd.Float64() >= s.w.faults.batchError {
		s.later(1, Progressed{Progress: p})
	}
}

// runs reports that the program of a job is running somewhere, in truth.
func (w *world) runs(id grid.JobID) bool {
	for _, s := range w.sites {
		for _, l := range s.local {
			if l.s.ID.Job == id && l.started > 0 && !l.ended {
				return true
			}
		}
	}
	return false
}

func (s *site) withdraw(id grid.AttemptID) Event {
	if s.tokens[id] == "started" {
		return Withdrawn{ID: id}
	}
	s.tokens[id] = "withdrawn"
	if s.w.rnd.Float64() < s.w.faults.batchError {
		return Withdrawn{ID: id, Err: "the answer was lost"}
	}
	s.w.after(1, s.schedule)
	return Withdrawn{ID: id, Done: true}
}

func (s *site) kill(id grid.AttemptID) {
	if l := s.find(id); l != nil && l.started > 0 {
		s.w.after(2, func() { s.endLocal(l, grid.ByRequest) })
	}
}

func (s *site) progress(id grid.AttemptID) grid.Progress {
	l := s.find(id)
	switch {
	case s.tokens[id] == "withdrawn":
		return grid.Progress{ID: id, Phase: grid.Withdrawn}
	case l == nil, l.hidden > s.w.now && !l.ended, l.deleted && s.tokens[id] == "":
		return grid.Progress{ID: id}
	case l.ended:
		return l.progress
	case l.started > 0:
		return grid.Progress{ID: id, Phase: grid.Started, Started: l.started, Local: "l"}
	}
	return grid.Progress{ID: id, Phase: grid.Waiting, Local: "l"}
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
