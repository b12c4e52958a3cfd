package core

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"
)

// still are clocks that stand at an instant.
func still(now grid.Tick) func() Reading { return func() Reading { return Reading{Now: now} } }

// hosted is a host whose Core has booted at an instant.
func hosted(t *testing.T, cfg Config, now grid.Tick) *Host {
	t.Helper()
	h := &Host{}
	cfg.Self = me
	h.Begin(New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil), Reading{Now: now})
	if _, ok := h.Turn(still(now)); !ok {
		t.Fatal("it does not boot")
	}
	h.Written(1)
	return h
}

func submission(n int) Submit {
	return Submit{Token: Token(n), Job: jobOf(me, "a", string(rune('0'+n))), Key: string(rune('k' + n))}
}

// All that came while a write was under way is one write, with the last record of each job.
func TestOneWriteServesManyEvents(t *testing.T) {
	t.Parallel()
	h := hosted(t, Config{}, 1000)
	h.Post(submission(1))
	h.Post(submission(2))
	w, _ := h.Turn(still(1001))
	if len(w.Changes) != 2 || len(w.Early) != 0 {
		t.Fatalf("%d jobs in the write, %d effects before it", len(w.Changes), len(w.Early))
	}
	h.Post(CancelRequest{Token: 3, Job: submission(1).Job.ID})
	if _, ok := h.Turn(still(1002)); ok || h.Ready() {
		t.Error("a second turn before the first is written")
	}
	h.Written(2)
	if !h.Ready() {
		t.Error("what came meanwhile is forgotten")
	}
	x, y := grid.Job{ID: "x"}, grid.Job{ID: "y"}
	decision := []grid.Decision{{At: 1}}
	var merged Write
	merged.take([]Effect{
		Save{grid.Change{Kind: grid.KindJob, Key: "x", Record: &grid.Record{Job: x, Tenure: grid.Tenure{Report: 1}}, Events: []grid.Event{{Why: "1"}}, Decisions: decision}},
		Save{grid.Saved(&grid.Record{Job: y})},
		Save{grid.Saved(&grid.SiteState{})},
		Save{grid.Change{Kind: grid.KindJob, Key: "x", Record: &grid.Record{Job: x, Tenure: grid.Tenure{Report: 2}}, Events: []grid.Event{{Why: "2"}}, Decisions: decision}},
		Save{grid.Saved(&grid.SiteState{Draining: true})},
	})
	c := merged.Changes
	if len(c) != 3 || c[0].Record.(*grid.Record).Report != 2 || len(c[0].Events) != 2 || len(c[0].Decisions) != 2 || !c[2].Record.(*grid.SiteState).Draining || len(merged.Effects) != 5 {
		t.Errorf("merged: %+v", c)
	}
	merged.take([]Effect{
		Save{grid.Change{Kind: grid.KindJob, Key: "x", Record: &grid.Record{Job: x, AtHome: grid.AtHome{Removed: true}}, Undecided: true}},
		Save{grid.Deleted(grid.KindJob, "y")},
		Save{grid.Saved(&grid.Record{Job: y, Tenure: grid.Tenure{Report: 3}})},
	})
	if c = merged.Changes; len(c) != 4 || !c[0].Undecided || c[0].Decisions != nil || len(c[0].Events) != 2 || c[1].Record != nil || c[3].Record.(*grid.Record).Report != 3 {
		t.Errorf("removed, deleted, and saved anew: %+v", c)
	}
}

// With a rule switched off, effects leave that a crash can contradict.
func TestEffectsWaitForTheirSaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		off   Rules
		early bool
	}{{0, false}, {EffectBeforeSave, true}, {EffectBeforeEarlierSave, true}} {
		h := hosted(t, Config{Broken: c.off}, 1000)
		h.Post(submission(1))
		h.Post(RemoveRequest{Token: 7, Job: "a.nothing"}) // is refused, which saves nothing
		w, _ := h.Turn(still(1001))
		if early := len(w.Early) > 0; early != c.early {
			t.Errorf("rules %b: effects before the write: %t", c.off, early)
		}
	}
}

// At most MaxBatch events are in one write, and none is lost.
func TestAWriteIsBounded(t *testing.T) {
	t.Parallel()
	h := hosted(t, Config{}, 1000)
	for n := range MaxBatch + 10 {
		h.Post(RemoveRequest{Token: Token(n + 1), Job: "a.nothing"})
	}
	answers := func() (n int) {
		w, _ := h.Turn(still(1001))
		for _, e := range w.Effects {
			if _, is := e.(Answer); is {
				n++
			}
		}
		h.Written(1)
		return n
	}
	if first, rest := answers(), answers(); first != MaxBatch || rest != 10 || h.Ready() {
		t.Errorf("%d and %d answers", first, rest)
	}
}

// A Core hears of a time in which nobody listened before anything else: timers that are late,
// a wall clock that was set, a process that did not run.
func TestAStallIsNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		now  Reading
		is   bool
	}{
		{"as it should be", Reading{Now: 1010}, false},
		{"timers are late", Reading{Now: 1000 + 30*grid.Second}, true},
		{"the wall clock was set ahead", Reading{Now: 1010, Drift: StallAfter}, true},
		{"the wall clock was set back", Reading{Now: 1010, Drift: -StallAfter}, true},
		{"the clocks drift", Reading{Now: 1010, Drift: StallAfter - 1}, false},
		{"the process did not run", Reading{Now: 1010, Pauses: 1, Pause: StallAfter}, true},
	} {
		h := hosted(t, Config{}, 1000)
		h.Post(submission(1)) // arms timers
		h.Turn(still(1000))
		h.Written(2)
		h.Post(Tick{})
		w, _ := h.Turn(func() Reading { return c.now })
		noted := false
		for _, e := range w.Effects {
			if n, is := e.(Note); is && n.Job == "" {
				noted = true
			}
		}
		if noted != c.is {
			t.Errorf("%s: noticed %t", c.name, noted)
		}
		if w.Pauses != c.now.Pauses {
			t.Errorf("%s: decided after %d pauses", c.name, w.Pauses)
		}
	}
}

