package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A member that was never given a job names the epoch at which another owns it, and
// a certificate that nobody signed.
func TestNobodyReportsAtTheEpochOfAnother(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}, Run: grid.Run{Started: 5}})
	forged := []grid.Certificate{{Epoch: at, To: him, Signature: []byte("forged")}}
	effects := c.Step(1_000_001, Message{him, wire.Report{Job: j.ID, Epoch: at, Number: 9, State: grid.StageOut, End: grid.Completed, Certificates: forged}})
	if r := c.jobs[j.ID].rec; r.State != grid.Running || r.Owner != her {
		t.Errorf("ended by a stranger: %s, owner %s", r.State, r.Owner)
	}
	if answers := sentTo(effects, him); len(answers) != 1 || answers[0].Kind() != wire.KindError {
		t.Errorf("answered %+v", answers)
	}
}

// A former owner, which has given the job to another, offers it to its home: the
// home would own it beside the one who has it.
func TestAFormerOwnerDoesNotGiveAJobHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	chain := []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Running,
		Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}, Report: 3, Certificates: chain},
		Run:    grid.Run{Started: 5},
	})
	o := offerOf(j, 9, 0)
	o.Certificates = chain[:1]
	c.Step(1_000_001, Message{her, o})
	c.Step(1_000_002, shot(1_000_002))
	c.Step(1_000_003, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, her, 9, me)}})
	if r := c.jobs[j.ID].rec; r.Role != grid.Watching || r.Owner != him {
		t.Errorf("it is %s here, and its owner is %s", r.Role, r.Owner)
	}
}
