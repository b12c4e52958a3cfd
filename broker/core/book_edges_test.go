package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// notes are what is told of jobs among effects.
func notesIn(effects []Effect) (list []string) {
	for _, e := range effects {
		if n, is := e.(Note); is {
			list = append(list, n.Text)
		}
	}
	return list
}

// Another's local job names a reservation: its holder is told, once, and nobody else.
func TestAnotherIsInAReservation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	at := d.holds["r1"]
	listed := func(others ...string) []string {
		d.sent = nil
		return notesIn(d.step(ReservationsListed{All: []HeldReservation{{ID: "r1", Place: at, Others: others}}}))
	}
	if got := listed(); len(got) > 0 {
		t.Errorf("nobody is in it: %q", got)
	}
	if got := listed("17.pbs", "18.pbs"); len(got) != 1 || !strings.Contains(got[0], "17.pbs, 18.pbs") || !strings.Contains(d.disk["r1"].Reason, "17.pbs, 18.pbs") || d.disk["r1"].State != grid.Confirmed {
		t.Errorf("told is %q, on disk %+v", got, d.disk["r1"])
	}
	for _, others := range [][]string{{"17.pbs", "18.pbs"}, {"18.pbs", "17.pbs"}, {}} {
		if got := listed(others...); len(got) > 0 {
			t.Errorf("told again of %q: %q", others, got)
		}
	}
	if got := listed("18.pbs"); len(got) != 1 || strings.Contains(got[0], "17.pbs") || !strings.Contains(got[0], "18.pbs") {
		t.Errorf("one has left, and told is %q", got)
	}
	if got := notesIn(d.step(ReservationsListed{All: []HeldReservation{{ID: "r1", Place: at}, {ID: "x", Place: at, Others: []string{"19.pbs"}}}})); len(got) != 1 || !strings.Contains(got[0], "is in no book") {
		t.Errorf("of one that is in no book: %q", got)
	}
}

// A node of a reservation that is down has its holder lose it, with the node's name.
func TestANodeOfAReservationIsDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	d.step(ReservationsListed{All: []HeldReservation{{ID: "r1", Place: d.holds["r1"], Down: []grid.NodeName{"n1", "n2"}}}})
	if r := d.disk["r1"]; r.State != grid.ReservationLost || r.Reason != "its node n1 is down" {
		t.Errorf("it is %v: %s", r.State, r.Reason)
	}
}

// The operator's rules change while the broker runs.
func TestOtherRulesOfReservations(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
	d.step(ReservingChanged{Rules: reserve.Rules{Offered: false}})
	if got := d.says(d.reserveFor("r2", 3_000_000, 60_000, "n1")); len(got) != 1 || got[0].(wire.Reserved).Refusal == nil {
		t.Errorf("not offered any more: %+v", got)
	}
	d.step(ReservingChanged{Rules: reserve.Rules{Offered: true, Limit: grid.Minute}})
	if got := d.says(d.reserveFor("r3", 3_000_000, 60_000, "n1")); len(got) != 1 || got[0].(wire.Reserved).Refusal != nil {
		t.Errorf("offered again: %+v", got)
	}
}

// The wish for another place is said again while the batch system is at it: it is answered once, when that is through.
func TestAChangeThatIsSaidTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	d.sent = nil
	m := wire.Change{ID: "r1", Number: 1, Start: 3_000_000, End: 3_600_000, Move: true, Sent: 5}
	d.step(Message{her, m})
	m.Sent = 6
	d.step(Message{her, m})
	for _, said := range d.sent {
		if r, is := said.(wire.Reserved); is {
			t.Errorf("before the batch system is through it is answered %+v", r)
		}
	}
	d.work()
	n := 0
	for _, said := range d.sent {
		if r, is := said.(wire.Reserved); is && r.Of == wire.KindChange {
			if n++; r.Sent != 6 || r.Refusal != nil || r.Reservation.Start != 3_000_000 {
				t.Errorf("answered %+v", r)
			}
		}
	}
	if n != 1 || d.disk["r1"].Start != 3_000_000 {
		t.Errorf("answered %d times; on disk it starts at %d", n, d.disk["r1"].Start)
	}
}

