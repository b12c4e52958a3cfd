package core

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// alone steps one machine of a site over a kernel of its own.
type alone struct {
	stepper
	*others
	t   *testing.T
	now grid.Tick
}

// kernelOf is that of site a, whose members are b and c, both alive.
func kernelOf(o *others, records ...grid.Record) *kernel {
	k := newKernel(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}},
		[]grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}})
	k.reporter, k.watcher, k.budgets, k.reserver, k.now = o, o, o, o, 1_000_000
	o.gates = &gates{kernel: k, ownership: o, recovery: o, terms: o}
	for _, m := range k.members {
		m.live, m.heard, m.told = grid.Alive, true, true
	}
	for _, r := range records {
		k.take(&job{rec: r})
	}
	return k
}

func steppedAlone(t *testing.T, k *kernel, o *others, m machine) *alone {
	return &alone{stepper: stepper{k, routesOf(m)}, others: o, t: t, now: 1_000_000}
}

// step gives what the machine did: effects by their types (messages by theirs), then what it
// asked of the others, without mere questions.
func (a *alone) step(ev Event) string {
	a.t.Helper()
	a.now += 10
	var did []string
	for _, e := range a.stepper.step(a.now, ev) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "core.")
		if s, is := e.(Send); is {
			name = strings.TrimPrefix(fmt.Sprintf("%T", s.Message), "wire.") + ">" + string(a.siteName(s.To))
		}
		did = append(did, name)
	}
	for _, s := range a.take() {
		word, _, _ := strings.Cut(s, " ")
		if !slices.Contains([]string{"beforeStart", "beforeHandingOn", "beforeCancel", "saw", "mark", "unsure", "recounting", "refusedHere", "mayHandOn", "question", "starting", "unwelcome", "usedBy", "mayLack", "whole", "hasSeen"}, word) {
			did = append(did, strings.NewReplacer("a.0000000000000000000000000", "", "b.0000000000000000000000000", "").Replace(s))
		}
	}
	return strings.Join(did, ", ")
}

func (a *alone) want(ev Event, want string) {
	a.t.Helper()
	if got := a.step(ev); got != want {
		a.t.Errorf("%T %+v:\n got %s\nwant %s", ev, ev, got, want)
	}
}

// planOf is a plan of the site with four idle cores.
func planOf(k *kernel, now grid.Tick) *batch {
	return (&estimator{kernel: k}).newForecast(shot(now).Snapshot).batch()
}

// A candidate takes a job, and launches it when it is its own.
func TestOwnershipAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	m := &ownership{kernel: k, estimator: &estimator{kernel: k}, execution: o, gates: o, home: o, recovery: o, search: o, terms: o}
	a := steppedAlone(t, k, o, m)
	j := jobOf(her, "b", "1")
	offer := offerOf(j, 1, grid.Hour)
	a.want(Message{her, offer}, "Look, read, tracesOf")
	m.considerOffer(m.takeOffers()[0], planOf(k, a.now), shot(a.now).Snapshot, &allowance{})
	o.take()
	if r := k.jobs[j.ID].rec; r.Role != grid.Prepared || r.Owner != her {
		t.Fatalf("it is %s, of %s", r.Role, r.Owner)
	}
	a.want(Message{him, wire.Commit{Handoff: offer.Handoff}}, "Error>c") // he did not offer it
	a.want(Message{her, wire.Commit{Handoff: offer.Handoff}}, "Publish, Owned>b, launch 1 owned; submitted here")
	a.want(Message{her, wire.Commit{Handoff: offer.Handoff}}, "Owned>b")
}

// The owner of a job gives it away, and gives its word once more to who did not hear it.
func TestOwnerAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	m := &ownership{kernel: k, estimator: o, execution: o, gates: o, home: o, recovery: o, search: o, terms: o}
	a := steppedAlone(t, k, o, m)
	m.makeOffer(k.jobs[j.ID], her, 0, 1)
	id := m.handoffID(k.jobs[j.ID])
	a.want(Message{her, wire.Accept{Handoff: id}}, "")
	o.closed = untilHome
	a.want(Message{her, wire.Ready{Handoff: id}}, "") // the gate is closed
	o.closed = open
	a.want(Message{her, wire.Ready{Handoff: id}}, "Save, Commit>b, predicted 1, growthSoon")
	a.want(Message{her, wire.Ready{Handoff: id}}, "Commit>b")
	a.want(Message{her, wire.Owned{Handoff: id, Owner: her}}, "Show")
	if r := k.jobs[j.ID].rec; r.Role != grid.Watching || r.Owner != her {
		t.Errorf("it is %s, of %s", r.Role, r.Owner)
	}
}

