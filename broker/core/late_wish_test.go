package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A request that changes something is served when who asks has just repeated what he was told, so not when nobody waits for it any more. A
// broker of before cannot repeat it, and what only tells need not be.
func TestAWishThatNobodyWaitsForIsNotServed(t *testing.T) {
	t.Parallel()
	c, id, group := homeWith(t, sameUsers)
	const now = grid.Tick(2_000_000)
	number := uint64(0)
	for name, k := range map[string]struct {
		m      wire.Request
		serves bool
	}{
		"late, or the first time":     {wire.Request{Echo: wire.NoEcho}, false},
		"as it was told a moment ago": {wire.Request{Echo: uint64(now - grid.Second)}, true},
		"as it was told long ago":     {wire.Request{Echo: uint64(now - requestLimit - 1)}, false},
		"as it was never told":        {wire.Request{Echo: uint64(now + 1)}, false},
		"by no clock":                 {wire.Request{Echo: 1<<64 - 1}, false},
		"from a broker of before":     {wire.Request{}, true},
	} {
		number++
		m := holding(id, number, true)
		m.Echo = k.m.Echo
		_, serves, r := hears(c, now, her, m)
		if serves != k.serves || !serves && (r.Outcome != wire.OutcomeWorking || r.Echo != uint64(now)) {
			t.Errorf("%s: served %t, %+v", name, serves, r)
		}
	}
	if _, serves, _ := hears(c, now, her, wire.Request{Number: 99, Group: group, User: "alice", Echo: wire.NoEcho}); !serves {
		t.Error("how a group is, is not told")
	}
	if _, serves, r := hears(c, now, her, wire.Request{Number: 98, Group: group, User: "bob", Wish: wire.WishCancel, Echo: wire.NoEcho}); serves || r.Outcome != wire.OutcomeForbidden {
		t.Errorf("who may not is told %d", r.Outcome)
	}
}

// A change that was asked for before another one was made, by whatever way, is served only when it is asked for again.
func TestAWishOfBeforeAnotherChangeIsLate(t *testing.T) {
	t.Parallel()
	c, id, _ := homeWith(t, sameUsers)
	const now = grid.Tick(2_000_000)
	held := false
	c.Step(now-grid.Second, Alter{Token: 3, Job: id, To: grid.Alteration{Held: &held}, By: "alice"})
	m := holding(id, 1, true)
	m.Echo = uint64(now - 2*grid.Second)
	if _, serves, r := hears(c, now, her, m); serves || r.Outcome != wire.OutcomeWorking || r.Echo != uint64(now) {
		t.Errorf("served %t, %+v", serves, r)
	}
	m.Echo = uint64(now)
	if _, serves, _ := hears(c, now+1, her, m); !serves {
		t.Error("it is asked for again, and is not served")
	}
}

// What the last life has told is repeated to this one, which does not know that another change was made in between.
func TestAnEchoOfTheLastLifeIsLate(t *testing.T) {
	t.Parallel()
	c, id, _ := homeWith(t, sameUsers)
	c.start = c.now // as if it had just begun
	for ago, want := range map[grid.Tick]bool{1: false, 0: true} {
		m := holding(id, 1+uint64(ago), true)
		m.Echo = uint64(c.start - ago)
		if _, serves, r := hears(c, c.start+grid.Second, her, m); serves != want || !serves && r.Outcome != wire.OutcomeWorking {
			t.Errorf("told %d ms before the start: served %t, %+v", ago, serves, r)
		}
	}
}

