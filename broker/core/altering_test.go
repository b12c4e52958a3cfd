package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// termsOf are the terms of a broker with one job of this home that waits here, changed.
func termsOf(t *testing.T, change func(*grid.Record)) (*terms, *others, *job, *alone) {
	t.Helper()
	o := &others{}
	r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
	change(&r)
	k := kernelOf(o, r)
	m := newTerms(k)
	m.execution, m.gates, m.home, m.ownership, m.search = o, o, o, o, o
	return m, o, k.jobs[r.Job.ID], steppedAlone(t, k, o, m)
}

// What is altered twice is both, and what cannot be is refused with the first in mind.
func TestAlteredTwice(t *testing.T) {
	t.Parallel()
	longer, many := 2*grid.Tick(grid.Hour), 3
	m, _, j, a := termsOf(t, func(r *grid.Record) { r.Role, r.Owner = grid.Watching, her })
	for _, to := range []grid.Alteration{{Walltime: &longer}, {Processes: &many}} {
		if got := a.step(Alter{Token: 1, Job: j.rec.Job.ID, To: to, By: "alice"}); !strings.Contains(got, "ReportAck>b") {
			t.Errorf("its owner is not told: %s", got)
		}
	}
	if to := j.rec.Altered; to == nil || *to.Walltime != longer || *to.Processes != many {
		t.Errorf("%+v", to)
	}
	none := 0
	if err := m.mayAlter(j, grid.Alteration{Processes: &none}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("no process at all: %v", err)
	}
	if err := m.mayAlter(j, grid.Alteration{Walltime: &longer}); err != nil {
		t.Error(err)
	}
}

