package core

import (
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home has sent a whole to one site, and is put back to before it was handed in. It learns it again from that site as what it is: where
// that site goes, and no other is large enough, several are chosen again.
func TestAWholeIsLearntAgainAsOne(t *testing.T) {
	t.Parallel()
	whole := wholeRecord().Job
	c := signed()
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(c.now+1, Message{her, wire.Recalled{Job: whole, Epoch: grid.Epoch{Term: 1, Hop: 1}, Owning: true, Certificates: []grid.Certificate{certificate(whole, me, 1, her)}}})
	a := c.wholes.all[whole.ID]
	if a == nil || a.rec.State != grid.OneSite {
		t.Fatalf("its allocation is %+v", a)
	}
	if r := c.job(whole.ID).rec; r.Role != grid.Watching || r.Owner != her || !reflect.DeepEqual(r.Job.Coallocation, whole.Coallocation) {
		t.Errorf("%+v", r)
	}
	if !c.wholes.severalAgain(whole.ID) {
		t.Error("it has one site for ever")
	}
}

// Who is sent a whole has it as any job: he chooses no sites for it, also after a start, and tells its home that it may have several.
func TestAWholeElsewhereIsAnyJob(t *testing.T) {
	t.Parallel()
	whole := wholeRecord().Job
	whole.ID, whole.Home, whole.User = "b.01ARZ3NDEKTSV4RRFFQ69G5FAV", her, grid.User{Home: her, Name: "u"}
	r := grid.Record{Job: whole, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
	c := signed(r)
	c.Step(c.now+1, Boot{})
	if a := c.wholes.all[whole.ID]; a != nil {
		t.Errorf("it chooses sites for it: %+v", a.rec)
	}
	if k := c.gates.kept(c.job(whole.ID)); k != notKept {
		t.Errorf("it is kept back: %v", k)
	}
	told := sentTo(c.Step(c.now+2, Message{her, wire.Recall{Job: whole.ID}}), her)
	for _, m := range told {
		if m, is := m.(wire.Recalled); is && reflect.DeepEqual(m.Job.Coallocation, whole.Coallocation) {
			return
		}
	}
	t.Errorf("it tells %+v", told)
}