// Who asks repeats at once what he is told, as long as his user waits: not once he was told that nobody answers.
func TestAnEchoIsRepeatedWhileTheUserWaits(t *testing.T) {
	t.Parallel()
	held := true
	c := trusting(nil)
	wish := Wish{Job: jobOf(her, "b", "1").ID, User: "alice", Ask: wire.WishAlter, Alter: grid.Alteration{Held: &held}}
	request := func(effects []Effect) (m wire.Request, is bool) {
		for _, x := range sent(effects) {
			if r, ok := x.(wire.Request); ok {
				m, is = r, true
			}
		}
		return m, is
	}
	first, _ := request(c.Step(2_000_000, Forward{Token: 3, To: her, Wish: wish}))
	if first.Echo != wire.NoEcho {
		t.Errorf("it says first %d", first.Echo)
	}
	told := wire.Response{Number: first.Number, Job: wish.Job, Outcome: wire.OutcomeWorking, Echo: 77}
	if m, is := request(c.Step(2_000_001, Message{her, told})); !is || m.Echo != 77 || m.Number != first.Number {
		t.Errorf("told 77 it says %+v", m)
	}
	if _, is := request(c.Step(2_000_002, Message{her, told})); is {
		t.Error("told the same again, it repeats it again")
	}
	effects := c.Step(2_000_001+requestLimit+c.cfg.Retry, Tick{})
	if a, is := only[Answer](effects); !is || a.Err == nil {
		t.Fatalf("its user still waits: %v", effects)
	}
	told.Echo = 78
	if _, is := request(c.Step(2_020_000, Message{her, told})); is {
		t.Error("it asks though its user has gone")
	}
	reads, _ := request(c.Step(2_030_000, Forward{Token: 4, To: her, Wish: Wish{Job: wish.Job, User: "alice", Ask: wire.WishHistory}}))
	if reads.Echo != 0 {
		t.Errorf("what only tells has an echo: %d", reads.Echo)
	}
}

// So is the cancel of a job, at its home as at its owner.
func TestALateCancelIsNotServed(t *testing.T) {
	t.Parallel()
	const now = grid.Tick(2_000_000)
	mine, hers := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	for _, job := range []grid.Job{mine, hers} {
		for name, k := range map[string]struct {
			echo   uint64
			serves bool
		}{
			"late, or the first time":     {wire.NoEcho, false},
			"as it was told a moment ago": {uint64(now - grid.Second), true},
			"as it was told long ago":     {uint64(now - requestLimit - 1), false},
			"from a broker of before":     {0, true},
		} {
			c := trusting(sameUsers, grid.Record{Job: job, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1}})
			m := wire.Request{Number: 1, Job: job.ID, User: "alice", Wish: wire.WishCancel, Echo: k.echo}
			r := asked(c, her, m)
			if c.jobs[job.ID].rec.CancelRequested != k.serves || (r.Outcome == wire.OutcomeDone) != k.serves || !k.serves && r.Echo != uint64(now) {
				t.Errorf("%s, %s: %+v", job.ID, name, r)
			}
			m.User, m.Echo = "bob", wire.NoEcho
			if r := asked(c, her, m); r.Outcome != wire.OutcomeForbidden {
				t.Errorf("%s: who may not is told %d", job.ID, r.Outcome)
			}
		}
	}
}

// Who is told one echo after the other asks no more often for that, and his user hears in the end that it comes to nothing.
func TestManyEchoesBringFewRequests(t *testing.T) {
	t.Parallel()
	held := true
	c := trusting(nil)
	wish := Wish{Job: jobOf(her, "b", "1").ID, User: "alice", Ask: wire.WishAlter, Alter: grid.Alteration{Held: &held}}
	said := sent(c.Step(2_000_000, Forward{Token: 3, To: her, Wish: wish}))
	told := wire.Response{Number: said[0].(wire.Request).Number, Job: wish.Job, Outcome: wire.OutcomeWorking}
	var last wire.Request
	var end Answer
	gone, requests := false, 0
	hear := func(effects []Effect) {
		for _, m := range sent(effects) {
			if r, is := m.(wire.Request); is {
				requests, last = requests+1, r
			}
		}
		if a, is := only[Answer](effects); is {
			end, gone = a, true
		}
	}
	for echo := range uint64(3) {
		told.Echo = 100 + echo
		hear(c.Step(2_000_001, Message{her, told}))
	}
	if requests != 1 || last.Echo != 100 {
		t.Fatalf("three echoes bring %d requests, the last with %d", requests, last.Echo)
	}
	hear(c.Step(2_000_000+c.cfg.Retry, Tick{}))
	if requests != 2 || last.Echo != 102 {
		t.Errorf("the next of %d requests has %d", requests, last.Echo)
	}
	for echo := uint64(103); echo < 10_000; echo++ {
		told.Echo = echo
		hear(c.Step(2_000_001+c.cfg.Retry, Message{her, told}))
	}
	if requests != 2 || !gone || end.Token != 3 || !errors.Is(end.Err, grid.ErrUnavailable) || len(c.relay.requests) != 0 {
		t.Errorf("%d requests, %+v", requests, end)
	}
}
