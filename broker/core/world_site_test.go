package core

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"gbroker/grid"
)

type site struct {
	w       *world
	peer    grid.PeerID
	name    grid.SiteName
	host    Host
	life    int // raised by a crash: what belongs to an older life is void
	up      bool
	wake    grid.Tick
	journal map[grid.JobID]grid.Record
	onDisk  onDisk // of the present life
	state   grid.SiteState
	cores   int
	speed   float64
	tokens  map[grid.AttemptID]string // "started" or "withdrawn"
	local   []*localJob
	members []grid.Member
	answers map[Token]Answer
	serving map[Token]Serve // what of others' wishes is being done, by the tokens of the requests
	links   map[grid.PeerID]grid.Link
	id      grid.JournalID // of the journal, as it is
	seen    map[grid.PeerID][]grid.JournalID
	nonce   uint64              // of the present life
	outputs map[grid.JobID]bool // what jobs left is here
	lives   []grid.Life
	told    map[grid.JobID]grid.Record // beside the journal
	parts   *partSite                  // what it has to run parts of co-allocated jobs; see world_part_test.go
	ahead   grid.Tick                  // its clock is so far ahead of the true one
}

func (s *site) config() Config {
	return s.parts.config(Config{
		Self: s.peer, Site: s.facts(), Seed: uint64(s.life) << 32, Journal: s.id, Seen: s.seen, Boot: s.nonce, Lives: s.lives,
		Sign:   func(text []byte) []byte { return signature(s.peer, text) },
		Verify: func(by grid.PeerID, text, sig []byte) bool { return string(signature(by, text)) == string(sig) },
		Margin: grid.Second, Cooldown: 5 * grid.Second, Soon: grid.Second, Settle: 2 * grid.Second, Delta: 20 * grid.Second,
		Grace: 5 * grid.Second, Refresh: grid.Second, Draining: s.state.Draining, State: s.state, Load: s.load, LongDocument: 1,
	})
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
	w, ok := s.host.Turn(func() Reading { return Reading{Now: s.w.now + s.ahead} })
	if !ok {
		return
	}
	if err := s.onDisk.missed(s.host.Core(), w.Effects); err != nil {
		s.w.t.Fatalf("%s: %v\n%s", s.name, err, s.w.story(""))
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
	if at, ok := s.host.Next(); ok {
		s.wakes(at - s.ahead)
	}
}

// wakes has the site step at an instant.
func (s *site) wakes(at grid.Tick) {
	if s.wake == 0 || at < s.wake || s.wake <= s.w.now {
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
	case Save, Saw, KeepTold:
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
	case KeepTold:
		s.told[e.Record.Job.ID] = e.Record
	case Fail:
		w.t.Fatalf("%s: %v\n%s", s.name, e.Err, w.story(""))
	case Alarm:
		w.say(s, "alarm: %s", e.Text)
	case AlarmOver:
		w.say(s, "alarm: over")
	case Send:
		w.send(s, e)
	case Answer:
		s.answers[e.Token] = e
		if of, is := s.serving[e.Token]; is {
			s.later(1, Served{From: of.From, Number: of.Number, Found: Found{Record: e.Record}, Err: e.Err})
		}
	case Serve: // an alteration
		token := Token(1000 + len(s.serving))
		s.serving[token] = e
		s.later(2, Alter{Token: token, Job: e.Wish.Job, To: e.Wish.Alter, By: e.Wish.User, Relayed: grid.Relayed{By: e.From, Number: e.Number}})
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
	case Check:
		s.later(2, Checked{Job: e.Job, Epoch: e.Epoch})
	case Collect:
		s.outputs[e.Job.ID] = true
		s.later(3, Collected{Job: e.Job.ID, Epoch: e.Epoch, Outputs: grid.Manifest{{Path: "stdout"}}})
	case Discard:
		if !e.Keep {
			delete(s.outputs, e.Job)
		}
	case Publish, Show, Delivered:
	case Reserve, Unreserve, ListReservations, Gather:
		s.parts.do(e)
	case Note:
		w.logf("%s notes %s: %s", s.name, e.Job, e.Text)
	}
}

// fetch brings files of a job here, if the other side has them.
func (s *site) fetch(e Fetch) {
	ev := Fetched{Job: e.Job, Epoch: e.Epoch, From: e.From, Set: e.Set}
	switch o := s.w.byPeer[e.From]; {
	case !o.up:
		ev.Err = errors.New("peer is down")
	case e.Set == OutputFiles && !o.outputs[e.Job]:
		ev.Err, ev.Final = errors.New("it has no output of that job"), true
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
	id, saved, is := c.Job()
	if !is {
		s.parts.save(c)
		return
	}
	if saved == nil {
		delete(s.journal, id)
		return
	}
	old, known := s.journal[id]
	r := *c.Whole(&old)
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
	// The output of a whole is that of its parts.
	if r.Job.Home == s.peer && r.State == grid.Completed && old.State != r.State && !s.outputs[id] && r.Job.Coallocation == nil {
		s.w.t.Fatalf("%s is told COMPLETED without its output\n%s", id, s.w.story(id))
	}
	if r.Job.Home == s.peer && r.State.Terminal() && r.State != grid.Lost && s.w.runs(id) {
		s.w.t.Fatalf("%s is told %s while its program runs\n%s", id, r.State, s.w.story(id))
	}
	if r.Job.Home == s.peer && r.State == grid.Killed {
		s.w.told[id] = true
	}
}
