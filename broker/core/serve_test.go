package core

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// homeWith is a home with a job that waits, held, and a group that has ended.
func homeWith(t *testing.T, same map[grid.PeerID]bool) (c *Core, id grid.JobID, group grid.GroupID) {
	t.Helper()
	j := jobOf(me, "a", "1")
	j.Terms.Held = true
	group = grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	cfg := Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}, Groups: []grid.Group{{
		ID: group, User: grid.User{Home: me, Name: "alice"}, Jobs: 2, Entered: 2, Ends: grid.Counts{grid.Completed: 2}, Ended: 900_000, Submitted: 800_000,
	}}}
	c = New(cfg, []grid.Member{{Name: "b", Peer: her, SameUsers: same[her]}, {Name: "c", Peer: him, SameUsers: same[him]}},
		[]grid.Record{{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
	c.Step(1_000_000, Boot{})
	c.Step(1_000_000+grid.Minute, Tick{})
	return c, j.ID, group
}

var sameUsers = map[grid.PeerID]bool{her: true, him: true}

// hears gives what a request brings: what is to be served, or the response.
func hears(c *Core, now grid.Tick, from grid.PeerID, m wire.Request) (s Serve, serves bool, r wire.Response) {
	effects := c.Step(now, Message{from, m})
	s, serves = only[Serve](effects)
	for _, m := range sent(effects) {
		if of, is := m.(wire.Response); is {
			r = of
		}
	}
	return s, serves, r
}

func holding(id grid.JobID, number uint64, held bool) wire.Request {
	return wire.Request{Number: number, Job: id, User: "alice", Wish: wire.WishAlter, Alter: &wire.Alteration{Held: &held}}
}

// Who may wish is who may at home: users of the home, by the word of brokers that it trusts with that.
func TestWhoIsServed(t *testing.T) {
	t.Parallel()
	_, id, group := homeWith(t, nil)
	for _, k := range []struct {
		name string
		same map[grid.PeerID]bool
		m    wire.Request
		want wire.Outcome // 0: it is served
	}{
		{"alice of a stranger", nil, wire.Request{Job: id, User: "alice", Wish: wire.WishHistory}, wire.OutcomeForbidden},
		{"the administrator of a stranger", nil, wire.Request{Group: group, User: "root", Administrator: true}, wire.OutcomeForbidden},
		{"alice", sameUsers, wire.Request{Job: id, User: "alice", Wish: wire.WishHistory}, 0},
		{"bob", sameUsers, wire.Request{Job: id, User: "bob", Wish: wire.WishRemove}, wire.OutcomeForbidden},
		{"an administrator", sameUsers, wire.Request{Job: id, User: "root", Administrator: true, Wish: wire.WishDecisions}, 0},
		{"alice, of her group", sameUsers, wire.Request{Group: group, User: "alice", Wish: wire.WishCancel}, 0},
		{"bob, of her group", sameUsers, wire.Request{Group: group, User: "bob"}, wire.OutcomeForbidden},
		{"a job that is not here", sameUsers, wire.Request{Job: jobOf(me, "a", "9").ID, User: "alice", Wish: wire.WishHistory}, wire.OutcomeUnknown},
		{"a group that is not here", sameUsers, wire.Request{Group: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAA"), User: "alice"}, wire.OutcomeUnknown},
		{"a job of another home", sameUsers, wire.Request{Job: jobOf(her, "b", "1").ID, User: "alice", Wish: wire.WishHistory}, wire.OutcomeUnknown},
		{"a job of the group without a record", sameUsers, wire.Request{Job: group.Job(1), User: "alice", Wish: wire.WishHistory}, 0},
		{"how that is", sameUsers, wire.Request{Job: group.Job(1), User: "alice"}, wire.OutcomeDone},
	} {
		c, _, _ := homeWith(t, k.same)
		k.m.Number = 7
		s, serves, r := hears(c, 2_000_000, her, k.m)
		if serves != (k.want == 0) || r.Outcome != k.want {
			t.Errorf("%s: served %v, outcome %d (%s), want %d", k.name, serves, r.Outcome, r.Why, k.want)
		}
		if serves && (s.From != her || s.Number != 7 || s.Wish.User != k.m.User || s.Wish.Job != k.m.Job || s.Wish.Group != k.m.Group) {
			t.Errorf("%s: %+v is served", k.name, s)
		}
		if !serves {
			continue
		}
		if _, again, r := hears(c, 2_000_001, her, k.m); again || r.Outcome != wire.OutcomeWorking {
			t.Errorf("%s: asked again while it is served: %v, outcome %d", k.name, again, r.Outcome)
		}
	}
	c, _, _ := homeWith(t, sameUsers)
	c.Step(2_000_000, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 9, Sequence: 3}}}}) // its journal is new
	if _, serves, r := hears(c, 2_000_001, her, wire.Request{Group: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAA"), User: "alice"}); serves || r.Outcome != wire.OutcomeLater {
		t.Errorf("a home with a new journal says of a group: outcome %d (%s)", r.Outcome, r.Why)
	}
}

// What was answered is answered again, and not done again. What only tells is looked for anew.
func TestAnAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	c, id, group := homeWith(t, sameUsers)
	hears(c, 2_000_000, her, holding(id, 7, true))
	served := c.Step(2_000_010, Served{From: her, Number: 7, Err: fmt.Errorf("%w: it has ended", grid.ErrInvalid)})
	first, ok := only[Send](served)
	if m, is := first.Message.(wire.Response); !ok || !is || m.Outcome != wire.OutcomeInvalid || m.Why != "it has ended" || first.To != her {
		t.Fatalf("%+v", first)
	}
	if _, serves, r := hears(c, 2_000_020, her, holding(id, 7, true)); serves || !reflect.DeepEqual(r, first.Message) {
		t.Errorf("asked again: served %v, %+v", serves, r)
	}
	if _, serves, _ := hears(c, 2_000_030, him, holding(id, 7, true)); !serves {
		t.Error("another broker's request of that number is not served")
	}
	ask := wire.Request{Number: 9, Group: group, User: "alice"}
	hears(c, 2_000_040, her, ask)
	c.Step(2_000_050, Served{From: her, Number: 9, Found: Found{Group: c.groups.all[group].rec}})
	if _, serves, _ := hears(c, 2_000_060, her, ask); !serves {
		t.Error("how a group is, is told from memory")
	}
	if effects := c.Step(2_000_070, Served{From: her, Number: 99}); len(sent(effects)) > 0 {
		t.Error("an answer that nobody waits for is sent")
	}
}

