package core

import (
	"cmp"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
	"maps"
	"slices"
)

// Nodes are looked for where a holder named none, in a look at the batch system.

// looked finds nodes for those that named none.
func (c *reservations) looked(e Looked) {
	if e.Err == nil {
		clear(c.nodes)
		for _, n := range e.Snapshot.Nodes {
			c.nodes[n.Name] = n
		}
		c.shapes = e.Snapshot.Shapes
	}
	c.lookedToMove(e)
	pending := c.pending
	c.pending = nil
	for _, p := range pending {
		if e.Err != nil {
			c.answer(p.from, wire.KindReserve, p.m.Sent, grid.Reservation{ID: p.m.ID}, forNow(noLook))
			continue
		}
		at, why := grid.Place{Nodes: p.m.Nodes, Start: p.m.From, End: p.m.From + p.m.Length}, (*grid.Refusal)(nil)
		if len(at.Nodes) == 0 {
			at, why = c.find(e.Snapshot, p.m)
		}
		var costs quote
		if why == nil {
			costs, why = c.price(&p.m, at)
		}
		if why != nil {
			c.answer(p.from, wire.KindReserve, p.m.Sent, grid.Reservation{ID: p.m.ID}, why)
			continue
		}
		c.ask(p.from, p.m, at, costs)
	}
}

// find looks for whole nodes that cover a demand, as early as possible within the interval.
func (c *reservations) find(s plan.Snapshot, m wire.Reserve) (at grid.Place, why *grid.Refusal) {
	d := m.Demand
	d.Exclusive = true
	s.Shapes = plan.Shapes{} // those of jobs: the nodes of a reservation are chosen here, and reserved by name
	if lacks := plan.Refuse(s, plan.Question{Demand: d, Queue: cmp.Or(m.Queue, s.Default), Limit: m.Length}); lacks != nil {
		return at, lacks
	}
	from := up(max(m.From, s.At+reserveAhead))
	slots := c.free(plan.Build(s).Slots(nil, m.Holder, from, m.Until), "")
	market, err := plan.NewMarket([]plan.SlotSite{{Site: s.Site, Nodes: s.Nodes}}, slots)
	if err != nil {
		return at, &grid.Refusal{Kind: grid.Temporary, Reason: clip(err.Error())}
	}
	wanted := plan.Wanted{Demand: d, Fee: plan.AnyFee, Now: from, Walltime: m.Length, FirstStart: true}
	found, lack := market.Select(wanted)
	if lack != nil {
		return at, &grid.Refusal{Kind: grid.Temporary, Reason: "its nodes are not free for so long within that time"}
	}
	at = grid.Place{Start: up(found.Start)}
	at.End = up(at.Start + m.Length)
	names := map[grid.NodeName]bool{}
	for _, t := range found.Taken {
		names[t.Node] = true
	}
	at.Nodes = slices.Sorted(maps.Keys(names))
	return at, nil
}

// free are the slots that the book has not given to anybody, but for one: the snapshot may be older.
func (c *reservations) free(slots []grid.Slot, but grid.ReservationID) (list []grid.Slot) {
	busy := map[grid.NodeName][]grid.Place{}
	for _, p := range c.book.Busy(but) {
		for _, n := range p.Nodes {
			busy[n] = append(busy[n], p)
		}
	}
	for _, s := range slots {
		rest := []grid.Slot{s}
		for _, p := range busy[s.Node] {
			rest = outside(rest, p)
		}
		list = append(list, rest...)
	}
	return list
}

func outside(slots []grid.Slot, p grid.Place) (rest []grid.Slot) {
	for _, s := range slots {
		before, after := s, s
		before.End, after.Start = min(s.End, p.Start), max(s.Start, p.End)
		if before.Start < before.End {
			rest = append(rest, before)
		}
		if after.Start < after.End && after.Start > s.Start {
			rest = append(rest, after)
		} else if after.Start == s.Start && before.Start >= before.End {
			rest = append(rest, after)
		}
	}
	return rest
}
