package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A user without an account here hands in a job: the batch system refuses it for good.
// Is it searched another place for at once, once its token says that it never starts?
func TestAJobThatIsRefusedForGoodGoesElsewhere(t *testing.T) {
	t.Parallel()
	c, j := refused(t)
	if k := c.jobs[j.ID]; k.rec.State != grid.Ready || !strings.Contains(k.rec.Reason, "no account") {
		t.Fatalf("it is %s: %s", k.rec.State, k.rec.Reason)
	}
	offered, d := answered(c, wire.Answer{Job: j.ID, Estimate: grid.Estimate{Wait: grid.Hour, Safe: grid.Hour}})
	if !offered {
		t.Errorf("it is not offered to who would take it, but is %s: %s", c.jobs[j.ID].rec.State, c.jobs[j.ID].rec.Reason)
	}
	if len(d) != 1 {
		t.Fatalf("%d decisions are written", len(d))
	}
	if own := d[0].Candidates[0].Refusal; own == nil || !strings.Contains(own.Reason, "has refused the job: no account") {
		t.Errorf("the own row of the decision says %+v", own)
	}
}

// Nobody else can run it either: it ends, and says why, without twenty more attempts.
func TestAJobThatIsRefusedEverywhereFails(t *testing.T) {
	t.Parallel()
	c, j := refused(t)
	answered(c, wire.Answer{Job: j.ID, Estimate: grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few cores"}}})
	if k := c.jobs[j.ID]; k.rec.State != grid.Failed || !strings.Contains(k.rec.Reason, "no account") || k.rec.Attempt != 1 {
		t.Errorf("it is %s after %d attempts: %s", k.rec.State, k.rec.Attempt, k.rec.Reason)
	}
}

// Who could run it does not answer: after a while it is tried here again.
func TestAJobThatWasRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	c, j := refused(t)
	now := grid.Tick(1_000_003)
	for launched := false; !launched; {
		at, ok := c.Next()
		if !ok || at > now+2*refusedFor {
			t.Fatalf("it is never tried again: %s %s", c.jobs[j.ID].rec.State, c.jobs[j.ID].rec.Reason)
		}
		effects := append(c.Step(at, Tick{}), c.Step(at, shot(at))...)
		for _, e := range effects {
			_, is := e.(Launch)
			launched = launched || is
		}
		if launched && at < now+refusedFor {
			t.Fatalf("it is tried again %v s after the refusal", (at - now).Seconds())
		}
	}
}

// It is not taken back either: neither an estimate nor an offer of it is good here.
func TestAJobThatWasRefusedIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	c, j := refused(t)
	question := wire.Question{Job: j.ID, Home: me, Demand: j.Demand, Walltime: j.Walltime, Queue: j.Queue}
	if e := estimateFor(t, c, question); e.Refusal == nil {
		t.Errorf("it would be taken: %+v", e)
	}
}

// Its user has altered it since: what was refused is not what is asked for now.
func TestAJobThatWasRefusedAndIsAlteredIsTakenAgain(t *testing.T) {
	t.Parallel()
	for what, alter := range map[string]func(*wire.Question){
		"walltime": func(q *wire.Question) { q.Walltime /= 2 },
		"queue":    func(q *wire.Question) { q.Queue = "other" },
		"processes": func(q *wire.Question) {
			q.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 2, Cores: 1, Processes: 1}}}
		},
	} {
		c, j := refused(t)
		question := wire.Question{Job: j.ID, Home: me, Demand: j.Demand, Walltime: j.Walltime, Queue: j.Queue}
		alter(&question)
		if e := estimateFor(t, c, question); e.Refusal != nil && strings.Contains(e.Refusal.Reason, "has refused the job") {
			t.Errorf("another %s: %+v", what, e.Refusal)
		}
	}
}

// estimateFor is what a neighbour is told.
func estimateFor(t *testing.T, c *Core, q wire.Question) grid.Estimate {
	t.Helper()
	c.Step(1_010_001, Message{him, wire.EstimateRequest{Round: 9, Questions: []wire.Question{q}}})
	for _, m := range sentTo(c.Step(1_010_002, shot(1_010_002)), him) {
		if tell, ok := m.(wire.EstimateReply); ok {
			return tell.Answers[0].Estimate
		}
	}
	t.Fatal("there is no answer")
	return grid.Estimate{}
}

// refused is a broker whose batch system has refused a job, and the job, for which the
// token has been taken.
func refused(t *testing.T) (*Core, grid.Job) {
	t.Helper()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{
		Job:       j,
		State:     grid.Assigned,
		Submitted: 999_000,
		Tenure:    grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		Run:       grid.Run{Attempt: 1},
	})
	c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{j.ID}})
	at := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	withdraws := false
	for _, e := range c.Step(1_000_002, Launched{ID: at, Err: errors.New("no account"), Kind: grid.Permanent}) {
		_, is := e.(Withdraw)
		withdraws = withdraws || is
	}
	if !withdraws {
		t.Fatal("its attempt is not withdrawn")
	}
	for _, e := range c.Step(1_000_003, Withdrawn{ID: at, Done: true}) {
		if _, is := e.(Launch); is {
			t.Fatal("it is submitted again")
		}
	}
	return c, j
}

// answered has one neighbour answer as said, and the others not at all, and tells
// whether the job is offered to that one.
func answered(c *Core, a wire.Answer) (offered bool, decisions []grid.Decision) {
	c.Step(1_000_004, shot(1_000_004))
	effects := c.Step(1_000_005, Message{her, wire.EstimateReply{Round: c.search.round.id, Site: grid.Site{Name: "b", Speed: 1, Processes: 4}, Answers: []wire.Answer{a}, Take: 1}})
	for _, p := range []grid.PeerID{him, it} {
		lacks := wire.Answer{Job: a.Job, Estimate: grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few cores"}}}
		if c.search.round != nil {
			effects = append(effects, c.Step(1_000_006, Message{p, wire.EstimateReply{Round: c.search.round.id, Site: grid.Site{Name: "x", Speed: 1}, Answers: []wire.Answer{lacks}}})...)
		}
	}
	for _, m := range sentTo(effects, her) {
		_, is := m.(wire.Offer)
		offered = offered || is
	}
	for _, e := range effects {
		if s, is := e.(Save); is {
			decisions = append(decisions, s.Change.Decisions...)
		}
	}
	return offered, decisions
}
