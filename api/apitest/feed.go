package apitest

import (
	"context"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// move is that something has changed.
type move struct {
	kind api.Kind
	id   string
}

// moved notes that, and wakes who waits for it. Callers hold mu.
func (s *Service) moved(kind api.Kind, id string) {
	s.moves = append(s.moves, move{kind, id})
	s.wake()
}

// ForgetChanges makes every position in the feed of changes one that is not known any more.
func (s *Service) ForgetChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved("", "")
	s.forgets = len(s.moves)
}

// ChangeFlow changes a workflow.
func (s *Service) ChangeFlow(f api.FlowStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flows[f.ID] = f
	s.moved(api.KindFlow, string(f.ID))
}

// Changes tells what has changed by Change, Remove and their like.
func (s *Service) Changes(ctx context.Context, who api.Identity, after api.Position, kinds []api.Kind) (api.Changes, error) {
	for {
		s.mu.Lock()
		if s.fail != nil {
			defer s.mu.Unlock()
			return api.Changes{}, s.fail
		}
		c, changed := api.Changes{Next: api.Position{Life: 1, Sequence: uint64(len(s.moves))}}, s.changed
		switch from := int(after.Sequence); {
		case after == (api.Position{}):
			s.mu.Unlock()
			return c, nil
		case from < s.forgets, from > len(s.moves):
			c.Reset = true
		default:
			for i, m := range s.moves[from:] {
				if slices.Contains(kinds, m.kind) && !slices.Contains(s.moves[from+i+1:], m) {
					c.List = append(c.List, s.told(who, m)...)
				}
			}
		}
		s.mu.Unlock()
		if c.Reset || len(c.List) > 0 {
			return c, nil
		}
		if !s.rest(ctx, changed) {
			return c, nil
		}
	}
}

// told is how something is that has changed, if who may see it. Callers hold mu.
func (s *Service) told(who api.Identity, m move) []api.Change {
	c := api.Change{Kind: m.kind, ID: m.id}
	user := who.Name // what is not there any more is told to all
	switch m.kind {
	case api.KindJob:
		if j := s.jobs[grid.JobID(m.id)]; j != nil {
			r := j.record
			c.Job, user = &r, r.Job.User.Name
		}
		c.Removed = c.Job == nil
	case api.KindGroup:
		if g, known := s.groups[grid.GroupID(m.id)]; known {
			r := s.view(g, api.Members{})
			c.Group, user = &r, g.User.Name
		}
		c.Removed = c.Group == nil
	case api.KindReservation:
		for _, r := range s.reserved {
			if string(r.ID) == m.id {
				c.Reservation, user = &r, r.Holder.Name
			}
		}
		c.Removed = c.Reservation == nil
	case api.KindFlow:
		f := s.flows[api.FlowID(m.id)]
		c.Flow, user = &f, f.User
	}
	if !who.Administrator && user != who.Name {
		return nil
	}
	return []api.Change{c}
}