// One member cannot keep a home busy, nor make it remember without end.
func TestServingIsBounded(t *testing.T) {
	t.Parallel()
	c, id, _ := homeWith(t, sameUsers)
	now := grid.Tick(2_000_000)
	for n := range uint64(maxServingEach) {
		if _, serves, r := hears(c, now, her, holding(id, n, true)); !serves {
			t.Fatalf("request %d: outcome %d", n, r.Outcome)
		}
	}
	if _, serves, r := hears(c, now, her, holding(id, maxServingEach, true)); serves || r.Outcome != wire.OutcomeUnavailable {
		t.Errorf("one more is served: %v, outcome %d", serves, r.Outcome)
	}
	if _, serves, _ := hears(c, now, him, holding(id, 1, true)); !serves {
		t.Error("another member is kept out")
	}
	for n := range uint64(maxServingEach) {
		c.Step(now, Served{From: her, Number: n})
	}
	now += answeredFor + 1
	if _, serves, _ := hears(c, now, her, holding(id, 1000, true)); !serves || len(c.relay.served) != 2 {
		t.Errorf("after a while it is served: %v, and %d are remembered", serves, len(c.relay.served))
	}
}

// A change that came twice, or after a later one of its broker, is made once, also by a home that has forgotten all but
// its journal. Numbers of another life of that broker are new.
func TestARelayedChangeIsMadeOnce(t *testing.T) {
	t.Parallel()
	c, id, _ := homeWith(t, sameUsers)
	alter := func(held bool, by grid.PeerID, number uint64) error {
		a, _ := only[Answer](c.Step(2_000_000, Alter{Token: 3, Job: id, To: grid.Alteration{Held: &held}, By: "alice", Relayed: grid.Relayed{By: by, Number: number}}))
		return a.Err
	}
	is := func(held bool, what string) {
		t.Helper()
		if got := c.jobs[id].rec.Job.Terms.Held; got != held {
			t.Errorf("%s: held %v", what, got)
		}
	}
	const first = uint64(1) << 62
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(alter(false, her, first))
	must(alter(true, "", 0)) // here
	must(alter(false, her, first))
	is(true, "released twice by one request")
	must(alter(false, her, first+5))
	is(false, "released by the next")
	c = New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}}, []grid.Member{{Name: "b", Peer: her, SameUsers: true}}, []grid.Record{c.jobs[id].rec})
	c.Step(1_900_000, Boot{})
	if err := alter(true, her, first+4); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a late one: %v", err)
	}
	is(false, "held by a late request")
	must(alter(true, him, first))
	is(true, "held by another broker")
	must(alter(false, her, 12))
	is(false, "released in another life of the broker")
}

// A broker of before says that it does not understand; who asked is told so at once. What it knows goes on.
func TestAnOlderHome(t *testing.T) {
	t.Parallel()
	c := trusting(nil)
	old, held := jobOf(her, "b", "1").ID, true
	c.Step(2_000_000, Forward{Token: 5, To: her, Wish: Wish{Job: old, User: "alice"}})
	c.Step(2_000_000, Forward{Token: 6, To: her, Wish: Wish{Job: old, User: "alice", Ask: wire.WishAlter, Alter: grid.Alteration{Held: &held}}})
	c.Step(2_000_000, Forward{Token: 7, To: him, Wish: Wish{Group: grid.NewGroupID("c", "1"), User: "alice"}})
	a, ok := only[Answer](c.Step(2_000_001, Message{her, wire.Error{Of: wire.KindRequest, Why: `Request needs the feature "wishes"`}}))
	if !ok || a.Token != 6 || !errors.Is(a.Err, grid.ErrInvalid) {
		t.Errorf("%v %+v", ok, a)
	}
	if len(c.relay.requests) != 2 {
		t.Errorf("%d requests go on", len(c.relay.requests))
	}
}

