package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// To resume a broker that nothing has stopped would stop it: it would ask all, and wait for one that is dead.
func TestResumeOfABrokerThatWasNotStopped(t *testing.T) {
	t.Parallel()
	c := signed()
	effects := c.Step(1_000_001, Resume{Token: 4})
	a, _ := only[Answer](effects)
	if len(effects) != 1 || !errors.Is(a.Err, grid.ErrInvalid) || !strings.Contains(a.Err.Error(), "this broker was not stopped: nothing to resume") || c.recovery.rolled != nil {
		t.Errorf("effects %+v; it asks %+v", effects, c.recovery.rolled)
	}
}

// Who is asked is told where it goes on, and where it is asking already.
func TestResumeNamesWhoIsAsked(t *testing.T) {
	t.Parallel()
	c := lived(7, grid.JournalID{Incarnation: 1})
	c.Step(1_000_001, Message{her, wire.Seen{Boots: []uint64{7, 8}}})
	if a, _ := only[Answer](c.Step(1_000_002, Resume{Token: 1})); a.Err != nil || strings.Join(a.Asked, " ") != "b c" {
		t.Errorf("stopped: %+v", a)
	}
	c = signed()
	c.Step(1_000_001, HadDuplicate{Token: 1})
	c.Step(1_000_002, Message{her, wire.Recounted{}})
	a, _ := only[Answer](c.Step(1_000_003, Resume{Token: 2}))
	if a.Err == nil || !strings.Contains(a.Err.Error(), "starts nothing before it has heard from c, d what") || !strings.Contains(a.Err.Error(), "gbroker forget c") {
		t.Errorf("asking already: %v", a.Err)
	}
}

// The user of a job reads why nothing becomes of it, and where asks in vain.
func TestAJobSaysThatItsBrokerAsksFirst(t *testing.T) {
	t.Parallel()
	c := signed()
	c.Step(1_000_001, HadDuplicate{Token: 1})
	for _, p := range []grid.PeerID{her, him} {
		c.Step(1_000_002, Message{p, wire.Recounted{}})
	}
	j := jobOf(me, "a", "1")
	c.Step(1_000_003, Submit{Token: 2, Job: j})
	for at := grid.Tick(1_000_010); at < 1_000_000+grid.Minute; at += grid.Second {
		c.Step(at, Tick{})
	}
	const want = "starts nothing before it has heard from d what"
	if r := c.jobs[j.ID].rec; !strings.Contains(r.Why(), want) {
		t.Errorf("the job is %s: %q", r.State, r.Why())
	}

	asked, where, shot := wherever(1)
	asked.Step(1000, HadDuplicate{Token: 1})
	asked.Step(1000, where)
	d := decided(asked.Step(1001, Looked{Snapshot: shot}))
	if d == nil || len(d.Candidates) != 1 || d.Candidates[0].Refusal == nil || !strings.Contains(d.Candidates[0].Refusal.Reason, "starts nothing before it has heard from a, b what") || !d.Candidates[0].Refusal.MayPass() {
		t.Errorf("where: %+v", d)
	}
}