// Wishes for other nodes wait for one look: of two by one holder the last counts, and what has gone meanwhile is told to be gone.
func TestChangesThatWaitForALook(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	d.step(Message{her, wire.Change{ID: "r1", Number: 1, Start: 2_000_000, End: 2_600_000, Move: true, Count: 2, Sent: 5}})
	d.core.reservations.moving = append(d.core.reservations.moving, pendingChange{him, wire.Change{ID: "r9", Number: 1, Sent: 8}})
	got := d.moves(wire.Change{ID: "r1", Number: 2, Start: 2_000_000, End: 2_600_000, Move: true, Count: 3, Sent: 6})
	if len(d.disk["r1"].Nodes) != 3 || d.disk["r1"].Number != 2 {
		t.Errorf("it has %v by wish %d; answered %+v", d.disk["r1"].Nodes, d.disk["r1"].Number, got)
	}
	answers := map[grid.Tick]string{}
	for _, m := range d.sent {
		if r, is := m.(wire.Reserved); is && r.Of == wire.KindChange {
			answers[r.Sent] = "done"
			if r.Refusal != nil {
				answers[r.Sent] = r.Refusal.Reason
			}
		}
	}
	if len(answers) != 2 || answers[6] != "done" || answers[8] != "it is gone" {
		t.Errorf("answered %v", answers)
	}
}

// While the batch system cannot be looked at no other nodes are found, and none are where it cannot be seen which are free.
func TestAChangeUnseen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	d.sent = nil
	d.step(Message{her, wire.Change{ID: "r1", Number: 1, Start: 2_000_000, End: 2_600_000, Move: true, Count: 2, Sent: 5}})
	d.step(Looked{Err: errors.New("it is down")})
	if r, is := d.sent[len(d.sent)-1].(wire.Reserved); !is || r.Refusal == nil || r.Refusal.Reason != noLook || len(d.disk["r1"].Nodes) != 1 {
		t.Errorf("answered %+v, it has %v", d.sent, d.disk["r1"].Nodes)
	}
}

// Others cannot have more of the site by a change than its operator leaves them; by one that moves what they have, they do not.
func TestShareOfOthersByAChange(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 1, Share: 0.6})
	for id, k := range map[grid.ReservationID]struct {
		from grid.PeerID
		node grid.NodeName
		in   grid.Tick
	}{"r1": {her, "n2", 5 * grid.Hour}, "r2": {him, "n1", 7 * grid.Hour}} {
		if m := p.wants(id, k.from, k.node, k.in, 0); m.Refusal != nil {
			t.Fatalf("%s: %+v", id, m.Refusal)
		}
	}
	start := p.c.now
	change := func(number uint64, in grid.Tick) *grid.Refusal {
		r, refusal := p.c.reservations.changedBy(her, wire.Change{ID: "r1", Number: number, Start: start + in, End: start + in + grid.Hour, Move: true}, 1)
		if refusal == nil && r.Number != number {
			t.Errorf("in %v s: %+v", in.Seconds(), r)
		}
		return refusal
	}
	if why := change(1, 6*grid.Hour+30*grid.Minute); why == nil || !strings.Contains(why.Reason, "share") {
		t.Errorf("beside that of c: %+v", why)
	}
	if why := change(1, 5*grid.Hour+30*grid.Minute); why != nil {
		t.Errorf("by itself: %+v", why)
	}
}

// A job names a reservation that is over, and would be too long for it as well: it hears that it is over, and keeps nothing bound.
func TestAJobOfAReservationThatIsOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	long := jobOf(her, "b", "1")
	long.Reservation, long.Walltime = "r1", grid.Hour
	j := &job{rec: grid.Record{Job: long}}
	if _, why := d.core.reservations.bind(j); why == nil || !strings.Contains(why.Reason, "too short") {
		t.Errorf("while it is held: %+v", why)
	}
	d.says(wire.Release{ID: "r1", Why: "not needed"})
	if _, why := d.core.reservations.bind(j); why == nil || !strings.Contains(why.Reason, "it is over") {
		t.Errorf("when it is over: %+v", why)
	}
	if got := d.core.reservations.reserved("r1", plan.Question{Limit: 1}); got.Refusal == nil {
		t.Errorf("it would start in %v", got.Wait)
	}
}

// The job of a reservation goes back to its home: it is its holder's again; that of a part is over. So it is when its job has ended, not before,
// and of another job that is over nothing changes.
func TestAReservationWhoseJobLeaves(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Record)
		want   grid.ReservationState
	}{
		"it waits":        {func(r *grid.Record) { r.State = grid.Assigned }, grid.Bound},
		"it runs":         {func(r *grid.Record) { r.State, r.Started = grid.Running, 5 }, grid.Active},
		"it has ended":    {func(r *grid.Record) { r.State = grid.StageOut }, grid.Released},
		"it is collected": {func(r *grid.Record) { r.State = grid.Finished }, grid.Released},
		"it has gone":     {func(r *grid.Record) { r.Role, r.State = grid.Tombstone, grid.Assigned }, grid.Confirmed},
		"a part has gone": {func(r *grid.Record) {
			r.Role, r.State, r.Job.Part = grid.Tombstone, grid.Assigned, &grid.Part{Of: "b.0"}
		}, grid.Released},
		"it never came":     {func(r *grid.Record) { r.Role, r.State = grid.Declined, grid.Moving }, grid.Released},
		"another has ended": {func(r *grid.Record) { r.Job.ID, r.State = jobOf(her, "b", "2").ID, grid.StageOut }, grid.Bound},
	} {
		d := newDesk(t, 1)
		d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1"))
		d.says(wire.Confirm{ID: "r1"})
		of := jobOf(her, "b", "1")
		of.Reservation, of.User.Name = "r1", d.disk["r1"].Holder.Name
		j := &job{rec: grid.Record{Job: of, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}}}
		if _, why := d.core.reservations.bind(j); why != nil {
			t.Fatalf("%s: %+v", name, why)
		}
		k.change(&j.rec)
		d.core.reservations.jobSaved(j)
		if r, _ := d.core.reservations.book.Get("r1"); r.State != k.want {
			t.Errorf("%s: the reservation is %v: %s", name, r.State, r.Reason)
		}
	}
}