// A job without a place is asked about, and goes to the best.
func TestSearchAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	m := &search{kernel: k, budgets: o, estimator: o, execution: o, gates: o, ownership: o, terms: o}
	a := steppedAlone(t, k, o, m)
	m.undecide(k.jobs[j.ID])
	a.want(Tick{}, "EstimateRequest>b, EstimateRequest>c, look")
	m.noOwnAnswer(forNow("there is no listing"))
	reply := func(wait grid.Tick) wire.EstimateReply {
		return wire.EstimateReply{Round: k.rounds, Site: grid.Site{Speed: 1}, Answers: []wire.Answer{{Job: j.ID, Estimate: grid.Estimate{Wait: wait}}}}
	}
	a.want(Message{her, reply(grid.Hour)}, "")
	a.want(Message{him, reply(grid.Minute)}, "makeOffer 1 peer-c")
}

// Questions of others wait for one look, and are answered from it.
func TestEstimatorAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	m := &estimator{kernel: k, execution: o, home: o, ownership: o, search: o}
	a := steppedAlone(t, k, o, m)
	j := jobOf(her, "b", "1")
	ask := wire.EstimateRequest{Round: 7, Questions: []wire.Question{{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime}}}
	a.want(Message{her, ask}, "Look")
	a.want(Message{him, ask}, "") // the look is under way
	a.want(shot(a.now), "EstimateReply>b, EstimateReply>c, takeOffers, stir, beginPass, ownAnswer, whereHere")
	a.want(Message{her, ask}, "Look")
	a.want(Looked{Err: errors.New("it does not answer")}, "Note, EstimateReply>b, takeOffers, whereHere, noOwnAnswer, noPass")
}

// An attempt is submitted, runs, ends, and its output is collected.
func TestExecutionAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	m := &execution{kernel: k, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o, strays: map[grid.AttemptID]int{}}
	a := steppedAlone(t, k, o, m)
	o.closed = untilHome
	m.launch(k.jobs[j.ID], "chosen")
	if k.jobs[j.ID].rec.Attempt != 0 {
		t.Fatal("launched through a closed gate")
	}
	o.closed = open
	m.launch(k.jobs[j.ID], "chosen")
	o.take()
	at := k.attempt(k.jobs[j.ID])
	a.want(Launched{ID: at, Local: "17"}, "Save")
	a.want(Progressed{Progress: grid.Progress{ID: at, Phase: grid.Started, Started: a.now}}, "Save, isHere 1, abandon 1 it has started, began")
	a.want(Progressed{Progress: grid.Progress{ID: at, Phase: grid.Ended, Started: a.now, Finished: a.now + 5}}, "Save, Collect, isHere 1, learn")
	a.want(Collected{Job: j.ID, Epoch: at.Epoch}, "conclude 1")
}

// A job that another site owns: its home hears of its end, brings the output, and says so.
func TestHomeAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	k := kernelOf(o, grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch}})
	m := &home{kernel: k, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
	a := steppedAlone(t, k, o, m)
	end := wire.Report{Job: j.ID, Epoch: epoch, Number: 3, State: grid.StageOut, End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 1}}}
	a.want(Message{him, end}, "Error>c") // he does not own it
	a.want(Message{her, end}, "Save, Fetch")
	a.want(Fetched{Job: j.ID, Epoch: epoch, From: her, Set: OutputFiles}, "Save, KeepTold, Discard, ReportAck>b")
	a.want(Message{her, end}, "ReportAck>b")
	a.want(RemoveRequest{Token: 1, Job: j.ID}, "Save, KeepTold, Discard, Answer")
}

