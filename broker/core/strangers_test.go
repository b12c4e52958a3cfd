package core

import (
	"errors"
	"fmt"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// standing is a job that this site knows, in one role and state.
type standing struct {
	name   string
	record grid.Record
}

// standings are jobs of this home and of b, in the roles and states in which they may be here. Where another has to do with one, that is b or c.
func standings() (list []standing) {
	at, next := grid.Epoch{Term: 1, Hop: 2}, grid.Epoch{Term: 1, Hop: 3}
	add := func(name string, home grid.PeerID, change func(*grid.Record)) {
		site := map[grid.PeerID]grid.SiteName{me: "a", her: "b"}[home]
		r := grid.Record{Job: jobOf(home, site, "1"), State: grid.Ready, Submitted: 900_000, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Report: 3}}
		r.Job.Rerunnable = true
		r.Job.Inputs = grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
		if home == her {
			r.Certificates = []grid.Certificate{certificate(r.Job, her, 2, me)}
		} else {
			r.Trail = []grid.PeerID{him}
		}
		change(&r)
		list = append(list, standing{fmt.Sprintf("%s of %s", name, site), r})
	}
	for _, home := range []grid.PeerID{me, her} {
		add("ready", home, func(*grid.Record) {})
		add("submitted", home, func(r *grid.Record) { r.State, r.Run = grid.Assigned, grid.Run{Attempt: 1, Local: "l"} })
		add("running", home, func(r *grid.Record) {
			r.State, r.Run = grid.Running, grid.Run{Attempt: 1, Local: "l", Started: 900_000}
		})
		add("collecting", home, func(r *grid.Record) {
			r.State, r.Run = grid.Finished, grid.Run{Attempt: 1, Local: "l", Started: 900_000, Finished: 950_000, End: grid.Completed}
		})
		add("offered", home, func(r *grid.Record) {
			r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Offering, To: him, Epoch: next}
		})
		add("prepared", home, func(r *grid.Record) {
			r.Role, r.Owner, r.State, r.Handoff = grid.Prepared, him, grid.Moving, grid.Handoff{To: me, Epoch: next}
		})
	}
	add("ended", me, func(r *grid.Record) {
		r.State, r.Ended, r.Run = grid.Completed, 960_000, grid.Run{Started: 900_000, Finished: 950_000, End: grid.Completed, HasExit: true}
		r.Role, r.Owner = grid.Watching, him
	})
	add("elsewhere", me, func(r *grid.Record) { r.Role, r.Owner, r.State, r.Started = grid.Watching, him, grid.Running, 900_000 })
	add("coming home", me, func(r *grid.Record) {
		r.Role, r.Owner, r.State = grid.Watching, him, grid.StageOut
		r.Run = grid.Run{Started: 900_000, Finished: 950_000, End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 1}}}
	})
	add("its files are coming", me, func(r *grid.Record) { r.State = grid.StageIn })
	add("committed", me, func(r *grid.Record) {
		r.Role, r.Owner, r.State, r.Handoff = grid.Watching, him, grid.Moving, grid.Handoff{Phase: grid.Committed, To: him, Epoch: at}
	})
	add("handed on", her, func(r *grid.Record) {
		r.Role, r.Owner, r.Telling, r.Handoff = grid.Tombstone, him, true, grid.Handoff{Phase: grid.Committed, To: him, Epoch: next}
		r.Certificates, r.Epoch = append(r.Certificates, certificate(r.Job, me, 3, him)), next
	})
	add("reported", her, func(r *grid.Record) {
		r.State, r.Run = grid.StageOut, grid.Run{Attempt: 1, Started: 900_000, Finished: 950_000, End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 1}}}
	})
	add("closed", her, func(r *grid.Record) {
		r.Role, r.State, r.Closed, r.Ended, r.Run = grid.Tombstone, grid.Completed, true, 960_000, grid.Run{Started: 900_000, End: grid.Completed}
	})
	add("declined", her, func(r *grid.Record) {
		r.Role, r.Owner, r.State, r.Handoff, r.Ended = grid.Declined, him, grid.Moving, grid.Handoff{To: me, Epoch: next}, 960_000
	})
	return list
}

// unlike is what a step has changed of a job, or done with it; "" is nothing.
func unlike(c *Core, before grid.Record, effects []Effect) string {
	j := c.job(before.Job.ID)
	if j == nil {
		return "it is gone"
	}
	if field, has, was := differs(&j.rec, &before); field != "" {
		return fmt.Sprintf("%s is %+v, and was %+v", field, has, was)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Launch, Kill, Withdraw, Discard, SetAside, Fetch, Collect, Gather, Export, Check, Furnish:
			return fmt.Sprintf("%T %+v", e, e)
		case Send:
			if e.To != it {
				return fmt.Sprintf("%s is told %+v", e.To, e.Message)
			}
		}
	}
	return ""
}

