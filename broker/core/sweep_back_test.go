package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The files of a sweep do not come in time, of which a lost branch had them: what has been at a site since is not told to have failed, nor what was
// told to have ended.
func TestASweepFailsWhoseFilesALostBranchHad(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 9}
	for name, k := range map[string]struct {
		of   func(third grid.JobID) (own []grid.AttemptID, told []grid.Record, theirs []wire.Trace)
		want grid.State
	}{
		"nothing is known of it": {func(grid.JobID) (o []grid.AttemptID, t []grid.Record, s []wire.Trace) { return }, grid.Failed},
		"it was here": {func(id grid.JobID) (o []grid.AttemptID, t []grid.Record, s []wire.Trace) {
			return []grid.AttemptID{{Job: id, Epoch: at, Attempt: 1}}, nil, nil
		}, grid.Lost},
		"it was at another": {func(id grid.JobID) (o []grid.AttemptID, t []grid.Record, s []wire.Trace) {
			return nil, nil, []wire.Trace{{Job: id, Epoch: at}}
		}, grid.Lost},
		"its end was told": {func(id grid.JobID) (o []grid.AttemptID, t []grid.Record, s []wire.Trace) {
			return nil, []grid.Record{{Job: grid.Job{ID: id}, State: grid.Completed, Tenure: grid.Tenure{Epoch: at}, Run: grid.Run{End: grid.Completed}}}, nil
		}, grid.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, group := comingSweep(grid.SiteState{})
			own, told, theirs := k.of(group.Job(3))
			c.SetTold(told, nil)
			beginHeard(c, own...)
			c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
			c.Step(c.now+1, Message{her, wire.Recounted{Traces: theirs}})
			c.Step(c.now+1, Message{him, wire.Recounted{}})
			pass(c, 2*c.cfg.UploadLimit)
			g := c.groups.all[group]
			if g.of(3).State != k.want || g.of(1).State != grid.Failed {
				t.Errorf("it is %s, and the first %s", g.of(3).State, g.of(1).State)
			}
		})
	}
}

// A sweep was cancelled, and told that its last job ended before its turn, by a home whose journal was put back; who had got that job was not heard
// in time. What he says of it since changes no word: it stays KILLED, and he may forget it.
func TestAJobOfASweepThatWasToldKilledStaysSo(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 9}
	for name, owning := range map[string]bool{"he owns it": true, "he cannot prove that he does": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, group := comingSweep(grid.SiteState{})
			beginHeard(c)
			c.Step(c.now+1, CancelGroup{Group: group, By: "alice"})
			pass(c, 2*c.cfg.Lease)
			third := group.Job(3)
			if of := c.groups.all[group].of(3).State; of != grid.Killed {
				t.Fatalf("it is %s", of)
			}
			c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
			own := jobOf(me, "a", "1")
			own.ID = third
			m := wire.Recalled{Job: own, Epoch: at, Owning: owning}
			if owning {
				m.Certificates = []grid.Certificate{certificate(own, me, 9, her)}
			}
			c.Step(c.now+1, Message{her, m})
			closed := c.Step(c.now+1, Message{her, wire.Report{Job: third, Epoch: at, Number: 3, State: grid.StageOut, End: grid.Completed, Version: wire.JobDigest(own), Certificates: m.Certificates}})
			if r, of := c.jobs[third].rec, c.groups.all[group].of(3); r.State != grid.Killed || of.State != grid.Killed {
				t.Errorf("it is %s (%s), and %s by its group", r.State, r.Reason, of.State)
			}
			ends := false
			for _, m := range sentTo(closed, her) {
				ack, is := m.(wire.ReportAck)
				ends = ends || is && ack.Closed
			}
			if !ends {
				t.Errorf("he is told %v", sentTo(closed, her))
			}
		})
	}
}
