package store

import (
	"context"
	"fmt"

	"gbroker/grid"
)

// partRow is grid.Part, allocationRow grid.Allocation; what is not set is left out of both.

type partRow struct {
	Of     grid.JobID
	Round  uint32
	Rank   int `json:",omitempty"`
	Sites  []grid.PartSite
	Start  grid.Tick
	Grace  grid.Tick `json:",omitempty"`
	Limit  grid.Tick
	Within grid.Tick
}

type coallocationRow struct {
	Sites   int
	PerSite int
	Early   bool `json:",omitempty"`
	Survive bool `json:",omitempty"`
	Reach   bool `json:",omitempty"`
}

// pointed converts what a pointer leads to.
func pointed[T, R any](p *T, convert func(T) R) *R {
	if p == nil {
		return nil
	}
	r := convert(*p)
	return &r
}

func toPart(p grid.Part) partRow { return partRow(p) }

func (r partRow) part() grid.Part { return grid.Part(r) }

func toCoallocation(c grid.Coallocation) coallocationRow { return coallocationRow(c) }

func (r coallocationRow) coallocation() grid.Coallocation { return grid.Coallocation(r) }

type allocationRow struct {
	Of      grid.JobID
	State   grid.AllocationState
	Round   uint32             `json:",omitempty"`
	Parts   []allocatedRow     `json:",omitempty"`
	Last    int                `json:",omitempty"`
	Start   grid.Tick          `json:",omitempty"`
	End     grid.Tick          `json:",omitempty"`
	Sooner  grid.Tick          `json:",omitempty"`
	Go      grid.Tick          `json:",omitempty"`
	Begun   grid.Tick          `json:",omitempty"`
	Ended   grid.Tick          `json:",omitempty"`
	Next    grid.Tick          `json:",omitempty"`
	Fails   int                `json:",omitempty"`
	Reason  string             `json:",omitempty"`
	Refused []grid.RefusedSlot `json:",omitempty"`
	Choice  *grid.SlotChoice   `json:",omitempty"`
	// Outgrown came later.
	Outgrown bool `json:",omitempty"`
}

type allocatedRow struct {
	Round       uint32
	Rank        int `json:",omitempty"`
	Site        grid.SiteName
	Peer        grid.PeerID
	Processes   int
	Demand      demandRow
	Nodes       []grid.NodeName
	Start, End  grid.Tick
	Offset      grid.Tick `json:",omitempty"`
	Limit       grid.Tick `json:",omitempty"`
	Price       float64   `json:",omitempty"`
	Reservation grid.ReservationID
	Heard       grid.ReservationState `json:",omitempty"`
	Asked       bool                  `json:",omitempty"`
	Job         grid.JobID
	Made        bool           `json:",omitempty"`
	Arrived     bool           `json:",omitempty"`
	Begun       bool           `json:",omitempty"`
	Fate        grid.State     `json:",omitempty"`
	Gathered    *grid.Gathered `json:",omitempty"`
	Cores       int            `json:",omitempty"`
	Begins      grid.Tick      `json:",omitempty"`
	Wish        uint64         `json:",omitempty"`
}

func toAllocated(p grid.AllocatedPart) allocatedRow {
	r := allocatedRow{
		p.Round, p.Rank, p.Site, p.Peer, p.Processes, toDemand(p.Demand), p.Nodes, p.Start, p.End, p.Offset, p.Limit, p.Price,
		p.Reservation, p.Heard, p.Asked, p.Job, p.Made, p.Arrived, p.Begun, p.Fate, nil, p.Cores, p.Begins, p.Wish,
	}
	if p.Gathered.Site != "" {
		r.Gathered = &p.Gathered
	}
	return r
}

func (r allocatedRow) allocated() grid.AllocatedPart {
	return grid.AllocatedPart{
		Round: r.Round, Rank: r.Rank, Site: r.Site, Peer: r.Peer, Processes: r.Processes, Demand: r.Demand.demand(), Nodes: r.Nodes,
		Start: r.Start, End: r.End, Offset: r.Offset, Limit: r.Limit, Price: r.Price, Reservation: r.Reservation, Heard: r.Heard, Asked: r.Asked, Job: r.Job, Made: r.Made,
		Arrived: r.Arrived, Begun: r.Begun, Fate: r.Fate, Cores: r.Cores, Begins: r.Begins, Wish: r.Wish, Gathered: gathered(r.Gathered),
	}
}

func gathered(g *grid.Gathered) grid.Gathered {
	if g == nil {
		return grid.Gathered{}
	}
	return *g
}

func toAllocationRow(a *grid.Allocation) allocationRow {
	return allocationRow{
		a.Of, a.State, a.Round, each(a.Parts, toAllocated), a.Last, a.Start, a.End, a.Sooner, a.Go, a.Begun, a.Ended,
		a.Next, a.Fails, a.Reason, a.Refused, a.Choice, a.Outgrown,
	}
}

func (r allocationRow) allocation() grid.Allocation {
	return grid.Allocation{
		Of: r.Of, State: r.State, Round: r.Round, Parts: each(r.Parts, allocatedRow.allocated), Last: r.Last, Start: r.Start, End: r.End,
		Sooner: r.Sooner, Go: r.Go, Begun: r.Begun, Ended: r.Ended, Next: r.Next, Fails: r.Fails, Reason: r.Reason, Refused: r.Refused, Choice: r.Choice, Outgrown: r.Outgrown,
	}
}

func encodeAllocationRow(_ *Journal, e grid.Entity) (w row, err error) {
	a, is := e.(*grid.Allocation)
	if !is {
		return w, fmt.Errorf("an allocation's record is no %T", e)
	}
	w.state = a.State.String()
	w.record, err = encode(toAllocationRow(a))
	return w, err
}

// Allocations reads how far all co-allocated jobs are.
func (j *Journal) Allocations(ctx context.Context) (list []grid.Allocation, err error) {
	err = entities(ctx, j, "allocation", func(key string, w allocationRow) error {
		a := w.allocation()
		list = append(list, a)
		return belongs(&a, key)
	})
	return list, err
}
