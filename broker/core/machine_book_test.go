package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// The machines that keep what users were promised, each stepped alone (see machine_test.go).

func (o *others) safe() *plan.Plan                                          { return nil }
func (o *others) unreserved(of grid.JobID, why string)                      { o.did("unreserved %s %s", of, why) }
func (o *others) get(_ grid.ReservationID) (r grid.Reservation, known bool) { return }

// termsAlone has gates that ask the machine itself what its terms say.
func termsAlone(t *testing.T, o *others, records ...grid.Record) (*terms, *alone) {
	k := kernelOf(o, records...)
	m := newTerms(k)
	k.watcher = m
	o.gates.terms = m
	m.execution, m.gates, m.home, m.ownership, m.search = o, o.gates, o, o, o
	a := steppedAlone(t, k, o, m)
	m.recover()
	return m, a
}

// A job is held and released at its home, waits for an instant, and is too late for a deadline.
func TestTermsAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	owned := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
	m, a := termsAlone(t, o, grid.Record{Job: j, State: grid.Ready, Tenure: owned})
	yes, no := true, false
	a.want(Alter{Token: 1, Job: j.ID, To: grid.Alteration{Held: &yes}, By: "alice"}, "Save, Save, Answer")
	if got := m.keepsBack(m.jobs[j.ID]); got != untilReleased {
		t.Fatalf("held it is kept %v", got)
	}
	soon := a.now + grid.Minute
	a.want(Alter{Token: 2, Job: j.ID, To: grid.Alteration{Held: &no, NotBefore: &soon}, By: "alice"}, "Save, Save, Answer")
	if got := m.keepsBack(m.jobs[j.ID]); got != untilInstant {
		t.Fatalf("before its time it is kept %v", got)
	}
	a.now = soon
	a.want(Tick{}, "Save, undecide 1")
	late := a.now + grid.Hour
	a.want(Alter{Token: 3, Job: j.ID, To: grid.Alteration{Deadline: &late}, By: "alice"}, "Save, Answer, undecide 1")
	a.now = late
	a.want(Tick{}, "endOverdue 1")
}

// A job waits for another: it goes when that has ended well.
func TestDependenciesAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	first, second := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	second.Terms.After = []grid.Dependency{{Kind: grid.AfterOK, On: string(first.ID)}}
	owned := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}
	m, a := termsAlone(t, o, grid.Record{Job: first, State: grid.Ready, Tenure: owned}, grid.Record{Job: second, State: grid.Ready, Tenure: owned})
	a.want(Tick{}, "")
	if got := m.keepsBack(m.jobs[second.ID]); got != untilOthers {
		t.Fatalf("it is kept %v", got)
	}
	ended := m.jobs[first.ID]
	ended.rec.State, ended.rec.End, ended.rec.Owner = grid.Completed, grid.Completed, me
	m.saved(ended)
	a.want(Tick{}, "Save, undecide 2")
	if got := m.keepsBack(m.jobs[second.ID]); got != notKept {
		t.Errorf("it is kept %v", got)
	}
}

// The owner of a job of another home heeds what the home wants of it.
func TestTermsOfAnOwnerAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(her, "b", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	_, a := termsAlone(t, o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch}})
	a.want(Message{him, wire.ReportAck{Job: j.ID, Epoch: epoch, Back: true}}, "") // not its home
	a.want(Message{her, wire.ReportAck{Job: j.ID, Epoch: epoch, Back: true}}, "makeOffer 1 peer-b")
}

// A site makes, keeps, gives up and loses a reservation: the batch system is asked before the holder is told.
func TestReservationsAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	k.cfg.Reserving = reserve.Rules{Offered: true, Limit: grid.Minute}
	m := newReservations(k)
	m.estimator, m.execution, m.gates = o, o, o
	m.take(nil)
	a := steppedAlone(t, k, o, m)
	a.want(Boot{}, "Uplink, ListReservations")
	a.want(shot(a.now), "")
	place := grid.Place{Nodes: []grid.NodeName{"n"}, Start: 2_000_000, End: 3_000_000}
	ask := wire.Reserve{
		ID: "r1", Holder: grid.User{Home: her, Name: "alice"}, For: "b.1", What: grid.NodesReserved, Nodes: place.Nodes,
		From: place.Start, Until: place.End, Length: place.End - place.Start, Limit: grid.Minute,
	}
	a.want(Message{him, ask}, "Reserved>c") // of nobody of his
	a.want(Message{her, ask}, "Save, Reserve")
	a.want(Reserved{ID: "r1", Place: place}, "Reserved>b, Save")
	a.want(Message{him, wire.Confirm{ID: "r1"}}, "Reserved>c")
	a.want(Message{her, wire.Confirm{ID: "r1"}}, "Reserved>b, Save")
	if r, _ := m.book.Get("r1"); r.State != grid.Confirmed {
		t.Fatalf("it is %v", r.State)
	}
	a.want(ReservationsListed{}, "Save, Unreserve, ReservationWord>b, unreserved b.1 its reservation r1 is LOST: the batch system does not have it any more")
	lost, _ := m.book.Get("r1")
	a.want(Message{her, wire.ReservationAck{ID: "r1", Seq: lost.Seq + 1}}, "") // that was never told
	a.want(Message{her, wire.ReservationAck{ID: "r1", Seq: lost.Seq}}, "Save")
	a.want(Unreserved{ID: "r1"}, "Save")
	a.now += grid.Hour
	a.want(Tick{}, "ListReservations, Save")
	if _, known := m.book.Get("r1"); known {
		t.Error("it is in the book for ever")
	}
}

