package core

import (
	"errors"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// An answer that does not fit its question counts as one, once, and its site is refused for that.
func TestAnAnswerThatDoesNotFit(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: owned()})
	m := &search{kernel: k, budgets: o, estimator: o, execution: o, gates: o, ownership: o, terms: o}
	a := steppedAlone(t, k, o, m)
	m.undecide(k.jobs[j.ID])
	a.want(Tick{}, "EstimateRequest>b, EstimateRequest>c, look")
	m.noOwnAnswer(forNow("there is no listing"))
	bad := wire.EstimateReply{Round: k.rounds, Site: grid.Site{Speed: 1}, Answers: []wire.Answer{{Job: "a.other"}, {Job: j.ID}}}
	good := bad
	good.Answers = []wire.Answer{{Job: j.ID}}
	r := m.round
	a.want(Message{her, bad}, "Note")
	a.want(Message{her, good}, "")
	if got := r.replies[her]; got.missing == nil || got.missing.Reason != badAnswer || r.waiting != 1 {
		t.Errorf("it is %+v, and %d are waited for", got.missing, r.waiting)
	}
	good.Answers[0].Estimate.Wait = grid.Hour
	a.want(Message{him, good}, "makeOffer 1 peer-c")
}

// A look that fails puts a pass off for as long as it is to settle, if one was wanted.
func TestAPassWithoutALook(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{false, true} {
		c := bare()
		m, k := c.search, c.kernel
		k.cfg.Settle, m.passes.wanted = grid.Minute, wanted
		k.disarmGeneral(passDue)
		m.noPass()
		due := k.timers.general[passDue-concerns]
		if (due >= k.now+grid.Minute) != wanted || (due == 0) == wanted || m.passes.wanted {
			t.Errorf("wanted %t: due at %d, wanted still %t", wanted, due, m.passes.wanted)
		}
	}
}

// A home hears by a word of a move that its job is of another version there: it asks who owns it for that, and no one else.
func TestAMoveTellsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	other := j
	other.Walltime *= 2
	for name, k := range map[string]struct {
		of   grid.Job
		from grid.PeerID
		asks bool
	}{"of the owner": {other, him, true}, "of who gave it away": {other, her, false}, "of the same": {j, him, false}} {
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}})
		proof := []grid.Certificate{certificate(k.of, me, 1, her), certificate(k.of, her, 2, him)}
		asks := false
		for _, m := range sentTo(c.Step(c.now+1, Message{k.from, wire.Moved{Job: j.ID, Version: wire.JobDigest(k.of), Certificates: proof}}), k.from) {
			asks = asks || m.Kind() == wire.KindRecall
		}
		if asks != k.asks || c.jobs[j.ID].sum() != wire.JobDigest(k.of) {
			t.Errorf("%s: asked for it %t, its version is the other one: %t", name, asks, c.jobs[j.ID].sum() == wire.JobDigest(other))
		}
	}
}

// A reservation that grows gets whole nodes of at least as many cores as those it has, which it keeps, the smallest first.
func TestAReservationGrowsByLikeNodes(t *testing.T) {
	t.Parallel()
	o := &others{}
	m := newReservations(kernelOf(o))
	m.estimator, m.gates = o, o
	m.take(nil)
	s := shot(m.now).Snapshot
	s.Nodes = nil
	for _, n := range []plan.Node{{Name: "has", Cores: 4}, {Name: "small", Cores: 2}, {Name: "big", Cores: 16}, {Name: "like", Cores: 4}, {Name: "part", Cores: 8}} {
		s.Nodes = append(s.Nodes, n)
		m.nodes[n.Name] = n
	}
	s.Running = []plan.Running{{Start: 1, End: m.now + grid.Day, Shares: []plan.Share{{Node: 4, Processes: 4, Cores: 4}}}}
	r := &grid.Reservation{ID: "r", Nodes: []grid.NodeName{"has"}}
	for count, want := range map[int][]grid.NodeName{1: {"has"}, 2: {"has", "like"}, 3: {"big", "has", "like"}, 4: nil} {
		got, why := m.nodesFor(s, r, wire.Change{ID: "r", Start: m.now, End: m.now + grid.Hour, Count: count})
		if !slices.Equal(got, want) || (why != nil) != (want == nil) || why != nil && (why.Asked != "4" || why.Available != "3") {
			t.Errorf("%d nodes: %v, %+v", count, got, why)
		}
	}
}

// An error that says nothing is one all the same.
func TestAnErrorWithoutAWord(t *testing.T) {
	t.Parallel()
	for err, local := range map[error]grid.LocalID{nil: "l", errors.New(""): ""} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Assigned, Submitted: 1_000_000, Run: grid.Run{Attempt: 1}, Tenure: owned()})
		k := c.jobs[j.ID]
		c.Step(1_000_001, Launched{ID: grid.AttemptID{Job: j.ID, Epoch: k.rec.Epoch, Attempt: 1}, Local: "l", Err: err, Kind: grid.Temporary})
		if k.rec.Local != local {
			t.Errorf("with the error %#v it is %q in the batch system", err, k.rec.Local)
		}
	}
}
