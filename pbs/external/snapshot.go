package external

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// Listing is the last good listing.
func (s *System) Listing(ctx context.Context) (Listing, error) {
	got, err := s.poller.cached(ctx)
	if err != nil {
		return Listing{}, err
	}
	return got.Listing, nil
}

// Snapshot is the last good listing as the planner sees it, with what was submitted and
// withdrawn since.
func (s *System) Snapshot(ctx context.Context) (plan.Snapshot, error) {
	got, err := s.poller.cached(ctx)
	if err != nil {
		return plan.Snapshot{}, err
	}
	shot := s.ground(got.Listing)
	shot.Lag = s.poller.lag()
	for _, j := range got.Jobs {
		at, ours := s.attempt(j)
		if !ours {
			at.Job = ""
		}
		if ours && s.leaves(at) && j.State != Running {
			continue
		}
		switch {
		case j.State == Done:
		case j.holds():
			r := running(got.Listing, j, at.Job)
			if ours && s.leaves(at) { // its control files tell of its end sooner than a listing does
				r.End = min(r.End, max(r.Start+1, got.At+leaving))
			}
			shot.Running = append(shot.Running, r)
		default:
			shot.Waiting = append(shot.Waiting, waiting(got.Listing, j, at.Job)...)
		}
	}
	for _, e := range s.all() {
		if v := s.view(e); since(v, got.number) && len(s.locals(got.Jobs, v.ID)) == 0 {
			queue := queueOf(v.Queue, got.Listing)
			shot.Waiting = append(shot.Waiting, plan.Waiting{
				Job: v.ID.Job, Demand: v.Demand, Queue: queue, Limit: v.Limit, Ineligible: v.held, Caps: shot.CapsOf(queue),
			})
		}
	}
	for _, b := range got.Reservations {
		if s.released(b) {
			continue
		}
		shot.Reservations = append(shot.Reservations, s.planned(got.Listing, b))
	}
	return shot, nil
}

// leaving is how long a program that has ended is believed to hold its nodes.
const leaving = 2 * grid.Second

// released tells of a reservation of ours that was ended, after a listing or before it.
func (s *System) released(b Reservation) bool {
	id, is := s.ourReservation(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	return is && s.reserved[id] == nil
}

// waiting is a job that waits, with all alike that it stands for.
func waiting(l Listing, j Job, id grid.JobID) []plan.Waiting {
	w := plan.Waiting{
		Demand: j.Demand, Queue: queueOf(j.Queue, l), Limit: limitOf(j.Limit),
		Priority: j.Priority, Ineligible: j.State != Queued || j.PassedOver, Why: whyHeld(j), Caps: j.Caps,
	}
	list := slices.Repeat([]plan.Waiting{w}, 1+min(j.More, mostAlike))
	list[0].Job = id
	return list
}

// mostAlike bounds how many jobs one of a listing stands for: what waits behind so many waits long.
const mostAlike = 1000

// ours are the limits that one more job falls under: of whom it will be is known only where all
// run under the daemon's own account.
func (s *System) ours(l Listing, caps []int) []int {
	if s.config.Accounts == nil {
		return caps
	}
	return slices.DeleteFunc(slices.Clone(caps), func(c int) bool { return !l.Caps[c].All })
}

// whyHeld is why a job is not considered, in the system's words.
func whyHeld(j Job) string {
	switch {
	case j.PassedOver:
		return passedOver
	case j.State == Queued:
		return ""
	}
	return j.Reason
}

// leaves tells that an attempt is withdrawn, and only has to leave the queue.
func (s *System) leaves(at grid.AttemptID) bool {
	e := s.entry(at)
	if e == nil {
		return false
	}
	v := s.view(e)
	return v.Withdrawn || v.Done
}

// ground is a snapshot without jobs.
func (s *System) ground(l Listing) plan.Snapshot {
	shot := plan.Snapshot{
		At: l.At, Site: s.config.Site, Policy: l.Policy, Nodes: slices.Clone(l.Nodes), Queues: slices.Clone(l.Queues),
		Default: cmp.Or(s.config.Queue, l.Default), Stopped: l.Stopped, Why: l.Why, Shapes: l.Shapes, Unusable: slices.Clone(l.Unusable),
	}
	shot.Caps, shot.Ours = l.Caps, s.ours(l, l.Ours)
	for i := range shot.Queues {
		shot.Queues[i].Ours = s.ours(l, shot.Queues[i].Ours)
	}
	if l.LeftOut > 0 {
		shot.Unusable = append(shot.Unusable, fmt.Sprintf("and %d more", l.LeftOut))
	}
	if s.config.Policy != nil {
		shot.Policy = *s.config.Policy
	}
	return shot
}

// queueOf is a queue as the plan knows it.
func queueOf(name grid.QueueName, l Listing) grid.QueueName {
	if name == "" {
		name = l.Default
	}
	if slices.ContainsFunc(l.Queues, func(q plan.Queue) bool { return q.Name == name }) {
		return name
	}
	return ""
}

// limitOf is a limit that the plan can count with; 0 is none, which some systems allow.
func limitOf(t grid.Tick) grid.Tick {
	if t <= 0 {
		return grid.MaxWalltime
	}
	return t
}

func running(l Listing, j Job, id grid.JobID) plan.Running {
	r := plan.Running{Job: id, Start: j.Started, Caps: j.Caps}
	if r.Start == 0 {
		r.Start = l.At
	}
	r.End = r.Start + limitOf(j.Limit)
	for _, p := range j.Places {
		if i := nodeIndex(l, p.Node); i >= 0 {
			share := plan.Share{Node: i, Processes: p.Processes, Cores: p.Cores, Memory: p.Memory, Resources: p.Resources}
			if j.Demand.Exclusive { // systems tell what it asked for, and let nobody else in
				share.Cores = l.Nodes[i].Cores
			}
			r.Shares = append(r.Shares, share)
		}
	}
	return r
}

func nodeIndex(l Listing, name grid.NodeName) int {
	return slices.IndexFunc(l.Nodes, func(n plan.Node) bool { return n.Name == name })
}

// planned is a reservation as the plan sees it: of ours, with the job that is bound to it.
func (s *System) planned(l Listing, b Reservation) plan.Reservation {
	r := plan.Reservation{ID: b.Native, Start: b.Start, End: b.End}
	if id, is := s.ourReservation(b); is {
		r.ID = id
		for _, e := range s.all() {
			if v := s.view(e); v.Reservation == id && !v.Done && !v.Withdrawn {
				r.Job = v.ID.Job
			}
		}
	}
	for i, name := range b.Nodes {
		n := nodeIndex(l, name)
		if n < 0 {
			continue
		}
		share := plan.Share{Node: n, Cores: l.Nodes[n].Cores, Memory: l.Nodes[n].Memory, Resources: l.Nodes[n].Resources}
		if b.Cores != nil && i < len(b.Cores) && b.Cores[i] < share.Cores {
			share.Cores, share.Memory, share.Resources = b.Cores[i], 0, nil
		}
		r.Shares = append(r.Shares, share)
	}
	return r
}