// The budget of a user is taken out of the file: nothing of it stays in the journal, but for what is in liens.
func TestABudgetThatIsTakenAway(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	m := newBudgets(k)
	a := steppedAlone(t, k, o, m)
	deleted := func(e BudgetsChanged) (users []string) {
		for _, e := range a.stepper.step(a.now, e) {
			if s, is := e.(Save); is && s.Change.Record == nil {
				users = append(users, s.Change.Key)
			}
		}
		return users
	}
	deleted(BudgetsChanged{Granted: map[string]grid.Amount{"alice": 20_000, "bob": 5}})
	if why := m.lienFor(k.jobs[j.ID], &grid.Candidate{Peer: her, Price: 1}); why != nil {
		t.Fatal(why)
	}
	if got := deleted(BudgetsChanged{}); fmt.Sprint(got) != "[bob]" {
		t.Errorf("gone are %v", got)
	}
}

// A job that may cost more than its user has is refused when it is handed in: for good, or until the liens of others are lifted.
func TestAJobBeyondTheBudget(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		granted, liens grid.Amount
		want           error
	}{"too little": {1, 0, grid.ErrInvalid}, "too much is in liens": {1_000_000_000, 999_999_999, grid.ErrNotYet}, "enough": {1_000_000_000, 0, nil}} {
		other, j := jobOf(me, "a", "2"), jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Granted = map[string]grid.Amount{"alice": k.granted}
		if k.liens > 0 {
			cfg.Budgets = []grid.Budget{{User: "alice", Granted: k.granted, Liens: []grid.Lien{{Job: other.ID, Amount: k.liens, Rate: 1, Cores: 1}}}}
		}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: other, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}},
		}})
		begin(c)
		j.Terms.Fee = 7
		a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: j}))
		if !errors.Is(a.Err, k.want) || (c.job(j.ID) == nil) != (k.want != nil) {
			t.Errorf("%s: %v", name, a.Err)
		}
	}
}

// So many reservations are being asked for that one more has to wait; which are asked for is known by their names.
func TestTooManyReservationsAreAskedFor(t *testing.T) {
	t.Parallel()
	m, a := holder(t)
	for n := range maxHoldingAsks - 1 {
		m.asks[grid.ReservationID(fmt.Sprint("x", n))] = &holdingAsk{to: her, m: wire.Release{}, until: a.now + grid.Day, again: a.now + grid.Day}
	}
	a.want(ReserveRequest{Token: 1, To: her, Reserve: wire.Reserve{ID: "r1"}}, "Reserve>b")
	effects := a.stepper.step(a.now, ReserveRequest{Token: 2, To: her, Reserve: wire.Reserve{ID: "r2"}})
	if answer, is := only[Answer](effects); !is || !errors.Is(answer.Err, grid.ErrUnavailable) || m.asks["r2"] != nil {
		t.Errorf("answered %+v", effects)
	}
}

// A reservation ends while its site is asked to change it: its holder hears that, and not that it was changed.
func TestAChangeOfWhatIsOver(t *testing.T) {
	t.Parallel()
	m, a := holder(t, grid.Reservation{ID: "r1", Site: her, State: grid.Confirmed, Start: 1_500_000, End: 2_000_000, Holder: grid.User{Home: me, Name: "alice"}})
	a.want(ChangeRequest{Token: 3, ID: "r1", Start: 1_600_000}, "Change>b")
	over := grid.Reservation{ID: "r1", State: grid.Released, Reason: "its job has ended", Seq: 4, Start: 1_600_000, End: 2_100_000, Holder: grid.User{Home: me, Name: "alice"}}
	effects := a.stepper.step(a.now+20, Message{her, wire.Reserved{Of: wire.KindChange, Reservation: over}})
	answer, is := only[Answer](effects)
	if !is || !errors.Is(answer.Err, grid.ErrNotYet) || !strings.Contains(answer.Err.Error(), "its job has ended") || m.all["r1"].State != grid.Released {
		t.Errorf("answered %+v; it is %v", answer, m.all["r1"].State)
	}
}
