package core

import (
	"errors"
	"testing"

	"gbroker/grid"
)

// What is owed is saved with what it tells, sent until that succeeds, also after a restart, or given up.
func TestNoticesAreSentAtLeastOnce(t *testing.T) {
	t.Parallel()
	j := withTerms("1", grid.Terms{Notify: []grid.Notice{{When: grid.OnFail, To: "https://x.org/fail"}, {When: grid.OnEnd, To: "https://x.org/end"}}})
	c := signed()
	c.handIn(t, j)
	var sent []grid.Owed
	step := func(ev Event) {
		for _, e := range c.Step(c.now+10, ev) {
			if n, is := e.(Notify); is {
				sent = append(sent, n.Owed)
			}
		}
	}
	step(CancelRequest{Token: 1, Job: j.ID, By: "alice"})
	r := c.jobs[j.ID].rec
	if r.State != grid.Killed || len(r.Owed) != 2 {
		t.Fatalf("it is %s, and owed is %+v", r.State, r.Owed)
	}
	c = signed(r)
	step(Tick{})
	step(Tick{})
	if len(sent) != 1 || sent[0].When != grid.OnEnd {
		t.Fatalf("after a restart %+v is sent", sent)
	}
	step(Notified{Job: j.ID, Owed: sent[0], Err: errors.New("it is down")})
	step(Tick{})
	if len(sent) != 2 || sent[1].When != grid.OnFail {
		t.Fatalf("the second is not sent: %+v", sent)
	}
	step(Notified{Job: j.ID, Owed: sent[1]})
	for range 20 {
		c.now += grid.Second
		step(Tick{})
	}
	if len(sent) != 3 || sent[2] != sent[0] {
		t.Fatalf("the first is not tried again: %+v", sent)
	}
	step(Notified{Job: j.ID, Owed: sent[2], Err: errors.New("refused"), Final: true})
	if k := c.jobs[j.ID]; k != nil && (len(k.rec.Owed) != 0 || k.due[onNotice] != 0) {
		t.Errorf("given up, and still owed: %+v", k.rec.Owed)
	}
}

// A notice that cannot be sent keeps no other one of its job back, and is tried seldom: each try is a line of the history.
func TestANoticeThatFailsIsTriedLater(t *testing.T) {
	t.Parallel()
	j := withTerms("1", grid.Terms{Notify: []grid.Notice{{When: grid.OnEnd, To: "https://down.org"}, {When: grid.OnEnd, To: "https://up.org"}}})
	c := signed()
	c.handIn(t, j)
	tries, told := 0, false
	var step func(ev Event)
	step = func(ev Event) {
		for _, e := range c.Step(c.now+10, ev) {
			n, is := e.(Notify)
			switch {
			case is && n.Owed.To == "https://up.org":
				told = true
				step(Notified{Job: j.ID, Owed: n.Owed})
			case is:
				tries++
				step(Notified{Job: j.ID, Owed: n.Owed, Err: errors.New("it is down")})
			}
		}
	}
	step(CancelRequest{Token: 1, Job: j.ID, By: "alice"})
	for range 5 {
		step(Tick{})
	}
	if !told {
		t.Error("one that is down keeps the other one back")
	}
	for range 25 * 60 {
		c.now += grid.Minute
		step(Tick{})
	}
	if k := c.jobs[j.ID]; k != nil && len(k.rec.Owed) != 0 {
		t.Errorf("after a day is owed %+v", k.rec.Owed)
	}
	if tries < 12 || tries > 40 {
		t.Errorf("it was tried %d times in a day", tries)
	}
}
