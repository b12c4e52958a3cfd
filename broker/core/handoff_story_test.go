package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// crashed is how long a site of a transcript is down.
const crashed = 3 * grid.Second

// waits is a world in which a job of a's, too large for a, waits at b and could start
// at once at c.
func waits(t *testing.T) (w *world, story func(question string) *transcript, id grid.JobID) {
	w, a, b, c := three(t)
	w.hand(b, "2", 4, false)
	other := w.hand(c, "3", 4, false)
	w.until("b and c are busy", func() bool { return c.journal[other].State == grid.Running })
	id = w.hand(a, "1", 2, true)
	w.until("it waits", a.is(id, grid.Assigned))
	if w.byPeer[a.journal[id].Owner] != b {
		t.Fatalf("it waits at %s", a.journal[id].Owner)
	}
	w.run(w.now+6*grid.Second, nil) // the cool-down
	return w, func(question string) *transcript {
		s := recordWorld(w, question)
		s.does("the job at c is cancelled: c is free", func() { c.step(CancelRequest{Token: 2, Job: other, By: "root"}) })
		return s
	}, id
}

// A handoff by an owner that is not the home, told from the moment at which another
// site is free: as it should be, and with a crash right after each thing that one
// of the two sites does for it.
func TestHandoffTold(t *testing.T) {
	t.Parallel()
	saved := func(name grid.SiteName, is func(*grid.Record) bool) func(*site, Effect) bool {
		return func(s *site, e Effect) bool {
			save, ok := e.(Save)
			id, r, _ := save.Change.Job()
			return ok && s.name == name && r != nil && id.Site() == "a" && is(r)
		}
	}
	phase := func(p grid.HandoffPhase) func(*grid.Record) bool {
		return func(r *grid.Record) bool { return r.Handoff.Phase == p }
	}
	role := func(s grid.Role) func(*grid.Record) bool {
		return func(r *grid.Record) bool { return r.Role == s }
	}
	for _, c := range []struct {
		name, question string
		dies           func(*site, Effect) bool
	}{
		{"handoff", `A job waits at b, and c could start it at once. How does it move, who is told, and when does it
			leave the queue of b?`, nil},
		{"handoff-owner-offered", "The owner crashes when it has offered the job. What becomes of the offer?", saved("b", phase(grid.Offering))},
		{"handoff-candidate-prepared", "The candidate crashes when it has the job PREPARED. Does the owner learn of it?", saved("c", role(grid.Prepared))},
		{"handoff-owner-withdrawn", `The owner crashes while its attempt is being withdrawn: the token is taken, and it does not
			know. Is the job handed over, and started once?`,
			func(s *site, e Effect) bool {
				w, ok := e.(Withdraw)
				return ok && s.name == "b" && w.ID.Job.Site() == "a"
			}},
		{"handoff-owner-committed", "The owner crashes at the commit point, before Commit has left. Who has the job?", saved("b", phase(grid.Committed))},
		{"handoff-candidate-owned", "The candidate crashes when it has the job OWNED, before it was submitted. Is it started, once?",
			saved("c", role(grid.Owning))},
		{"handoff-owner-tombstone", "The former owner crashes when it has heard that the job is owned, before the home was told.",
			saved("b", func(r *grid.Record) bool { return r.Role == grid.Tombstone && r.Handoff.Phase == grid.NoHandoff })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, tell, id := waits(t)
			story := tell(c.question)
			w.dies = c.dies
			a := w.sites[0]
			w.until("it runs", a.is(id, grid.Running))
			w.run(w.now+10*grid.Second, nil)
			if w.dies != nil {
				t.Error("nobody has crashed")
			}
			if n := len(w.starts[id]); n != 1 {
				t.Errorf("started %d times", n)
			}
			if r := w.sites[1].journal[id]; r.Role == grid.Tombstone && r.Telling {
				t.Error("the former owner still tells the home")
			}
			story.check(t, c.name)
		})
	}
}

// A handoff of a job without files costs each side at most two commits of its journal
// and four messages to the other, until it is owned.
func TestWhatAHandoffCosts(t *testing.T) {
	t.Parallel()
	w, tell, id := waits(t)
	b, c := w.sites[1], w.sites[2]
	commits, messages := map[*site]int{}, map[*site]int{}
	last := map[*site]grid.Tick{}
	w.dies = func(s *site, e Effect) bool { // nobody does
		switch e := e.(type) {
		case Save:
			if c.journal[id].Local == "" && e.Change.Key == string(id) && last[s] != w.now { // one step is one commit
				last[s] = w.now
				commits[s]++
			}
		case Send:
			other := map[*site]grid.PeerID{b: c.peer, c: b.peer}[s]
			switch e.Message.(type) {
			case wire.EstimateRequest, wire.EstimateReply, wire.Seen:
			default:
				if e.To == other {
					messages[s]++
				}
			}
		}
		return false
	}
	tell("what does it cost?")
	w.until("it runs at c", c.is(id, grid.Running))
	for _, s := range []*site{b, c} {
		t.Logf("%s: %d commits, %d messages", s.name, commits[s], messages[s])
		if commits[s] < 2 || commits[s] > 2 || messages[s] < 2 || messages[s] > 4 {
			t.Errorf("%s needs %d commits and %d messages", s.name, commits[s], messages[s])
		}
	}
}
