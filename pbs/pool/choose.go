package pool

import (
	"fmt"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/plan"

	"go.uber.org/zap"
)

// pass gives computers the jobs whose turn it is.
func (s *System) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.replicate()
	if len(s.queue) == 0 {
		return
	}
	late := s.passDeadlines()
	ready := slices.DeleteFunc(slices.Clone(s.queue), func(e *entry) bool { return e.killed || e.Deadline != 0 && !late[e] })
	shot := s.snapshot(ready)
	computers := s.sorted()
	for _, p := range plan.Pass(shot) {
		e := ready[p.Index]
		if len(p.Shares) != 1 { // narrow leaves no other
			continue
		}
		c := computers[p.Shares[0].Node]
		if !c.alone(e) { // another was given it in this pass
			s.kick()
			continue
		}
		s.give(e, c)
		s.queue = slices.DeleteFunc(s.queue, func(o *entry) bool { return o == e })
	}
	s.lapse()
}

// whole is the demand of a job as one piece: no job is wider than a computer.
func (e *entry) whole() grid.Demand { return whole(e.Demand) }

func whole(d grid.Demand) grid.Demand {
	one := grid.Chunk{Count: 1}
	for _, c := range d.Chunks {
		one.Processes += c.Count * c.Processes
		one.Cores += c.Count * c.Cores
		one.Memory += int64(c.Count) * c.Memory
		for _, r := range c.Resources {
			i := slices.IndexFunc(one.Resources, func(o grid.Resource) bool { return o.Name == r.Name })
			if i < 0 {
				one.Resources = append(one.Resources, grid.Resource{Name: r.Name})
				i = len(one.Resources) - 1
			}
			one.Resources[i].Amount += int64(c.Count) * r.Amount
		}
	}
	one.Processes = max(one.Processes, 1)
	d.Chunks = []grid.Chunk{one}
	return d
}

// refuse says why the job can never run on any computer of the pool.
func (s *System) refuse(e *entry) error {
	computers := s.sorted()
	if len(computers) == 0 {
		return fmt.Errorf("%w: no computer of pool %s has registered yet", grid.ErrUnavailable, s.config.Site.Name)
	}
	shot := s.snapshot(nil)
	for i := range shot.Nodes {
		shot.Nodes[i].Down = false
	}
	if _, r := plan.Form(shot, e.Demand); r != nil || e.Demand.DistinctNodes && e.pieces() > 1 {
		return fmt.Errorf("%w: it asks for several nodes, and a job of a pool runs on one computer", grid.ErrInvalid)
	}
	var may []string
	for _, c := range computers {
		if c.admits(e) {
			may = append(may, c.name)
		}
	}
	if r := plan.Refuse(shot, plan.Question{Demand: onlyOn(e.whole(), may, len(computers)), Queue: e.Queue, Limit: grid.Tick(e.Assignment.Limit)}); r != nil {
		return fmt.Errorf("%w: no computer of pool %s can run it: %s (asked %s, available %s)", grid.ErrInvalid, s.config.Site.Name, r.Reason, r.Asked, r.Available)
	}
	return nil
}

// mind looks after jobs whose computers are silent.
func (s *System) mind() {
	revoked := s.allRevoked()
	s.mu.Lock()
	var lost []*entry
	for _, c := range s.computers {
		silent := time.Since(c.seen)
		for _, e := range c.held() {
			switch {
			case e.of != nil && silent > s.absent() && (e.stint == "" || silent > s.config.Silence):
				s.uncopy(e)
			case e.of != nil:
			case e.stint == "" && silent > s.absent():
				s.log.Info("a job waits again: its computer is silent", zap.Stringer("attempt", e.id), zap.String("computer", c.name))
				s.again(e)
			case e.stint != "" && silent > s.config.Silence:
				lost = append(lost, e)
			}
		}
	}
	var gone []*computer
	for _, c := range s.computers {
		if revoked[c.name] {
			gone = append(gone, c)
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		s.remove(c, "its computer was removed from the pool")
	}
	for _, e := range lost {
		s.cutOff(e, fmt.Sprintf("its computer has not been heard for %v", s.config.Silence))
	}
}

// again puts a job back into the queue; s.mu is held.
func (s *System) again(e *entry) {
	s.take(e)
	at, _ := slices.BinarySearchFunc(s.queue, e, (*entry).rank)
	s.queue = slices.Insert(s.queue, at, e)
	s.kick()
}

func (e *entry) pieces() (n int) {
	for _, c := range e.Demand.Chunks {
		n += c.Count
	}
	return n
}
