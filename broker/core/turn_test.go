package core

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// turned is a change of a role at the home of a job or elsewhere; then of a phase.
type turned struct {
	home     bool
	from, to grid.Role
}

type entered struct{ from, to grid.HandoffPhase }

// Each change of the tables of roles and phases comes by what brokers say and do, and these are all.
func TestEachChangeOfTheTablesOccurs(t *testing.T) {
	t.Parallel()
	own, hers := jobOf(me, "a", "1"), jobOf(her, "b", "1")
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	id := func(j grid.Job, hop uint32, to grid.PeerID) wire.HandoffID {
		return wire.HandoffID{Job: j.ID, Epoch: at(hop), To: to, Digest: wire.JobDigest(j)}
	}
	offered := func(phase grid.HandoffPhase, attempt uint32) *grid.Record {
		r := &grid.Record{Job: own, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at(0)}, Run: grid.Run{Attempt: attempt}}
		if phase != grid.NoHandoff {
			r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: phase, To: her, Epoch: at(1)}
		}
		return r
	}
	watched := func(role grid.Role, phase grid.HandoffPhase) *grid.Record {
		to := grid.Handoff{Phase: phase, To: her, Epoch: at(1)}
		if role == grid.Prepared {
			to = grid.Handoff{To: me, Epoch: at(2)}
		}
		return &grid.Record{Job: own, State: grid.Assigned, Tenure: grid.Tenure{
			Role: role, Owner: her, Epoch: at(1), Handoff: to, Certificates: []grid.Certificate{certificate(own, me, 1, her)},
		}}
	}
	foreign := func(role grid.Role, owner grid.PeerID, last uint32, to grid.Handoff) *grid.Record {
		r := &grid.Record{Job: hers, State: grid.Moving, Tenure: grid.Tenure{Role: role, Owner: owner, Epoch: at(last), Handoff: to}}
		if last > 0 {
			r.Certificates = []grid.Certificate{certificate(hers, her, 1, me), certificate(hers, me, last, him)}[:last]
		}
		return r
	}
	back := wire.Offer{Handoff: id(own, 2, me), Job: own.Abroad(), Wait: grid.Hour, Certificates: []grid.Certificate{certificate(own, me, 1, her)}}
	ready, withdrawn := wire.Ready{Handoff: id(own, 1, her)}, Withdrawn{ID: grid.AttemptID{Job: own.ID, Epoch: at(0), Attempt: 1}, Done: true}
	roles, phases := map[turned]bool{}, map[entered]bool{}
	for name, k := range map[string]struct {
		before *grid.Record
		event  Event
	}{
		"it is handed in":                     {nil, Submit{Job: own}},
		"it is learnt again":                  {nil, Message{her, wire.Recalled{Job: own, Epoch: at(1), Owning: true, Certificates: back.Certificates}}},
		"it is offered to an idle site":       {offered(grid.NoHandoff, 0), nil},
		"the candidate refuses":               {offered(grid.Offering, 0), Message{her, wire.Refuse{Handoff: ready.Handoff}}},
		"the candidate is ready":              {offered(grid.Offering, 0), Message{her, ready}},
		"it waits here, and he is ready":      {offered(grid.Offering, 1), Message{her, ready}},
		"what waited here is withdrawn":       {offered(grid.Withdrawing, 1), withdrawn},
		"what waited here has started":        {offered(grid.Withdrawing, 1), Progressed{Progress: grid.Progress{ID: withdrawn.ID, Phase: grid.Started, Started: 5}}},
		"he owns it":                          {watched(grid.Watching, grid.Committed), Message{her, wire.Owned{Handoff: ready.Handoff, Owner: her}}},
		"he declined it":                      {watched(grid.Watching, grid.Committed), Message{her, wire.Declined{Handoff: ready.Handoff}}},
		"it is offered back":                  {watched(grid.Watching, grid.NoHandoff), Message{her, back}},
		"it is given back":                    {watched(grid.Prepared, grid.NoHandoff), Message{her, wire.Commit{Handoff: back.Handoff, Certificate: certificate(own, her, 2, me)}}},
		"it stays with him":                   {watched(grid.Prepared, grid.NoHandoff), Message{her, wire.Abort{Handoff: back.Handoff}}},
		"another offers it":                   {nil, Message{her, offerOf(hers, 1, grid.Hour)}},
		"another gives it":                    {foreign(grid.Prepared, her, 0, grid.Handoff{To: me, Epoch: at(1)}), Message{her, wire.Commit{Handoff: id(hers, 1, me), Certificate: certificate(hers, her, 1, me)}}},
		"it was here, and is offered no more": {foreign(grid.Prepared, her, 2, grid.Handoff{To: me, Epoch: at(3)}), Message{her, wire.Abort{Handoff: id(hers, 3, me)}}},
		"who offered it forgot it":            {foreign(grid.Prepared, him, 0, grid.Handoff{To: me, Epoch: at(1)}), Message{him, wire.InquireReply{Handoff: id(hers, 1, me), Verdict: wire.VerdictUnknown}}},
		"it goes on":                          {foreign(grid.Owning, me, 1, grid.Handoff{Phase: grid.Offering, To: him, Epoch: at(2)}), Message{him, wire.Ready{Handoff: id(hers, 2, him)}}},
		"it comes back":                       {foreign(grid.Tombstone, him, 2, grid.Handoff{Phase: grid.Committed, To: him, Epoch: at(2)}), Message{him, wire.Declined{Handoff: id(hers, 2, him)}}},
		"it was here, and is offered again":   {foreign(grid.Tombstone, him, 2, grid.Handoff{To: him, Epoch: at(2)}), Message{her, offerOf(hers, 3, grid.Hour)}},
		"it was declined, and is offered":     {foreign(grid.Declined, her, 0, grid.Handoff{To: me, Epoch: at(1)}), Message{her, offerOf(hers, 2, grid.Hour)}},
	} {
		c, job := signed(), own.ID
		c.members[her].told = k.before != nil // else what she claims has ended
		var was grid.Record
		if was = turnedFrom(c, k.before); was.Job.Home == her || strings.HasPrefix(name, "another") {
			job = hers.ID
		}
		if k.event == nil {
			c.ownership.makeOffer(c.jobs[job], her, 0, 1)
		} else {
			c.Step(c.now+1, k.event)
			c.Step(c.now+1, shot(c.now+1))
		}
		if c.failed != nil || c.jobs[job] == nil {
			t.Errorf("%s: %v, of %v", name, c.failed, c.jobs[job])
			continue
		}
		is := c.jobs[job].rec
		roles[turned{is.Job.Home == me, was.Role, is.Role}] = true
		phases[entered{was.Handoff.Phase, is.Handoff.Phase}] = true
	}
	for _, home := range []bool{true, false} {
		for from := range grid.Declined + 1 {
			for to := range grid.Declined + 1 {
				if is := from.CanBecome(to, home); from != to && is != roles[turned{home, from, to}] {
					t.Errorf("%v to %v, at home %v: in the table %v, seen %v", from, to, home, is, !is)
				}
			}
		}
	}
	for from := range grid.Committed + 1 {
		for to := range grid.Committed + 1 {
			if is := from.CanBecome(to); from != to && is != phases[entered{from, to}] {
				t.Errorf("%v to %v: in the table %v, seen %v", from, to, is, !is)
			}
		}
	}
}