// A member that has nothing to do with a job may say of it what it will, at any epoch: nothing comes of it, and nobody else hears it.
func TestAStrangerChangesNothing(t *testing.T) {
	t.Parallel()
	said := 0
	for _, s := range standings() {
		id := s.record.Job.ID
		for _, at := range []grid.Epoch{s.record.Epoch, s.record.Handoff.Epoch, {Term: 1, Hop: 1}, {Term: 1, Hop: 9}, {Term: 2, Hop: 4}} {
			for _, to := range []grid.PeerID{it, him, me} {
				b := wire.HandoffID{Job: id, Epoch: at, To: to, Digest: wire.JobDigest(s.record.Job)}
				forged := []grid.Certificate{{Epoch: at, To: it, Signature: []byte("forged")}}
				started := wire.Ago{Span: 5, Known: true}
				for _, m := range []wire.Message{
					wire.Offer{Handoff: b, Job: s.record.Job, Certificates: forged},
					wire.Accept{Handoff: b}, wire.Refuse{Handoff: b, Estimate: grid.Estimate{Refusal: forNow("no")}}, wire.Ready{Handoff: b}, wire.Abort{Handoff: b}, wire.Commit{Handoff: b, Certificate: forged[0]},
					wire.Owned{Handoff: b, Owner: it, Certificate: forged[0]}, wire.Inquire{Handoff: b}, wire.Declined{Handoff: b}, wire.Unknown{Handoff: b},
					wire.InquireReply{Handoff: b, Verdict: wire.VerdictAborted}, wire.InquireReply{Handoff: b, Verdict: wire.VerdictCommitted, Owner: it}, wire.InquireReply{Handoff: b, Verdict: wire.VerdictUnknown},
					wire.Report{Job: id, Epoch: at, Number: 99, State: grid.Running, Started: started, Cancel: true},
					wire.Report{Job: id, Epoch: at, Number: 99, State: grid.StageOut, End: grid.Completed, Started: started, Certificates: forged},
					wire.ReportAck{Job: id, Epoch: at, Number: 3, Cancel: true}, wire.ReportAck{Job: id, Epoch: at, Number: 3, Closed: true, End: grid.Failed}, wire.ReportAck{Job: id, Epoch: at, Number: 3, Back: true},
					wire.Superseded{Job: id, Of: at, Epoch: grid.Epoch{Term: 9}, Owner: it}, wire.Cancel{Job: id, Epoch: at}, wire.Closed{Job: id, Term: 9},
					wire.Moved{Job: id, Certificates: forged, Version: wire.JobDigest(s.record.Job)}, wire.MovedAck{Job: id, Epoch: at},
					wire.Recall{Job: id}, wire.Recalled{Job: s.record.Job, Epoch: at, Owning: true, Cancel: true, Certificates: forged}, wire.Gather{Job: id, Epoch: at}, wire.Gather{Job: id, Epoch: at, Begun: true},
					wire.Error{Of: wire.KindRecall, Job: id, Had: at}, wire.Error{Of: wire.KindReport, Job: id}, wire.Error{Of: wire.KindOffer, Job: id},
					wire.Request{Number: 4, Job: id, User: "alice", Wish: wire.WishCancel}, wire.Request{Number: 5, Job: id, User: "alice", Wish: wire.WishRemove},
				} {
					c := signed(s.record)
					before := c.job(id).rec
					if what := unlike(c, before, c.Step(c.now, Message{it, m})); what != "" {
						t.Errorf("%s: of %T at %s to %s: %s", s.name, m, at, to, what)
					}
					said++
				}
			}
		}
	}
	t.Logf("%d words", said)
}

// What is answered of another epoch, or of what the job is not at, is of a time that is over: nothing comes of it.
func TestAnswersOfAnotherTime(t *testing.T) {
	t.Parallel()
	for _, s := range standings() {
		r := s.record
		id, state := r.Job.ID, r.State
		owned := r.Role == grid.Owning
		for _, at := range []grid.Epoch{{Term: 1, Hop: 1}, {Term: 3}, r.Epoch} {
			own := at == r.Epoch && owned
			attempt := grid.AttemptID{Job: id, Epoch: at, Attempt: max(r.Attempt, 1)}
			out := grid.Manifest{{Path: "late"}}
			for _, k := range []struct {
				e     Event
				waits bool // for it
			}{
				{Launched{ID: attempt, Local: "other"}, own && state == grid.Assigned},
				{Launched{ID: attempt, Err: errors.New("no"), Kind: grid.Permanent}, own && state == grid.Assigned},
				{Progressed{Progress: grid.Progress{ID: attempt, Phase: grid.Started, Started: 7}}, own && (state == grid.Assigned || state == grid.Running || state == grid.Moving)},
				{Progressed{Progress: grid.Progress{ID: attempt, Phase: grid.Ended, Started: 7, Finished: 8}}, own && (state == grid.Assigned || state == grid.Running || state == grid.Moving)},
				{Progressed{Progress: grid.Progress{ID: attempt}, Err: errors.New("torn"), Damaged: true}, own && (state == grid.Assigned || state == grid.Running)},
				{Collected{Job: id, Epoch: at, Outputs: out}, own && state == grid.Finished},
				{Collected{Job: id, Epoch: at, Err: errors.New("no")}, own && state == grid.Finished},
				{Fetched{Job: id, Epoch: at, From: r.Owner, Set: OutputFiles}, at == r.Epoch && state == grid.StageOut}, // a home alone fetches it
				{Fetched{Job: id, Epoch: at, Set: InputFiles}, false},
				{Exported{Job: id, Epoch: at, Failed: []string{"x"}}, at == r.Epoch && r.Job.Home == me && (owned && state == grid.Finished || state == grid.StageOut)},
				{ExportedAgain{Job: id, Epoch: at, Why: "busy"}, false},
				{Checked{Job: id, Epoch: at, Missing: errors.New("in")}, own && (state == grid.Ready || state == grid.Moving)},
				{Checked{Job: id, Epoch: at}, false},
				{Weighed{Job: id, Cost: grid.SourceCost{Bytes: 9}}, false},
				{Furnished{Job: id, Err: errors.New("no"), Final: true}, state == grid.StageIn},
				{Notified{Job: id, Owed: grid.Owed{At: 5}}, false},
			} {
				if k.waits {
					continue
				}
				c := signed(r)
				before := c.job(id).rec
				if what := unlike(c, before, c.Step(c.now, k.e)); what != "" {
					t.Errorf("%s: of %T at %s: %s", s.name, k.e, at, what)
				}
				if c.job(id).weighed {
					t.Errorf("%s: %T", s.name, k.e)
				}
			}
		}
	}
}