// A member has seen a later journal: everything waits until all members were asked.
func TestRecoveryAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k.cfg.Journal = grid.JournalID{Incarnation: 5, Sequence: 10}
	m := newRecovery(k)
	m.estimator, m.execution, m.gates, m.home, m.ownership, m.relay, m.search, m.terms = o, o, o, o, o, o, o, o
	a := steppedAlone(t, k, o, m)
	a.want(Boot{}, "Reconcile, undecide 1, judge")
	a.want(Reconciled{Jobs: []grid.JobID{j.ID}, All: true}, "declineRemoved 1, handoffDue 1")
	a.want(Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 12}}}}, "Save, Save, Recount>b, Recount>c, Alarm")
	if !m.recounting() || !k.jobs[j.ID].rec.Uncertain {
		t.Fatal("it goes on as if nothing had been")
	}
	a.want(Message{her, wire.Recounted{}}, "Alarm")
	a.want(Message{him, wire.Recounted{}}, "Save, Save, AlarmOver, Note, pursueCancel 1")
	if m.recounting() {
		t.Fatal("all have answered, and it waits")
	}
}

// A user of another site asks for a job of this home.
func TestRelayAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k.members[her].SameUsers = true
	m := newRelay(k)
	m.gates, m.home = o, o
	a := steppedAlone(t, k, o, m)
	a.want(Message{her, wire.Request{Number: 1, Job: j.ID, User: "alice", Wish: wire.WishCancel}}, "Response>b, wantGone 1 alice at b")
	a.want(Message{him, wire.Request{Number: 1, Job: j.ID, User: "alice", Wish: wire.WishCancel}}, "Response>c") // forbidden
	a.want(Forward{Token: 9, To: her, Wish: Wish{Job: "b.1", User: "alice"}}, "Request>b")
	a.now += requestLimit
	a.want(Tick{}, "Answer")
}

// A member dies: offers to it are dead, and those of which it was the owner are out of contact.
func TestNeighbourhoodAlone(t *testing.T) {
	t.Parallel()
	o := &others{}
	j, l := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	k := kernelOf(o,
		grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1},
			Handoff: grid.Handoff{Phase: grid.Offering, To: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}},
		grid.Record{Job: l, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 2}}})
	m := &neighbourhood{kernel: k, gates: o, home: o, ownership: o, recovery: o, search: o}
	a := steppedAlone(t, k, o, m)
	a.want(PeerChanged{her, grid.Dead}, "handoffID 1, sendAbort the candidate was not to be reached, dropOffer 1 the offer died: b is dead, loseContact 2")
	a.want(DrainRequest{Token: 1, On: true}, "Announce>b, Announce>c, Answer, saveState, passSoon")
}

// What no machine takes is lost without a word.
func TestEverythingHasAMachine(t *testing.T) {
	t.Parallel()
	c := bare()
	for kind := wire.KindHello + 1; kind <= wire.KindResponse; kind++ {
		if len(c.stepper.routes.messages[kind]) == 0 && kind.String() != "" {
			t.Errorf("nobody takes messages of kind %d", kind)
		}
	}
	for _, ev := range []Event{Boot{}, Submit{}, Where{}, Uploaded{}, CancelRequest{}, RemoveRequest{}, Looked{}, Launched{}, Withdrawn{}, Progressed{}, Reconciled{},
		Fetched{}, Checked{}, Collected{}, PeerChanged{}, OwnSite{}, PeerSite{}, LinkChanged{}, MembersChanged{}, Folders{}, Attempts{}, DrainRequest{}, Forget{}, EndJob{}, Resume{}, HadDuplicate{},
		Stall{}, PeerJournal{}, Forward{}, Served{}, LimitsChanged{}, Alter{}} {
		if len(c.stepper.routes.events[reflect.TypeOf(ev)]) == 0 {
			t.Errorf("nobody takes %T", ev)
		}
	}
	// Of reservations both hear who has made them: those who hold some for their users, and for jobs over several sites.
	for kind := range wire.KindResponse {
		both := kind == wire.KindReserved || kind == wire.KindReservationWord
		if n := len(c.stepper.routes.messages[kind]); both && n != 2 {
			t.Errorf("%d machines take messages of kind %v", n, kind)
		}
	}
	for k, take := range c.stepper.routes.jobs {
		if take == nil {
			t.Errorf("nobody takes the timer %d of jobs", k)
		}
	}
}

// errOf is an error of that text; "" is none.
func errOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
