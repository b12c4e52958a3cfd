package broker

import (
	"testing"

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
