package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A word about a job that is gone meanwhile changes nothing.
func TestWordsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	id := jobOf(me, "a", "1").ID
	at := grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}}
	for _, e := range []Event{
		Collected{Job: id}, Fetched{Job: id}, Exported{Job: id}, ExportedAgain{Job: id}, Furnished{Job: id}, Weighed{Job: id}, Checked{Job: id},
		Launched{ID: at, Local: "1"}, Withdrawn{ID: at}, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Started}}, Notified{Job: id},
		PeerJournal{Peer: "peer-x"}, Message{her, wire.Moved{Job: id}},
	} {
		if effects := signed().Step(2_000_000, e); len(changesIn(effects)) > 0 || len(sentTo(effects, her)) > 0 {
			t.Errorf("%T: %+v", e, effects)
		}
	}
}

// Words for another site are not taken for words to this one.
func TestWordsForAnotherSite(t *testing.T) {
	t.Parallel()
	c := signed()
	to := wire.HandoffID{Job: jobOf(me, "a", "1").ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: him}
	if said := sentTo(c.Step(c.now+1, Message{her, wire.Inquire{Handoff: to}}), her); len(said) > 0 {
		t.Errorf("asked about the handoff to another it says %v", said)
	}
	said := sentTo(c.Step(c.now+1, Message{her, wire.Commit{Handoff: to}}), her)
	if len(said) != 1 || said[0].Kind() != wire.KindError {
		t.Errorf("to the commit for another it says %v", said)
	}
}

// What has ended elsewhere is remembered as long as copies may come, at the last epoch that it had here, and no more of it than
// there is room for.
func TestWhatHasClosedIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	c := bare()
	k := c.ownership.kernel
	k.now = 10 * grid.Day
	k.closed["old"], k.closed["late"] = closing{at: k.now - lateness - 1}, closing{at: k.now - lateness}
	k.forgetClosed()
	if _, old := k.closed["old"]; old || len(k.closed) != 1 {
		t.Errorf("it remembers %v", k.closed)
	}
	for n, h := range []grid.Epoch{{Term: 1, Hop: 1}, {Term: 1, Hop: 9}} {
		r := watched(jobOf(her, "b", "1"), grid.Epoch{Term: 1, Hop: 5})
		r.Handoff.Epoch = h
		k.take(&job{rec: r})
		k.dropClosed(k.jobs[r.Job.ID])
		if got := k.closed[r.Job.ID].epoch.Hop; got != []uint32{5, 9}[n] {
			t.Errorf("with a handoff at %v it remembers hop %d", h, got)
		}
	}
}

// What is committed with a step, and what comes after, is all that its effects say.
func TestAWriteHasAllOfItsEffects(t *testing.T) {
	t.Parallel()
	var w Write
	broken := errors.New("it cannot go on")
	w.take([]Effect{Saw{}, KeepTold{grid.Record{State: grid.Completed}}, Restart{}})
	w.take([]Effect{Saw{}, Fail{Err: broken}})
	if len(w.Seen) != 2 || len(w.Told) != 1 || !w.Restart || w.Failed != broken || len(w.Effects) != 5 {
		t.Errorf("it has %+v", w)
	}
}
