package wire

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func (d draw) message(kind Kind) Message {
	switch kind {
	case KindHello:
		return Hello{d.word(), d.site(), d.journal(), d.u64(), d.wait()}
	case KindEstimateRequest:
		return EstimateRequest{d.u64(), many(d, 3, func() Question {
			return Question{d.jobID(), d.demand(), grid.Tick(d.n(1, int64(grid.MaxWalltime))), d.wait(), d.queue(), d.maybePeer(), d.maybeReservation(), d.word(), In(d.ago()), d.wait()}
		}), d.yes()}
	case KindEstimateReply:
		return EstimateReply{d.u64(), d.site(), many(d, 3, func() Answer { return Answer{d.jobID(), d.estimate()} }), d.u32()}
	case KindOffer:
		m := Offer{d.handoff(), d.job(), d.wait(), d.span(), d.certificates(0), d.u32(), d.maybeJournal(), d.wait(), In(d.ago())}
		m.Handoff.Job, m.Handoff.Digest = m.Job.ID, JobDigest(m.Job)
		return m
	case KindAccept:
		return Accept{d.handoff(), d.journal()}
	case KindRefuse:
		return Refuse{d.handoff(), d.estimate()}
	case KindReady:
		return Ready{d.handoff(), d.journal()}
	case KindAbort:
		return Abort{d.handoff(), d.word()}
	case KindCommit:
		return Commit{d.handoff(), d.yes(), d.maybeCertificate(), d.maybeJournal(), d.maybeJournal()}
	case KindOwned:
		return Owned{d.handoff(), d.maybePeer(), d.maybeCertificate()}
	case KindInquire:
		return Inquire{d.handoff(), d.maybeJournal()}
	case KindInquireReply:
		return InquireReply{d.handoff(), Verdict(d.n(1, 4)), d.maybePeer(), d.yes(), d.maybeCertificate(), d.maybeJournal()}
	case KindDeclined:
		return Declined{d.handoff(), d.journal(), d.maybeJournal()}
	case KindUnknown:
		return Unknown{d.handoff(), d.journal()}
	case KindReport:
		return d.arrive(Report{
			d.jobID(), d.epoch(), d.u64(), grid.State(d.n(1, int64(grid.Lost))), d.u32(), grid.LocalID(d.word()),
			d.ago(), d.ago(), In(d.ago()), rapid.SampledFrom([]grid.State{0, grid.Completed, grid.Failed, grid.Lost}).Draw(d.T, "end"),
			int(d.n(-1<<31, 1<<31-1)), d.yes(), int(d.n(0, maxSignal)), d.word(), d.yes(), d.manifest(), d.certificates(0), d.usage(), d.version(), Ago{}, nil, "", "",
		})
	case KindReportAck:
		return ReportAck{
			d.jobID(), d.epoch(), d.u64(), d.yes(), d.yes(), d.yes(), In(d.ago()), rapid.SampledFrom([]grid.State{0, grid.Completed, grid.Failed, grid.Lost}).Draw(d.T, "end"),
			int(d.n(-1<<31, 1<<31-1)), d.yes(), int(d.n(0, maxSignal)),
		}
	case KindCancel:
		return Cancel{d.jobID(), d.epoch()}
	case KindClosed:
		return Closed{d.jobID(), d.u32()}
	case KindError:
		return Error{Kind(d.n(0, 255)), "", d.word(), d.epoch(), d.epoch()}
	case KindRecall:
		return Recall{d.jobID(), d.epoch()}
	case KindRecalled:
		return Recalled{d.job(), d.epoch(), d.yes(), d.wait(), d.yes(), d.certificates(0), In(d.ago())}
	case KindSeen:
		return Seen{many(d, MaxJournals, d.journal), many(d, MaxBoots, d.u64), d.journal(), d.yes(), d.u32(), d.u32(), d.u32()}
	case KindRecount:
		return Recount{d.u64(), d.maybeJournal()}
	case KindRecounted:
		return Recounted{many(d, 5, func() Claim { return Claim{d.jobID(), d.epoch(), d.yes(), d.yes()} }), many(d, 5, func() Trace { return Trace{d.jobID(), d.epoch()} })}
	case KindSuperseded:
		return Superseded{d.jobID(), d.epoch(), d.epoch(), d.maybePeer(), d.yes(), d.u64()}
	case KindRequest:
		return d.request()
	case KindResponse:
		return d.response()
	case KindMoved:
		return Moved{d.jobID(), d.certificates(1), d.version()}
	case KindMovedAck:
		return MovedAck{d.jobID(), d.epoch()}
	case KindAnnounce:
		return Announce{d.site(), d.starts()}
	case KindReserve:
		return d.reserve()
	case KindReserved:
		m := Reserved{
			Of: rapid.SampledFrom([]Kind{KindReserve, KindConfirm, KindRelease, KindChange}).Draw(d.T, "of"), Reservation: d.reservation(),
			Slack: d.wait(), Sent: d.wait(), Clock: d.wait(),
		}
		if d.yes() {
			m.Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: d.word(), Again: d.wait()}
		}
		return m
	case KindConfirm:
		return Confirm{d.reservationID(), d.reserved(), d.wait()}
	case KindRelease:
		return Release{d.reservationID(), d.word()}
	case KindChange:
		from, to := d.interval()
		m := Change{d.reservationID(), d.u64()/2 + 1, d.jobID(), d.nodes(0), from, to, d.details(), d.wait(), d.yes(), 0}
		if len(m.Nodes) == 0 {
			m.Count = int(d.n(0, grid.MaxReservedNodes))
		}
		return m
	case KindReservationWord:
		return ReservationWord{d.reservation(), d.wait()}
	case KindReservationAck:
		return ReservationAck{d.reservationID(), d.u64()}
	}
	return d.coallocation(kind)
}

func (d draw) usage() grid.Usage {
	return grid.Usage{CPU: grid.Tick(d.n(0, int64(grid.MaxUsedCPU))), Memory: d.n(0, grid.MaxUsedMemory)}
}

func (d draw) status() *Status {
	return &Status{
		Name: d.word(), User: grid.User{Home: d.peer(), Name: d.name()}, Home: d.peer(), Owner: d.maybePeer(),
		State: grid.State(d.n(1, int64(grid.Lost))), Epoch: d.epoch(), Demand: d.demand(),
		Walltime: grid.Tick(d.n(1, int64(grid.MaxWalltime))), WalltimeDefaulted: d.yes(), Queue: d.queue(),
		Submitted: d.ago(), Started: d.ago(), Finished: d.ago(), Ended: d.ago(), ContactLost: d.ago(),
		Predicted: In(d.ago()), Estimate: In(d.ago()),
		End:      rapid.SampledFrom([]grid.State{0, grid.Completed, grid.Lost}).Draw(d.T, "end"),
		ExitCode: int(d.n(-1<<31, 1<<31-1)), HasExit: d.yes(), Signal: int(d.n(0, maxSignal)),
		Reason: d.word(), Cancel: d.yes(), Outputs: d.manifest(), Usage: d.usage(), Output: d.word(), Error: d.word(), Local: grid.LocalID(d.word()),
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := draw{t}.message(kind)
				frame, err := Encode(m)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Decode(frame)
				if err != nil || !reflect.DeepEqual(got, m) {
					t.Fatalf("%+v\nbecomes\n%+v, %v", m, got, err)
				}
				if o, ok := got.(Offer); ok && JobDigest(o.Job) != o.Handoff.Digest {
					t.Fatal("the digest changed on the way")
				}
			})
		})
	}
}
