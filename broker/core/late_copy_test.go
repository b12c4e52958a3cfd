package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site has owned a job and given it on, and its journal has lost all that. A late copy of the offer makes it PREPARED anew: who has the job since
// shows the certificate by which it gave it away, and that offer is over, and so is each copy of it.
func TestALateOfferOfWhatWasGivenOn(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	o := offerOf(j, 2, 0)
	for name, k := range map[string]struct {
		by    grid.PeerID
		hop   uint32
		first bool // before the offer
		holds bool
	}{
		"it comes, and then that word":   {by: me, hop: 3},
		"that word comes before":         {by: me, hop: 3, first: true},
		"it was given on before":         {by: me, hop: 1, holds: true},
		"before, and that word is first": {by: me, hop: 1, first: true, holds: true},
		"another has signed that":        {by: it, hop: 3, holds: true},
	} {
		c := signed()
		d := certificate(j, k.by, k.hop, it)
		word := Message{it, wire.Owned{Handoff: wire.HandoffID{Job: j.ID, Epoch: d.Epoch, To: it, Digest: wire.JobDigest(j)}, Owner: it, Certificate: d}}
		offered := func() {
			c.Step(c.now+1, Message{her, o})
			c.Step(c.now+1, shot(c.now+1))
		}
		if k.first {
			c.Step(c.now+1, word)
		} else {
			offered()
			c.Step(c.now+1, word)
		}
		offered()
		if is := c.jobs[j.ID] != nil && c.jobs[j.ID].rec.Role == grid.Prepared; is != k.holds {
			t.Errorf("%s: PREPARED %t", name, is)
		}
	}
}

// A home has heard by a certificate who got a job, and nothing from him. He has lost his journal since, which had the job, and asks as one that is PREPARED: the
// home does not say that it is his. To one of the same journal it says how far that was.
func TestACertificateIsOfTheJournalOfThen(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	then := grid.JournalID{Incarnation: 7, Life: 3, Sequence: 40}
	handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: him, Digest: wire.JobDigest(j)}
	for name, k := range map[string]struct {
		now  grid.JournalID
		want wire.Verdict
	}{
		"the same":        {then, wire.VerdictCommitted},
		"another":         {grid.JournalID{Incarnation: 8, Life: 4, Sequence: 2}, wire.VerdictUnknown},
		"it says nothing": {grid.JournalID{}, wire.VerdictCommitted},
	} {
		c := signed(grid.Record{
			Job: j, State: grid.Assigned,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
		})
		c.Step(c.now+1, PeerJournal{him, then, 1})
		c.Step(c.now+1, Message{her, wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}}})
		c.Step(c.now+1, PeerJournal{him, k.now, 2})
		answers := sentTo(c.Step(c.now+1, Message{him, wire.Inquire{Handoff: handoff, Journal: k.now}}), him)
		if len(answers) != 1 {
			t.Fatalf("%s: answered %+v", name, answers)
		}
		if s, is := answers[0].(wire.InquireReply); !is || s.Verdict != k.want || s.Verdict == wire.VerdictCommitted && s.Ready != then {
			t.Errorf("%s: answered %+v", name, answers[0])
		}
	}
}
