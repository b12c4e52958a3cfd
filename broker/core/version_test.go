package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An owner that lost a part of its journal has an older version of the job than its home has given it. The home lets it
// start nothing of that, and tells it the job; a run that has begun is reported as ever.
func TestAnOwnerOfAnOlderVersionIsTold(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	old := j
	old.Walltime = j.Walltime / 2
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, k := range map[string]struct {
		version wire.Report
		told    bool
	}{
		"it waits, and is of an older one":   {wire.Report{State: grid.Assigned, Version: wire.JobDigest(old)}, true},
		"it is moving":                       {wire.Report{State: grid.Moving, Version: wire.JobDigest(old)}, true},
		"it runs":                            {wire.Report{State: grid.Running, Version: wire.JobDigest(old), Started: wire.Ago{Span: 1, Known: true}}, false},
		"it waits, and is of the present":    {wire.Report{State: grid.Assigned, Version: wire.JobDigest(j)}, false},
		"it does not say, as it is known":    {wire.Report{State: grid.Assigned}, false},
		"it is nobody's that the home knows": {wire.Report{State: grid.Assigned, Version: wire.JobDigest(old), Epoch: grid.Epoch{Term: 1}}, false},
	} {
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 1}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}})
		m := k.version
		m.Job, m.Number = j.ID, 2
		if m.Epoch == (grid.Epoch{}) {
			m.Epoch = at
		}
		acknowledged, superseded, effects := heardOf(c, m)
		told := false
		for _, m := range sentTo(effects, her) {
			r, is := m.(wire.Recalled)
			told = told || is && wire.JobDigest(r.Job) == wire.JobDigest(j) && r.Epoch == at
		}
		if told != k.told || (acknowledged || superseded) == told {
			t.Errorf("%s: told %t, acknowledged %t", name, told, acknowledged)
		}
	}
}

// It takes that version from its home alone, and makes its attempt anew.
func TestAnOwnerTakesTheVersionOfItsHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	now := j
	now.Walltime = 2 * j.Walltime
	at := grid.Epoch{Term: 1, Hop: 3}
	for name, k := range map[string]struct {
		by    grid.PeerID
		epoch grid.Epoch
		state grid.State
		taken bool
	}{
		"it waits":               {her, at, grid.Assigned, true},
		"it has no place":        {her, at, grid.Ready, true},
		"it is offered":          {her, at, grid.Moving, true},
		"it runs":                {her, at, grid.Running, false},
		"another tells it":       {him, at, grid.Assigned, false},
		"it is of another epoch": {her, grid.Epoch{Term: 1, Hop: 2}, grid.Assigned, false},
	} {
		was := grid.Record{Job: j, State: k.state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Certificates: []grid.Certificate{certificate(j, her, 3, me)}}, Run: grid.Run{Attempt: 1, Local: "7"}}
		c := signed(was)
		one := c.jobs[j.ID]
		if k.state == grid.Moving {
			one.rec.State = grid.Assigned
			c.ownership.makeOffer(one, him, 0, 1)
		}
		effects := c.Step(c.now+1, Message{k.by, wire.Recalled{Job: now, Epoch: k.epoch}})
		taken := one.rec.Job.Walltime == now.Walltime && one.sum() == wire.JobDigest(now)
		w, withdrawn := only[Withdraw](effects)
		if withdrawn = withdrawn && w.ID == c.attempt(one); taken != k.taken || withdrawn != (taken && k.state != grid.Ready) || taken && one.rec.Handoff.Phase != grid.NoHandoff {
			t.Errorf("%s: taken %t, withdrawn %t, %s", name, taken, withdrawn, one.rec.State)
		}
		if !k.taken || k.state == grid.Ready {
			continue
		}
		one.homeHeard, one.recovered = c.now, false
		if l, again := only[Launch](c.Step(c.now+1, Withdrawn{ID: c.attempt(one), Done: true})); !again || l.Submission.Job.Walltime != now.Walltime {
			t.Errorf("%s: submitted again %t, of %d", name, again, l.Submission.Job.Walltime)
		}
	}
}

// The owner of what is PREPARED here does not know it any more: it is declined at once, and a home asks that owner for the
// job, so that its administrator reads that it is lost.
func TestWhatItsOwnerDoesNotKnowIsDeclined(t *testing.T) {
	t.Parallel()
	for name, home := range map[string]grid.PeerID{"at its home": me, "at another": her} {
		j := jobOf(home, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{
			Role: grid.Prepared, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 1}, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 2}},
		}})
		m := wire.InquireReply{Handoff: c.ownership.preparedHandoff(c.jobs[j.ID]), Verdict: wire.VerdictUnknown}
		c.Step(c.now+1, Message{her, m})
		if r := c.jobs[j.ID].rec.Role; r != grid.Prepared {
			t.Errorf("%s: another's word makes it %s", name, r)
		}
		var declined, asked bool
		for _, m := range sentTo(c.Step(c.now+1, Message{him, m}), him) {
			switch m.(type) {
			case wire.Declined:
				declined = true
			case wire.Recall:
				asked = true
			}
		}
		if r := c.jobs[j.ID].rec.Role; r == grid.Prepared || !declined || asked != (home == me) {
			t.Errorf("%s: it is %s, declined %t, asked %t", name, r, declined, asked)
		}
	}
}

// An owner that does not know yet what its journal lacks gives no verdict, which would count as that it knows nothing.
func TestNoVerdictWhileAllAreAsked(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := rolledBackWith(waiting(j))
	b := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 4}, To: him, Digest: wire.JobDigest(j)}
	if said := sentTo(c.Step(c.now+1, Message{him, wire.Inquire{Handoff: b}}), him); len(said) > 0 {
		t.Errorf("it says %+v", said)
	}
}