// A Core that follows another is told what was heard of peers, and what has come since.
func TestTheNextCoreIsToldWhatWasHeard(t *testing.T) {
	t.Parallel()
	h := hosted(t, Config{}, 1000)
	heard := []Event{PeerSite{Peer: her, Site: grid.Site{Name: "b"}}, PeerJournal{Peer: her, Boot: 9}, PeerChanged{Peer: her, Liveness: grid.Alive}}
	h.Post(PeerChanged{Peer: her, Liveness: grid.Doubtful})
	for _, ev := range heard {
		h.Post(ev)
	}
	h.Post(Forward{Token: 4, To: her, Wish: Wish{Job: "b.1", User: "alice"}})
	h.Post(submission(9))
	h.Turn(still(1001))
	if left := h.Lost(); !slices.Equal(left, []Token{4}) || len(h.Lost()) > 0 {
		t.Errorf("nobody answers %v", left)
	}
	h.Post(submission(1))
	if _, ok := h.Turn(still(1002)); ok || h.Core() != nil {
		t.Fatal("a Core whose write failed goes on")
	}
	if _, ok := h.Next(); ok {
		t.Error("nobody waits for anything")
	}
	h.Begin(New(Config{Self: me}, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil), Reading{Now: 2000})
	want := append(append([]Event{Boot{}}, heard...), submission(1))
	if !reflect.DeepEqual(h.inbox, want) {
		t.Errorf("it is told\n%+v\nnot\n%+v", h.inbox, want)
	}
}

// Work of one job of a kind is in one queue; what clears files ends what is at work with them.
func TestRoutesOfSlowEffects(t *testing.T) {
	t.Parallel()
	id := grid.AttemptID{Job: "a.1"}
	batch, files := WorkKey{BatchWork, "a.1"}, WorkKey{FileWork, "a.1"}
	for _, c := range []struct {
		effect Effect
		key    WorkKey
		ends   []WorkKey
	}{
		{Withdraw{ID: id}, batch, nil}, {Kill{ID: id}, batch, nil}, {Probe{ID: id}, batch, nil},
		{Launch{Submission: grid.Submission{ID: id}}, files, nil}, {Collect{Job: grid.Job{ID: "a.1"}}, files, nil}, {Check{Job: "a.1"}, files, nil},
		{Fetch{Job: "a.1"}, files, nil},
		{Discard{Job: "a.1"}, files, []WorkKey{files}}, {SetAside{Job: "a.1"}, files, []WorkKey{files}},
		{Look{}, WorkKey{LookWork, ""}, nil}, {Reconcile{}, WorkKey{LookWork, "reconcile"}, nil},
		{Publish{Job: "a.1"}, WorkKey{HintWork, "a.1"}, nil}, {Delivered{}, WorkKey{HintWork, "deliveries"}, nil},
	} {
		key, ends, slow := Route(c.effect)
		if !slow || key != c.key || !reflect.DeepEqual(ends, c.ends) {
			t.Errorf("%T: %v %v %v", c.effect, key, ends, slow)
		}
	}
	for _, e := range []Effect{Save{}, Send{}, Answer{}, Show{}, Alarm{}, AlarmOver{}, Note{}} {
		if _, _, slow := Route(e); slow {
			t.Errorf("%T is at once", e)
		}
	}
}

// One change of each entity, in the order in which they came, but for what is saved after it was deleted: of few and of many.
func TestMergingAgainstAMap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w Write
		var want []grid.Change
		last := map[string]int{}
		for range r.IntN(8 * fewChanges) {
			key := fmt.Sprint("a.", r.IntN(3*fewChanges))
			c := grid.Saved(&grid.Record{Job: grid.Job{ID: grid.JobID(key)}, Tenure: grid.Tenure{Report: r.Uint64()}})
			if r.IntN(4) == 0 {
				c = grid.Deleted(grid.KindJob, key)
			}
			w.merge(c)
			if k, seen := last[key]; seen && want[k].Record != nil {
				want[k] = want[k].Then(c)
				continue
			}
			last[key] = len(want)
			want = append(want, c)
		}
		if len(want) != len(w.Changes) || len(want) > 0 && !reflect.DeepEqual(w.Changes, want) {
			t.Fatalf("%d changes come to %+v, not to %+v", len(want), w.Changes, want)
		}
	}
}

// What comes while a turn is written is taken in its order, whatever memory the events of before had.
func TestTheInboxKeepsItsOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	h := hosted(t, Config{}, 1000)
	var want, got []Token
	for sequence := uint64(2); len(got) < 3*MaxBatch; sequence++ {
		for range r.IntN(MaxBatch) {
			want = append(want, Token(len(want)+1))
			h.Post(CancelRequest{Token: want[len(want)-1], Job: "a.none"})
		}
		if w, ok := h.Turn(still(1001)); ok {
			for _, e := range w.Effects {
				if a, is := e.(Answer); is {
					got = append(got, a.Token)
				}
			}
			h.Written(sequence)
		}
	}
	if !reflect.DeepEqual(got, want[:len(got)]) {
		t.Errorf("taken in the order %v", got)
	}
}