// A user's wish at another site: asked, confirmed, answered; a word of what becomes of it is acknowledged.
func TestHoldingsAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	m := newHoldings(k)
	m.reservations = o
	a := steppedAlone(t, k, o, m)
	is := grid.Reservation{ID: "r1", Site: her, Holder: grid.User{Home: me, Name: "alice"}, State: grid.Tentative, Seq: 1, Start: a.now + grid.Hour, End: a.now + 2*grid.Hour}
	a.want(ReserveRequest{Token: 1, To: her, Reserve: wire.Reserve{ID: "r1", Holder: is.Holder}}, "Reserve>b")
	a.want(ReserveRequest{Token: 2, To: her, Reserve: wire.Reserve{ID: "r1", Holder: is.Holder}}, "Answer") // there is one
	a.want(Message{him, wire.Reserved{Of: wire.KindReserve, Reservation: is}}, "")                          // it was not asked
	a.want(Message{her, wire.Reserved{Of: wire.KindReserve, Reservation: is}}, "Save, Confirm>b")
	a.now += k.cfg.Retry
	a.want(Tick{}, "Confirm>b")
	is.State, is.Seq = grid.Confirmed, 2
	a.want(Message{her, wire.Reserved{Of: wire.KindConfirm, Reservation: is}}, "Save, Answer")
	is.State, is.Seq = grid.Expired, 3
	a.want(Message{her, wire.ReservationWord{Reservation: is}}, "Save, ReservationAck>b")
	other := is
	other.ID, other.State = "r2", grid.Tentative
	a.want(Message{her, wire.ReservationWord{Reservation: other}}, "Release>b") // nobody here knows it
	other.ID, other.State = "r3", grid.Confirmed
	a.want(Message{her, wire.ReservationWord{Reservation: other}}, "Save, ReservationAck>b") // nor this, of which a user was told
	a.want(ReleaseRequest{Token: 3, ID: "r4"}, "Answer")                                     // no more does he
}

// A wish that nobody answers is given up, there too.
func TestASilentSiteOfHoldings(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	m := newHoldings(k)
	m.reservations = o
	a := steppedAlone(t, k, o, m)
	a.want(ReserveRequest{Token: 1, To: her, Reserve: wire.Reserve{ID: "r1"}}, "Reserve>b")
	a.now += holdingLimit
	a.want(Tick{}, "Release>b, Answer")
	a.now += holdingLimit
	a.want(Tick{}, "")
}

// A lien is placed on what a job may cost, and settled by what it used.
func TestBudgetsAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	m := newBudgets(k)
	a := steppedAlone(t, k, o, m)
	a.want(Boot{}, "")
	a.want(BudgetsChanged{Granted: map[string]grid.Amount{"alice": grid.Amount(20_000)}}, "Save")
	dear, fair := &grid.Candidate{Peer: her, Price: 100}, &grid.Candidate{Peer: her, Price: 1} // for a core and a minute
	if why := m.lienFor(k.jobs[j.ID], dear); why == nil || why.Kind != grid.Temporary {
		t.Errorf("what it cannot pay is refused as %+v", why)
	}
	if why := m.lienFor(k.jobs[j.ID], fair); why != nil {
		t.Fatalf("what it can pay is refused: %+v", why)
	}
	inLiens := func() grid.Amount { is, _ := m.book.Get("alice"); return is.InLiens() }
	a.want(BudgetsChanged{Granted: map[string]grid.Amount{"alice": 20_000}}, "")
	if inLiens() != 16_667 {
		t.Errorf("%d are in liens", inLiens())
	}
	r := &k.jobs[j.ID].rec
	r.Role, r.Owner, r.State, r.End, r.Started, r.Finished = grid.Watching, her, grid.Completed, grid.Completed, a.now, a.now+36*grid.Second
	m.jobSaved(k.jobs[j.ID])
	if is, _ := m.book.Get("alice"); is.Spent != 10_000 || inLiens() != 0 {
		t.Errorf("after 36 s of the 60 it has spent %d, and %d are in liens", is.Spent, inLiens())
	}
}

// The lien of a job that no record is of is lifted by a start.
func TestBudgetsAfterAStart(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	k.cfg.Granted = map[string]grid.Amount{"alice": 100}
	k.cfg.Budgets = []grid.Budget{{User: "alice", Granted: 100, Liens: []grid.Lien{{Job: "a.9", Amount: 40, Rate: 1, Cores: 1}}}}
	m := newBudgets(k)
	steppedAlone(t, k, o, m).want(Boot{}, "Save")
	if is, _ := m.book.Get("alice"); is.InLiens() != 0 || is.Spent != 0 {
		t.Errorf("%d are in liens, %d spent", is.InLiens(), is.Spent)
	}
}