// That a broker does not understand one request is no word on another of which it has said that it works at it: that may be done.
func TestWhatIsWorkedAtWasUnderstood(t *testing.T) {
	t.Parallel()
	c := trusting(nil)
	id, held := jobOf(her, "b", "1").ID, true
	alter := sent(c.Step(2_000_000, Forward{Token: 5, To: her, Wish: Wish{Job: id, User: "alice", Ask: wire.WishAlter, Alter: grid.Alteration{Held: &held}}}))[0].(wire.Request)
	c.Step(2_000_000, Forward{Token: 6, To: her, Wish: Wish{Group: grid.NewGroupID("b", "1"), User: "alice"}})
	c.Step(2_000_001, Message{her, wire.Response{Number: alter.Number, Job: id, Outcome: wire.OutcomeWorking, Echo: 9}})
	a, ok := only[Answer](c.Step(2_000_002, Message{her, wire.Error{Of: wire.KindRequest, Why: "Request: wish is 9"}}))
	if !ok || a.Token != 6 || !errors.Is(a.Err, grid.ErrInvalid) {
		t.Errorf("%v %+v", ok, a)
	}
	if list := c.relay.requests; len(list) != 1 || list[0].token != 5 {
		t.Errorf("go on: %+v", list)
	}
}

// Who is told that it is worked at waits on, but not for ever.
func TestWorkIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := trusting(nil)
	id := jobOf(her, "b", "1").ID
	began := grid.Tick(2_000_000)
	m := sent(c.Step(began, Forward{Token: 5, To: her, Wish: Wish{Job: id, User: "alice", Ask: wire.WishResubmit, Key: "k"}}))[0].(wire.Request)
	for now := began; now < began+2*workLimit; {
		now, _ = c.Next()
		effects := c.Step(now, Tick{})
		if a, ok := only[Answer](effects); ok {
			if now < began+workLimit || !errors.Is(a.Err, grid.ErrUnavailable) {
				t.Errorf("after %v: %v", now-began, a.Err)
			}
			return
		}
		if len(sent(effects)) > 0 {
			c.Step(now, Message{her, wire.Response{Number: m.Number, Job: id, Outcome: wire.OutcomeWorking}})
		}
	}
	t.Error("it is waited for without end")
}

// What a home has found is what who asked is told.
func TestWhatIsFoundTravels(t *testing.T) {
	t.Parallel()
	c, id, group := homeWith(t, sameUsers)
	found := Found{
		Group: c.groups.all[group].rec, Counts: grid.Counts{grid.Completed: 2}, Next: 2,
		Jobs:   []grid.Record{c.groups.all[group].rec.Outline(1, grid.Result{State: grid.Completed, HasExit: true}), c.jobs[id].rec},
		Events: []grid.Event{{At: 1_500_000, State: grid.Ready, Site: "a", Epoch: grid.Epoch{Term: 1}, Why: "because"}},
	}
	found.Jobs[1].Job.ID = group.Job(2)
	found.Jobs[1].State, found.Jobs[1].End, found.Jobs[1].Outputs = grid.Completed, grid.Completed, grid.Manifest{{Path: "large"}}
	hears(c, 2_000_000, her, wire.Request{Number: 1, Group: group, User: "alice"})
	sent, _ := only[Send](c.Step(2_000_000, Served{From: her, Number: 1, Found: found}))
	frame, err := wire.Encode(sent.Message)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	asker := trusting(nil)
	number := asker.rounds + 1
	asker.Step(3_000_000, Forward{Token: 5, To: her, Wish: Wish{Group: group, User: "alice"}})
	of := m.(wire.Response)
	of.Number = number
	a, ok := only[Answer](asker.Step(3_000_000, Message{her, of})) // its clock is 1000 s ahead
	if !ok || a.Err != nil {
		t.Fatalf("%v %+v", ok, a)
	}
	got := a.Found
	if got.Group.ID != group || got.Group.Jobs != 2 || got.Group.Ends != found.Group.Ends || got.Counts != found.Counts || got.Next != 2 || got.Group.Ended != 1_900_000 {
		t.Errorf("the group is %+v", got.Group)
	}
	if len(got.Events) != 1 || got.Events[0].At != 2_500_000 || got.Events[0].Why != "because" {
		t.Errorf("its history is %+v", got.Events)
	}
	if len(got.Jobs) != 2 || got.Jobs[0].State != grid.Completed || got.Jobs[0].Job.ID != group.Job(1) || len(got.Jobs[0].Job.Demand.Chunks) != 0 ||
		got.Jobs[1].State != grid.Completed || got.Jobs[1].Outputs != nil || !reflect.DeepEqual(got.Jobs[1].Job.Demand, found.Jobs[1].Job.Demand) {
		t.Errorf("its jobs are %+v", got.Jobs)
	}
}
