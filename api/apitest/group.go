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
			return s.view(known, whole), true, nil
		}
	}
	if n.Template != nil {
		make, err := api.Expand(*n.Template)
		for k := 1; k <= n.Count && err == nil; k++ {
			var j grid.Job
			j, err = make(k)
			n.Jobs = append(n.Jobs, api.NewJob{Job: j})
		}
		if err != nil {
			defer s.mu.Unlock()
			return g, false, err
		}
	}
	made := grid.Group{
		ID: grid.NewGroupID("here", fmt.Sprintf("%026d", len(s.groups)+100)), Name: n.Name, Key: key, Jobs: len(n.Jobs), Template: n.Digest, AtOnce: n.AtOnce,
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
	s.moved(api.KindGroup, string(made.ID))
	s.mu.Unlock()
	g, err = s.Group(ctx, who, made.ID, whole)
	return g, false, err
}

// waits tells of a job of a sweep whose turn has not come: until then it is in no list but that of its group. Callers hold mu.
func (s *Service) waits(id grid.JobID) bool {
	group, n := id.Group()
	g := s.groups[group]
	return g.Made() && g.AtOnce > 0 && n > g.AtOnce+s.view(g, api.Members{}).Group.Ends.Sum() && !s.jobs[id].record.State.Terminal()
}

// whole is all jobs of a group.
var whole = api.Members{Limit: api.MaxPage}

// view joins a group and some of its jobs. Callers hold mu.
func (s *Service) view(g grid.Group, page api.Members) api.GroupRecord {
	r := api.GroupRecord{Group: g}
	over := 0
	for n := range g.Jobs {
		if j := s.jobs[g.ID.Job(n+1)]; j != nil {
			if n >= page.After && len(r.Jobs) < page.Limit {
				r.Jobs = append(r.Jobs, j.record)
			}
			r.Counts[j.record.State]++
			if j.record.State.Terminal() {
				r.Group.Ends[j.record.State]++
				if one := (grid.Result{State: j.record.State, ExitCode: j.record.ExitCode, HasExit: j.record.HasExit, Signal: j.record.Signal}); one.Failed() {
					r.Group.Failing++
				}
				over++
			}
		}
	}
	if over == g.Jobs && r.Group.Ended == 0 {
		r.Group.Ended = g.Submitted + grid.Minute
	}
	if r.Group.Entered = g.Jobs; g.AtOnce > 0 {
		r.Group.Entered = min(g.Jobs, g.AtOnce+over)
	}
	r.Next = api.NextOf(&r.Group, r.Jobs, page.Limit)
	return r
}

// Group is a group.
func (s *Service) Group(_ context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
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
	return s.view(g, page), nil
}

// Groups lists the groups by their identifiers.
func (s *Service) Groups(_ context.Context, who api.Identity) ([]api.GroupRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []api.GroupRecord
	for _, g := range s.groups {
		if who.Administrator || g.User.Name == who.Name {
			list = append(list, s.view(g, api.Members{}))
		}
	}
	slices.SortFunc(list, func(a, b api.GroupRecord) int { return cmp.Compare(a.Group.ID, b.Group.ID) })
	return list, s.fail
}

// WaitGroup waits for the end of all jobs.
func (s *Service) WaitGroup(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		g, err := s.Group(ctx, who, id, page)
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
func (s *Service) CancelGroup(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	if _, err := s.Group(ctx, who, id, page); err != nil {
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
	s.moved(api.KindGroup, string(id))
	s.mu.Unlock()
	return s.Group(ctx, who, id, page)
}

// GroupHistory has one line.
func (s *Service) GroupHistory(ctx context.Context, who api.Identity, id grid.GroupID) ([]grid.Event, error) {
	g, err := s.Group(ctx, who, id, whole)
	return []grid.Event{{At: g.Group.Submitted, Site: "here", Why: "accepted"}}, err
}

// RemoveGroup deletes an ended group.
func (s *Service) RemoveGroup(ctx context.Context, who api.Identity, id grid.GroupID) error {
	g, err := s.Group(ctx, who, id, whole)
	if err != nil {
		return err
	}
	if g.Group.Ended == 0 {
		return fmt.Errorf("the group %s has not ended; cancel it first: %w", id, grid.ErrNotYet)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, id)
	s.moved(api.KindGroup, string(id))
	for n := range g.Group.Jobs {
		delete(s.jobs, id.Job(n+1))
	}
	return nil
}
