package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job of another home was given away, and its candidate forgotten before it said that it owns it. It
// comes back, PREPARED, and owns it, as the home knows by the certificate. One that had owned it, and asks out of
// another journal, does not.
func TestACandidateThatWasForgottenOwnsTheJob(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	ready, other := grid.JournalID{Incarnation: 3, Life: 4, Sequence: 5}, grid.JournalID{Incarnation: 9, Life: 1, Sequence: 1}
	at := grid.Epoch{Term: 1, Hop: 2}
	for name, k := range map[string]struct {
		owned   bool // it has said so
		journal grid.JournalID
		commits bool
	}{
		"it never said a word":        {journal: ready, commits: true},
		"it has owned it":             {owned: true, journal: ready},
		"its journal is another one":  {journal: other},
		"it has, and it is a new one": {owned: true, journal: other},
	} {
		c := signed(grid.Record{
			Job: j, State: grid.Moving,
			Tenure: grid.Tenure{
				Role: grid.Tombstone, Owner: him, Epoch: at, Candidate: ready, Telling: true,
				Handoff:      grid.Handoff{Phase: grid.Committed, To: him, Epoch: at},
				Certificates: []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, him)},
			},
		})
		b := wire.HandoffID{Job: j.ID, Epoch: at, To: him, Digest: wire.JobDigest(j)}
		if k.owned {
			c.Step(1_000_001, Message{him, wire.Owned{Handoff: b, Owner: him}})
		} else {
			c.Step(1_000_001, Forget{Site: him, By: "root"})
		}
		if c.jobs[j.ID].rec.Handoff.Phase != grid.NoHandoff {
			t.Fatalf("%s: Commit is repeated", name)
		}
		want := wire.VerdictAborted
		if k.commits {
			want = wire.VerdictCommitted
		}
		for _, m := range sentTo(c.Step(1_000_002, Message{him, wire.Inquire{Handoff: b, Journal: k.journal}}), him) {
			if s, is := m.(wire.InquireReply); is && (s.Verdict != want || s.Certificate.To == him != k.commits) {
				t.Errorf("%s: verdict %d, certificate %+v", name, s.Verdict, s.Certificate)
			}
		}
		if k.journal != ready {
			continue
		}
		commits := false
		for _, m := range sentTo(c.Step(1_000_003, Message{him, wire.Ready{Handoff: b, Journal: k.journal}}), him) {
			_, is := m.(wire.Commit)
			commits = commits || is
		}
		if commits != k.commits {
			t.Errorf("%s: it is READY, and is told Commit: %t", name, commits)
		}
	}
}

// Who does not know a job that it has offered, and is not its home, may have lost that it gave it away: it
// does not say that the offer is dead.
func TestWhoHasLostAJobDoesNotAbort(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		job    grid.Job
		aborts bool
	}{"another's": {jobOf(her, "b", "1"), false}, "its own": {jobOf(me, "a", "1"), true}} {
		c := signed()
		b := wire.HandoffID{Job: k.job.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: him, Digest: wire.JobDigest(k.job)}
		aborts := false
		for _, m := range sentTo(c.Step(1_000_001+grid.Minute, Message{him, wire.Ready{Handoff: b}}), him) {
			_, is := m.(wire.Abort)
			aborts = aborts || is
		}
		if aborts != k.aborts {
			t.Errorf("%s: %t", name, aborts)
		}
	}
}