// turnedFrom has a Core take a record as it stands in the midst of its life.
func turnedFrom(c *Core, r *grid.Record) grid.Record {
	if r == nil {
		return grid.Record{}
	}
	j := &job{rec: *r, ofTenure: ofTenure{heard: c.now}, ofOwnership: ofOwnership{began: c.now}, ofPrepared: ofPrepared{inputsHere: true}, ofHome: ofHome{homeHeard: c.now}}
	c.take(j)
	return *r
}

// A change that a table lacks ends this Core.
func TestAChangeOfRoleThatIsNotInTheTableFails(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for want, change := range map[string]func(c *Core, k *job){
		"is owning, and cannot become tombstone": func(c *Core, k *job) { c.turn(k, grid.Tombstone) },
		"is none, and cannot become committed":   func(c *Core, k *job) { c.enter(k, grid.Committed) },
		"is owning, and cannot become declined":  func(c *Core, k *job) { c.beginTenure(k, grid.Tenure{Role: grid.Declined}, grid.Run{}) },
	} {
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		change(c, c.jobs[j.ID])
		if f, failed := only[Fail](c.Step(1_000_001, Tick{})); !failed || !strings.Contains(f.Err.Error(), want) {
			t.Errorf("%s: it goes on: %v", want, f.Err)
		}
	}
}

// Nothing but tenure.go writes a role, a phase, or a tenure as a whole.
func TestTenuresChangeInOnePlace(t *testing.T) {
	t.Parallel()
	fields := []string{"Role", "Phase", "Tenure", "Handoff"}
	eachNode(t, "tenure.go", func(n ast.Node, at func(ast.Node) token.Position) {
		a, is := n.(*ast.AssignStmt)
		if !is {
			return
		}
		for _, left := range a.Lhs {
			if s, is := left.(*ast.SelectorExpr); is && slices.Contains(fields, s.Sel.Name) {
				t.Errorf("%v writes a %s", at(left), s.Sel.Name)
			}
		}
	})
}
