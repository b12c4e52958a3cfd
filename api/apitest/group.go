package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// SubmitGroup keeps the jobs of a group.
func (s *Service) SubmitGroup(ctx context.Context, who api.Identity, n api.NewGroup) (g api.GroupRecord, again bool, err error) {
	s.mu.Lock()
	if s.fail != nil {
		defer s.mu.Unlock()
		return g, false, s.fail
	}
	key := who.Name + "\x00" + n.Key
	for _, known := range s.groups {
		if known.Key == key {
			defer s.mu.Unlock()
			return s.view(known), true, nil
		}
	}
	made := grid.Group{
		ID: grid.NewGroupID("here", fmt.Sprintf("%026d", len(s.groups)+100)), Name: n.Name, Key: key, Jobs: len(n.Jobs),
		User: grid.User{Home: Peer, Name: who.Name}, Submitted: 1_700_000_000_123,
	}
	for i, one := range n.Jobs {
		id := made.ID.Job(i + 1)
		one.Job.ID, one.Job.Home, one.Job.User = id, Peer, made.User
		r := grid.Record{Job: one.Job, State: grid.Submitted, Submitted: made.Submitted,
			Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: Peer}}
		if len(one.Job.Inputs) > 0 {
			r.State = grid.StageIn
			made.Coming = append(made.Coming, i+1)
		}
		s.jobs[id] = &job{record: r, wanted: one.Job.Inputs, uploads: make(map[string][]byte)}
	}
	s.groups[made.ID] = made
	s.mu.Unlock()
	g, err = s.Group(ctx, who, made.ID)
	return g, false, err
}

// view joins a group and its jobs. Callers hold mu.
func (s *Service) view(g grid.Group) api.GroupRecord {
	r := api.GroupRecord{Group: g}
	over := 0
	for n := range g.Jobs {
		if j := s.jobs[g.ID.Job(n+1)]; j != nil {
			r.Jobs = append(r.Jobs, j.record)
			if j.record.State.Terminal() {
				over++
			}
		}
	}
	if over == g.Jobs && r.Group.Ended == 0 {
		r.Group.Ended = g.Submitted + grid.Minute
	}
	return r
}

// Group is a group.
func (s *Service) Group(_ context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, known := s.groups[id]
	switch {
	case s.fail != nil:
		return api.GroupRecord{}, s.fail
	case !known:
		return api.GroupRecord{}, fmt.Errorf("the group %s: %w", id, grid.ErrNotFound)
	case !who.Administrator && g.User.Name != who.Name:
		return api.GroupRecord{}, fmt.Errorf("the group %s is another user's: %w", id, grid.ErrForbidden)
	}
	return s.view(g), nil
}

// Groups lists the groups by their identifiers.
func (s *Service) Groups(_ context.Context, who api.Identity) ([]api.GroupRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []api.GroupRecord
	for _, g := range s.groups {
		if who.Administrator || g.User.Name == who.Name {
			list = append(list, s.view(g))
		}
	}
	slices.SortFunc(list, func(a, b api.GroupRecord) int { return cmp.Compare(a.Group.ID, b.Group.ID) })
	return list, s.fail
}

// WaitGroup waits for the end of all jobs.
func (s *Service) WaitGroup(ctx context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		g, err := s.Group(ctx, who, id)
		if err != nil || g.Group.Ended != 0 {
			return g, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return g, nil
		}
	}
}

// CancelGroup kills what has not ended.
func (s *Service) CancelGroup(ctx context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	if _, err := s.Group(ctx, who, id); err != nil {
		return api.GroupRecord{}, err
	}
	s.mu.Lock()
	g := s.groups[id]
	g.CancelRequested = true
	s.groups[id] = g
	for n := range g.Jobs {
		if j := s.jobs[id.Job(n+1)]; j != nil && !j.record.State.Terminal() {
			j.record.State = grid.Killed
		}
	}
	s.wake()
	s.mu.Unlock()
	return s.Group(ctx, who, id)
}

// RemoveGroup deletes an ended group.
func (s *Service) RemoveGroup(ctx context.Context, who api.Identity, id grid.GroupID) error {
	g, err := s.Group(ctx, who, id)
	if err != nil {
		return err
	}
	if g.Group.Ended == 0 {
		return fmt.Errorf("the group %s has not ended; cancel it first: %w", id, grid.ErrNotYet)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, id)
	for n := range g.Group.Jobs {
		delete(s.jobs, id.Job(n+1))
	}
	return nil
}
