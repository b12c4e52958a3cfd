package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// preparedHere is this site, PREPARED for a job that its home b has offered, just started; it has read the directories of jobs without a record alone.
func preparedHere() (*Core, *job) {
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
		Job: jobOf(her, "b", "1"), State: grid.Moving,
		Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 2}}},
	}})
	c.Step(1_000_000, Boot{})
	c.Step(c.now+1, PeerChanged{her, grid.Alive})
	c.Step(c.now+1, Reconciled{All: true})
	return c, c.sorted()[0]
}

// A site was put back to when it was PREPARED, and has owned the job and begun with it since. No word of others has it give the job up, and drop its start
// tokens, before the control directory has told of that.
func TestWhatWasPreparedMayHaveBeenOwned(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]func(wire.HandoffID) wire.Message{
		"aborted": func(b wire.HandoffID) wire.Message { return wire.Abort{Handoff: b} },
		"aborted, when asked": func(b wire.HandoffID) wire.Message {
			return wire.InquireReply{Handoff: b, Verdict: wire.VerdictAborted}
		},
		"not known, when asked": func(b wire.HandoffID) wire.Message {
			return wire.InquireReply{Handoff: b, Verdict: wire.VerdictUnknown}
		},
		"its home was put back": func(wire.HandoffID) wire.Message { return wire.Recount{Sequence: 5} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, j := preparedHere()
			id, epoch, said := j.rec.Job.ID, j.rec.Handoff.Epoch, word(c.ownership.preparedHandoff(j))
			if got := c.Step(c.now+1, Message{her, said}); c.jobs[id] == nil || j.rec.Role != grid.Prepared || len(sentTo(got, her)) > 0 {
				t.Fatalf("it is %s, and says %v", j.rec.Role, sentTo(got, her))
			}
			c.Step(c.now+1, Reconciled{All: true, Jobs: []grid.JobID{id}, Attempts: []grid.AttemptID{{Job: id, Epoch: epoch, Attempt: 1}}})
			if j.rec.Role != grid.Owning || j.rec.State != grid.Assigned {
				t.Errorf("it is %s, %s", j.rec.Role, j.rec.State)
			}
		})
	}
}

// Where that cannot be read its home hears, after a while, that it may have been there.
func TestWhatWasPreparedAndCannotBeRead(t *testing.T) {
	t.Parallel()
	c, j := preparedHere()
	want := wire.Trace{Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch}
	damaged := Reconciled{All: true, Damaged: []grid.JobID{want.Job}}
	c.Step(c.now+1, damaged)
	for _, k := range []struct {
		after   grid.Tick
		answers bool
	}{{1, false}, {patience, true}} {
		c.Step(c.now+k.after, damaged)
		told := Message{}
		for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Recount{Sequence: 5}}), her) {
			if r, is := m.(wire.Recounted); is && len(r.Traces) == 1 && r.Traces[0] == want {
				told.Message = m
			}
		}
		if (told.Message != nil) != k.answers {
			t.Errorf("after %d it tells of it: %t", k.after, told.Message != nil)
		}
	}
}

// Nor does the word of an administrator here, who forgets the site that has offered it: it is declined when the directory has nothing of it.
func TestWhatWasPreparedByWhoIsForgotten(t *testing.T) {
	t.Parallel()
	for _, began := range []bool{false, true} {
		c, j := preparedHere()
		answer, _ := only[Answer](c.Step(c.now+1, Forget{Token: 1, Site: her, Fenced: true, By: "root"}))
		if j.rec.Role != grid.Prepared || len(answer.Fates) != 1 || answer.Fates[0].Verdict != Decline {
			t.Fatalf("it is %s, its fate %v", j.rec.Role, answer.Fates)
		}
		said := Reconciled{All: true, Jobs: []grid.JobID{j.rec.Job.ID}}
		if began {
			said.Attempts = []grid.AttemptID{{Job: j.rec.Job.ID, Epoch: j.rec.Handoff.Epoch, Attempt: 1}}
		}
		if c.Step(c.now+1, said); began != (j.rec.Role == grid.Owning) || began == (j.rec.Role == grid.Declined) {
			t.Errorf("begun %t: it is %s", began, j.rec.Role)
		}
	}
}

// A site was put back to when it was PREPARED, and had declined the job since and dropped its files: it looks for them before it owns it.
// (gsim faults, seed 1795969202090275: it was FAILED after 20 attempts.)
func TestWhatWasPreparedMayLackItsInputs(t *testing.T) {
	t.Parallel()
	for _, missing := range []error{nil, errors.New("data")} {
		for _, asked := range []bool{false, true} {
			c, j := preparedHere()
			j.rec.Job.Inputs = grid.Manifest{{Path: "data", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
			j.digest = grid.Hash{}
			c.Step(c.now+1, Reconciled{All: true, Jobs: []grid.JobID{j.rec.Job.ID}})
			b := c.ownership.preparedHandoff(j)
			given := certificate(j.rec.Job, her, b.Epoch.Hop, me)
			word := wire.Message(wire.Commit{Handoff: b, Certificate: given})
			if asked {
				word = wire.InquireReply{Handoff: b, Verdict: wire.VerdictCommitted, Owner: me, Certificate: given}
			}
			effects := c.Step(c.now+1, Message{her, word})
			for range 3 { // a word of before the start is asked about
				if _, looks := only[Check](effects); looks || len(sentTo(effects, her)) == 0 {
					break
				}
				effects = c.Step(c.now+1, Message{her, wire.InquireReply{Handoff: b, Verdict: wire.VerdictCommitted, Owner: me, Certificate: given}})
			}
			looks, _ := only[Check](effects)
			if j.rec.Role != grid.Prepared || looks.Epoch != b.Epoch || len(looks.Files) != 1 {
				t.Fatalf("asked %t: it is %s before it has looked, and looks for %+v", asked, j.rec.Role, looks)
			}
			said := sentTo(c.Step(c.now+1, Checked{Job: looks.Job, Epoch: looks.Epoch, Missing: missing}), her)
			c.Step(c.now+1, Message{her, wire.InquireReply{Handoff: b, Verdict: wire.VerdictCommitted, Owner: me, Certificate: given}})
			if want := map[bool]grid.Role{true: grid.Owning, false: grid.Declined}[missing == nil]; j.rec.Role != want {
				t.Errorf("asked %t, missing %v: it is %s, and said %+v", asked, missing, j.rec.Role, said)
			}
		}
	}
}
