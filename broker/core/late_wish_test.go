package core

import (
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