// What is altered, or kept back from now on, leaves its place: what waits in the batch system is withdrawn, an offer too.
func TestWhatIsAlteredLeavesItsPlace(t *testing.T) {
	t.Parallel()
	offered := grid.Handoff{Phase: grid.Offering, To: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	committed := grid.Handoff{Phase: grid.Committed, To: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	for name, k := range map[string]struct {
		change func(*grid.Record)
		keeps  keeping
		want   string
	}{
		"it is uploaded":              {func(r *grid.Record) { r.State = grid.StageIn }, untilAltered, "Save"},
		"it is handed in":             {func(r *grid.Record) { r.State = grid.Submitted }, untilAltered, "Save"},
		"it has no place yet":         {func(r *grid.Record) { r.State = grid.Ready }, notKept, "Save, undecide 1"},
		"it waits here":               {func(*grid.Record) {}, untilAltered, "withdraw 1"},
		"it waits here, and may stay": {func(*grid.Record) {}, notKept, ""},
		"it is offered":               {func(r *grid.Record) { r.State, r.Handoff = grid.Moving, offered }, untilAltered, "withdrawOffer 1 it is kept at home"},
		"it is committed":             {func(r *grid.Record) { r.State, r.Handoff = grid.Moving, committed }, untilAltered, ""},
		"it runs":                     {func(r *grid.Record) { r.State = grid.Running }, untilAltered, ""},
	} {
		m, o, j, _ := termsOf(t, func(r *grid.Record) { k.change(r); r.Altered = &grid.Alteration{Queue: new(grid.QueueName)} })
		o.keeps = k.keeps
		m.pursue(j)
		got := o.take()
		for range m.out {
			got = append([]string{"Save"}, got...)
		}
		if text := strings.NewReplacer("a.0000000000000000000000000", "").Replace(strings.Join(got, ", ")); !strings.HasPrefix(text, k.want) || k.want == "" && text != "" {
			t.Errorf("%s: %q, want %q", name, text, k.want)
		}
		if early := j.rec.State < grid.Assigned; (j.rec.Altered == nil) != early && j.rec.State != grid.Moving {
			t.Errorf("%s: altered: %v", name, j.rec.Altered)
		}
	}
}

// An owner gives a job back that its home wants, unless it may end or start here first, or the home could not take it.
func TestWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	epoch := grid.Epoch{Term: 1, Hop: 2}
	for name, k := range map[string]struct {
		change func(*grid.Record)
		ack    wire.ReportAck
		from   grid.PeerID
		want   string
	}{
		"it waits here":                  {func(r *grid.Record) { r.Local = "17" }, wire.ReportAck{Back: true}, her, "makeOffer 1 peer-b"},
		"it has no place yet":            {func(r *grid.Record) { r.State = grid.Ready }, wire.ReportAck{Back: true}, her, "makeOffer 1 peer-b"},
		"it is not wanted":               {func(r *grid.Record) { r.Local = "17" }, wire.ReportAck{}, her, ""},
		"another says so":                {func(r *grid.Record) { r.Local = "17" }, wire.ReportAck{Back: true}, him, ""},
		"of another epoch":               {func(r *grid.Record) { r.Local, r.Epoch.Hop = "17", 3 }, wire.ReportAck{Back: true}, her, ""},
		"it is submitted just now":       {func(*grid.Record) {}, wire.ReportAck{Back: true}, her, ""},
		"it runs":                        {func(r *grid.Record) { r.State, r.Local = grid.Running, "17" }, wire.ReportAck{Back: true}, her, ""},
		"it has ended":                   {func(r *grid.Record) { r.State, r.Local, r.End = grid.Assigned, "17", grid.Failed }, wire.ReportAck{Back: true}, her, ""},
		"it is cancelled":                {func(r *grid.Record) { r.Local, r.CancelRequested = "17", true }, wire.ReportAck{Back: true}, her, ""},
		"it was given to another":        {func(r *grid.Record) { r.Local, r.Superseded = "17", grid.Epoch{Term: 2} }, wire.ReportAck{Back: true}, her, ""},
		"its attempt is missing":         {func(r *grid.Record) { r.Local, r.Missing = "17", 5 }, wire.ReportAck{Back: true}, her, ""},
		"it is not owned here":           {func(r *grid.Record) { r.Local, r.Role = "17", grid.Tombstone }, wire.ReportAck{Back: true}, her, ""},
		"it is offered to another":       {func(r *grid.Record) { r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Offering, To: him} }, wire.ReportAck{Back: true}, her, "withdrawOffer 1 its home wants it back"},
		"it is offered to its home":      {func(r *grid.Record) { r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Offering, To: her} }, wire.ReportAck{Back: true}, her, ""},
		"it is with another, on the way": {func(r *grid.Record) { r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Committed, To: him} }, wire.ReportAck{Back: true}, her, ""},
	} {
		_, _, j, a := termsOf(t, func(r *grid.Record) { r.Job, r.Epoch = jobOf(her, "b", "1"), epoch; k.change(r) })
		k.ack.Job, k.ack.Epoch = j.rec.Job.ID, epoch
		if got := a.step(Message{k.from, k.ack}); got != k.want {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
	_, o, j, a := termsOf(t, func(r *grid.Record) { r.Job, r.Epoch, r.Local = jobOf(her, "b", "1"), epoch, "17" })
	o.gates.members[her].live = grid.Dead
	if got := a.step(Message{her, wire.ReportAck{Job: j.rec.Job.ID, Epoch: epoch, Back: true}}); got != "" {
		t.Errorf("its home is dead: %s", got)
	}
}

// The deadline of its home is the owner's, but for what a word needs to come.
func TestADeadlineIsHeard(t *testing.T) {
	t.Parallel()
	for off, taken := range map[grid.Tick]bool{
		-deadlineSlack - 1: true, -deadlineSlack: false, 0: false, deadlineSlack: false, deadlineSlack + 1: true,
	} {
		m, _, j, _ := termsOf(t, func(r *grid.Record) { r.Job = jobOf(her, "b", "1") })
		was := m.now + grid.Hour
		j.rec.Job.Terms.Deadline = was
		if m.hearDeadline(j, m.ahead(was+off)); (j.rec.Job.Terms.Deadline != was) != taken || taken && j.rec.Job.Terms.Deadline != was+off || taken != (len(m.out) > 0) {
			t.Errorf("%d off: %d, saved: %v", off, j.rec.Job.Terms.Deadline-was, m.out)
		}
		if m.hearDeadline(j, wire.In{}); j.rec.Job.Terms.Deadline == 0 {
			t.Error("no word of a deadline takes it away")
		}
	}
}

// The word of an alteration acknowledges the last report of the owner, which lets it start the job. So it is not said while that
// would not be acknowledged: this journal was put back, and all are asked who has the job; or the owner has an older version.
func TestAnAlterationAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	at, urgent := grid.Epoch{Term: 1, Hop: 2}, 3
	for name, k := range map[string]struct {
		state   grid.State
		version grid.Hash
		asking  bool
		said    bool
	}{
		"all is known":                        {grid.Assigned, grid.Hash{}, false, true},
		"others are asked, and it waits":      {grid.Assigned, grid.Hash{}, true, false},
		"its owner has another version":       {grid.Assigned, grid.Hash{7}, false, false},
		"its owner has this version, or says": {grid.Assigned, wire.JobDigest(jobOf(me, "a", "1")), false, true},
	} {
		c := signed(watching(her, func(r *grid.Record) { r.State = k.state }))
		id := jobOf(me, "a", "1").ID
		if k.asking {
			c.recovery.rolled = &rollback{waiting: map[grid.PeerID]bool{him: true}}
		}
		c.jobs[id].reconciled = true
		c.Step(c.now+1, Message{her, wire.Report{Job: id, Epoch: at, Number: 4, State: k.state, Version: k.version}})
		effects := c.Step(c.now+1, Alter{Token: 1, Job: id, To: grid.Alteration{Priority: &urgent}, By: "alice"})
		if a, _ := only[Answer](effects); a.Err != nil {
			t.Fatalf("%s: %v", name, a.Err)
		}
		said := false
		for _, m := range sentTo(effects, her) {
			_, is := m.(wire.ReportAck)
			said = said || is
		}
		if said != k.said {
			t.Errorf("%s: acknowledged %t", name, said)
		}
	}
}

// A home that was put back takes the version that is out for the job's. What was wished before it was put back is in that version, or
// was taken back since; what its user has wished in this life, and was told, is not.
func TestWhatIsWishedSinceStays(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	out := j
	out.Name = "the version that is out"
	chain := []grid.Certificate{certificate(out, me, 5, her)}
	longer, many := 2*j.Walltime, 2
	c := signed(grid.Record{
		Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 1}}, AtHome: grid.AtHome{Altered: &grid.Alteration{Processes: &many}},
	})
	if a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 1, Job: j.ID, To: grid.Alteration{Walltime: &longer}, By: "alice"})); a.Err != nil {
		t.Fatal(a.Err)
	}
	c.Step(c.now+1, Message{her, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 1, State: grid.Assigned, Certificates: chain, Version: wire.JobDigest(out)}})
	c.Step(c.now+1, Message{her, wire.Recalled{Job: out, Epoch: grid.Epoch{Term: 1, Hop: 5}, Owning: true, Certificates: chain}})
	r := c.jobs[j.ID].rec
	if r.Job.Name != out.Name || r.Altered == nil || r.Altered.Walltime == nil || *r.Altered.Walltime != longer || r.Altered.Processes != nil {
		t.Errorf("it is %q, altered: %+v", r.Job.Name, r.Altered)
	}
}
