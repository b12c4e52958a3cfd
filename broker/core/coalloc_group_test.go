package core

import (
	"testing"

	"gbroker/grid"
)

// wideGroup hands in a group of a job of one processor, and one that no site has room for alone.
func wideGroup(s *site) grid.GroupID {
	id := grid.NewGroupID(s.name, "01J00000000000000000000009")
	e := SubmitGroup{Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: s.peer, Name: "alice"}, Key: "K", Jobs: 2}}
	for n := range 2 {
		j := jobOf(s.peer, s.name, "1")
		j.ID, j.User, j.Walltime = id.Job(n+1), e.Group.User, 5*grid.Minute
		if n == 1 {
			j.Demand.Chunks[0].Count, j.Coallocation = 6, &grid.Coallocation{Sites: 3, PerSite: 1}
		}
		e.Jobs = append(e.Jobs, j)
	}
	s.step(e)
	return id
}

// A group may have jobs over several sites: they run, count as one each, and are cancelled with it.
func TestWholeInAGroup(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		w := newWorld(t, 1, faults{}, 1, 4, 4)
		w.forParts(0, 20*grid.Second, -10*grid.Second)
		w.boot()
		w.run(w.now+grid.Minute, func() bool { return false })
		a := w.sites[0]
		id := wideGroup(a)
		ids := []grid.JobID{id.Job(1), id.Job(2)}
		if a.host.Core().groups.all[id] == nil {
			t.Fatal("the group is refused")
		}
		want := grid.Completed
		if cancel {
			w.until("it is gathered", func() bool {
				al := a.host.Core().wholes.all[id.Job(2)]
				return al != nil && al.rec.State >= grid.Staging
			})
			a.step(CancelGroup{Token: 2, Group: id, By: "alice"})
			want = grid.Killed
		}
		w.until("its jobs end", func() bool { return w.allEnded(ids) })
		if r := w.home(ids[1]); r.State != want {
			t.Errorf("cancelled %t: the whole is %v: %s", cancel, r.State, r.Reason)
		}
		if g := a.host.Core().groups.all[id]; g.open() || g.rec.Ends.Sum() != 2 || g.rec.Ends[want] == 0 {
			t.Errorf("cancelled %t: the group has %+v", cancel, g.rec.Ends)
		}
		if !w.run(w.now+10*grid.Minute, func() bool { return w.left() == 0 }) {
			t.Errorf("%d reservations are left", w.left())
		}
	}
}

// No part has the number of a job of its group, or is taken for one.
func TestPartsOfJobsOfGroups(t *testing.T) {
	t.Parallel()
	g := grid.NewGroupID("a", "01J00000000000000000000009")
	for _, of := range []grid.JobID{"a.01J00000000000000000000009", g.Job(1), g.Job(grid.MaxSweep)} {
		for _, n := range []int{1, 7, grid.MaxSweep - 1} {
			id := (&grid.Allocation{Of: of}).PartID(n)
			if _, k := of.Group(); k > 0 {
				if _, is := id.Group(); is != 0 {
					t.Errorf("%s is job %d of a group", id, is)
				}
			}
			if id.PartNumber() != n || id == of || id.Whole() != of {
				t.Errorf("part %d of %s is %s, number %d", n, of, id, id.PartNumber())
			}
		}
	}
}
