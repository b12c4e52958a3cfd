package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// withPart is a whole of which one part of the second round is known.
func withPart(t *testing.T, state grid.AllocationState, p grid.AllocatedPart) (*coallocated, *allocation, *grid.AllocatedPart) {
	c := newCoallocated(t, 0, nil)
	a := c.m.all[theWhole]
	p.Job, p.Site, p.Peer, p.Round = a.rec.PartID(1), "bb", "b", 2
	a.rec.Of, a.rec.Round, a.rec.State, a.rec.Parts = theWhole, 2, state, []grid.AllocatedPart{p}
	return c, a, &a.rec.Parts[0]
}

// A part has failed when it has come to its end, is to, or is gone; or when its site holds its nodes no more, and it has not begun.
func TestWhichPartsHaveFailed(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		p    grid.AllocatedPart
		r    *grid.Record
		want string
	}{
		"it is to be made":               {grid.AllocatedPart{}, nil, ""},
		"it is to be made, without room": {grid.AllocatedPart{Heard: grid.Released}, nil, ""},
		"it is gone":                     {grid.AllocatedPart{Made: true}, nil, "is gone"},
		"it waits":                       {grid.AllocatedPart{Made: true}, &grid.Record{State: grid.Assigned}, ""},
		"it has ended":                   {grid.AllocatedPart{Made: true}, &grid.Record{State: grid.Failed, Reason: "no disk"}, "ended: no disk"},
		"it is to end":                   {grid.AllocatedPart{Made: true}, &grid.Record{State: grid.Finished, Run: grid.Run{End: grid.Killed}}, "ended"},
		"its nodes are not held":         {grid.AllocatedPart{Made: true, Heard: grid.Released}, &grid.Record{State: grid.Assigned}, "does not hold its nodes"},
		"its nodes are held":             {grid.AllocatedPart{Made: true, Heard: grid.Confirmed}, &grid.Record{State: grid.Assigned}, ""},
		"it has begun":                   {grid.AllocatedPart{Made: true, Heard: grid.Released, Begun: true}, &grid.Record{State: grid.Running}, ""},
	} {
		c, _, p := withPart(t, grid.Staging, k.p)
		if k.r != nil {
			c.f.records[p.Job] = k.r
		}
		if why, is := c.m.failed(p); is != (k.want != "") || !strings.Contains(why, k.want) {
			t.Errorf("%s: %q, %v", name, why, is)
		}
	}
}

// A part that is decided on and has no record may yet come: from the confirmation on, until the round is given up.
func TestWhichPartsAreToBeMade(t *testing.T) {
	t.Parallel()
	for state := grid.Reserving; state <= grid.GivingUp; state++ {
		for _, made := range []bool{false, true} {
			c, _, p := withPart(t, state, grid.AllocatedPart{Made: made})
			if got, want := c.m.makes(p.Job), !made && state >= grid.Confirming && state < grid.GivingUp; got != want {
				t.Errorf("%v, made: %v: %v", state, made, got)
			}
			if c.m.makes(p.Job + "0") {
				t.Error("so is another")
			}
			if p.Round = 1; c.m.makes(p.Job) {
				t.Error("so is one of an earlier round")
			}
		}
	}
}

// A part that was lost may have begun if it was ever told to; the first end that is heard is its fate.
func TestWhatIsHeardOfAPart(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		r     grid.Record
		part  grid.AllocatedPart
		round uint32
		gone  grid.Tick // when parts were told to go
		want  grid.AllocatedPart
	}{
		"it waits":                      {grid.Record{State: grid.Assigned}, grid.AllocatedPart{}, 2, 5, grid.AllocatedPart{}},
		"it has arrived":                {grid.Record{State: grid.Assigned, Run: grid.Run{Arrived: 7}}, grid.AllocatedPart{}, 2, 0, grid.AllocatedPart{Arrived: true}},
		"it has begun":                  {grid.Record{State: grid.Running, Run: grid.Run{Started: 8}}, grid.AllocatedPart{}, 2, 5, grid.AllocatedPart{Begun: true}},
		"its run is not known any more": {grid.Record{State: grid.Assigned}, grid.AllocatedPart{Begun: true}, 2, 5, grid.AllocatedPart{Begun: true}},
		"it has failed":                 {grid.Record{State: grid.Failed}, grid.AllocatedPart{}, 2, 5, grid.AllocatedPart{Fate: grid.Failed}},
		"it has failed, and is killed":  {grid.Record{State: grid.Killed}, grid.AllocatedPart{Fate: grid.Failed}, 2, 5, grid.AllocatedPart{Fate: grid.Failed}},
		"it was lost, never told":       {grid.Record{State: grid.Lost}, grid.AllocatedPart{}, 2, 0, grid.AllocatedPart{Fate: grid.Lost}},
		"it was lost, told":             {grid.Record{State: grid.Lost}, grid.AllocatedPart{}, 2, 5, grid.AllocatedPart{Fate: grid.Lost, Begun: true}},
		"it was lost, of before":        {grid.Record{State: grid.Lost}, grid.AllocatedPart{}, 3, 0, grid.AllocatedPart{Fate: grid.Lost, Begun: true}},
	} {
		c, a, p := withPart(t, grid.Staging, k.part)
		a.rec.Round, a.rec.Go = k.round, k.gone
		if c.m.hearPart(a, p, &k.r); p.Arrived != k.want.Arrived || p.Begun != k.want.Begun || p.Fate != k.want.Fate {
			t.Errorf("%s: %+v", name, *p)
		}
		if p.Arrived && p.Gathered.Site != "bb" {
			t.Errorf("%s: gathered %+v", name, p.Gathered)
		}
	}
}
