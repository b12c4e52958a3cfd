package broker

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gbroker/grid"
)

// What was told of the jobs of a group that the journal may lack is asked for: of those whose turn had not come, and
// the cancel of one that has not ended.
func TestWhatIsAskedOfWhatWasTold(t *testing.T) {
	t.Parallel()
	id, over := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAW")
	v := &groups{all: map[grid.GroupID]*group{
		id:   {Group: grid.Group{ID: id, Jobs: 3, Entered: 1}},
		over: {Group: grid.Group{ID: over, Jobs: 3, Entered: 3, Ended: 5}},
	}}
	for of, want := range map[grid.JobID]bool{
		id.Job(1): false, id.Job(2): true, id.Template(): true, over.Job(3): false, over.Template(): false, "a.01ARZ3NDEKTSV4RRFFQ69G5FAX": false,
	} {
		if got := v.mayLack(of); got != want {
			t.Errorf("%s: %t", of, got)
		}
	}
}

// A page of the jobs of a group costs one reading of the journal, and is what each of its jobs is alone.
func TestAPageOfAGroupIsReadAtOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	of := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 60}
	stub := &journalStub{}
	b := &Broker{groups: newGroups()}
	b.view = newView(b.record)
	var journal Journal = stub
	b.journal.Store(&journal)
	b.groups.all[of.ID] = &group{Group: of}
	for n := 1; n <= of.Jobs; n++ {
		r := grid.Record{Job: grid.Job{ID: of.ID.Job(n)}}
		r.Removed = random.IntN(5) == 0
		switch random.IntN(3) {
		case 0:
			r.State = grid.Running
			b.view.records[r.Job.ID] = &r
		case 1:
			r.State = grid.Completed
			stub.recs = append(stub.recs, r)
		}
	}
	for range 20 {
		after, limit := random.IntN(70), random.IntN(70)
		var want []grid.Record
		for n := after + 1; n <= of.Jobs && len(want) < limit; n++ {
			if r, known, err := b.Job(t.Context(), of.ID.Job(n)); err != nil {
				t.Fatal(err)
			} else if known && !r.Removed {
				want = append(want, r)
			}
		}
		stub.reads = 0
		got, err := b.JobsOf(t.Context(), of, after, limit)
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: behind %d, at most %d: %d jobs, not %d: %v", seed, after, limit, len(got), len(want), err)
		}
		if stub.reads > 6 { // one, and more for the places of what was removed
			t.Fatalf("seed %d: %d jobs took %d readings", seed, len(got), stub.reads)
		}
	}
}

// busyJournal has something happen while it is read.
type busyJournal struct {
	*journalStub
	meanwhile func()
}

func (j busyJournal) Records(ctx context.Context, ids []grid.JobID) ([]grid.Record, error) {
	defer j.meanwhile()
	return j.journalStub.Records(ctx, ids)
}

// A job that is archived while a page of its group is read is in it as it was shown before.
func TestAPageOfAGroupKeepsWhatIsArchivedMeanwhile(t *testing.T) {
	t.Parallel()
	of := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 3, Entered: 2}
	b := &Broker{groups: newGroups()}
	b.view = newView(b.record)
	b.groups.all[of.ID] = &group{Group: of}
	var journal Journal = busyJournal{&journalStub{}, func() { b.view.change(of.ID.Job(1), nil) }}
	b.journal.Store(&journal)
	for n := 1; n <= 2; n++ {
		b.view.change(of.ID.Job(n), &grid.Record{Job: grid.Job{ID: of.ID.Job(n), Home: "h"}, State: grid.Running})
	}
	list, err := b.JobsOf(t.Context(), of, 0, 3)
	if err != nil || len(list) != 3 || list[0].State != grid.Running || list[0].Job.Home != "h" || list[1].State != grid.Running || list[2].State != grid.Submitted {
		t.Errorf("%+v, %v", list, err)
	}
}

// Each job of a sweep counts once: also one that ended before its turn is not among those that wait for theirs.
func TestTheCountsOfASweepAddUp(t *testing.T) {
	t.Parallel()
	b := &Broker{groups: newGroups(), view: newView(nil)}
	g := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 6, Entered: 3}
	g.Ends[grid.Killed], g.Ends[grid.Completed] = 1, 1 // the fourth, before its turn, and the first
	for n, state := range map[int]grid.State{2: grid.Running, 3: grid.Ready} {
		b.view.records[g.ID.Job(n)] = &grid.Record{Job: grid.Job{ID: g.ID.Job(n)}, State: state}
	}
	counts := b.CountsOf(g)[g.ID]
	if counts.Sum() != g.Jobs || counts[grid.Submitted] != 2 {
		t.Errorf("of %d jobs it counts %v", g.Jobs, counts)
	}
	g.Jobs = 3
	if counts = b.CountsOf(g)[g.ID]; counts[grid.Submitted] != 0 {
		t.Errorf("all had their turn, and it counts %v", counts)
	}
}
