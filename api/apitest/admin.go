package apitest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// Drain notes it.
func (s *Service) Drain(_ context.Context, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.sites[0].Site.Draining = on
	return nil
}

// Forget lists every job that has not ended as lost.
func (s *Service) Forget(_ context.Context, _ api.Identity, f api.Forgetting) (api.Forgotten, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return api.Forgotten{}, s.fail
	}
	done := api.Forgotten{Peer: grid.PeerID(f.Site)}
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		r := &s.jobs[id].record
		if r.State.Terminal() {
			continue
		}
		done.Jobs = append(done.Jobs, api.Fate{ID: id, State: r.State.String(), Verdict: "lost", Why: "the test said so"})
		if !f.DryRun {
			r.State = grid.Lost
		}
	}
	s.wake()
	return done, nil
}

// End ends a job as FAILED or LOST.
func (s *Service) End(_ context.Context, _ api.Identity, id grid.JobID, e api.Ending) (grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	switch {
	case s.fail != nil:
		return grid.Record{}, s.fail
	case j == nil:
		return grid.Record{}, fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	case !e.DryRun:
		j.record.State = map[string]grid.State{api.AsDead: grid.Failed, api.AsLost: grid.Lost}[e.As]
		j.record.End = j.record.State
		s.wake()
	}
	return j.record, nil
}

// Raise sets the alarm of the first site.
func (s *Service) Raise(alarm string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites[0].Alarms = []string{alarm}
}

// Resume ends the alarm of the first site; without one there is nothing to resume.
func (s *Service) Resume(context.Context) (api.Asking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil && len(s.sites[0].Alarms) == 0 {
		return api.Asking{}, fmt.Errorf("%w: this broker was not stopped: nothing to resume", grid.ErrInvalid)
	}
	s.sites[0].Alarms = nil
	return api.Asking{Asked: []string{"b"}}, s.fail
}

// HadDuplicate asks one, where there is no alarm.
func (s *Service) HadDuplicate(context.Context) (api.Asking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil && len(s.sites[0].Alarms) > 0 {
		return api.Asking{}, fmt.Errorf("%w: this broker is stopped", grid.ErrUnavailable)
	}
	return api.Asking{Asked: []string{"b"}}, s.fail
}

// Batch is a batch system without jobs.
func (s *Service) Batch(context.Context) (api.Batch, error) {
	return api.Batch{System: "embedded", Policy: "easy", Nodes: []api.BatchNode{{Name: "n1", Cores: 16}}}, nil
}

// Notify counts itself in Notified.
func (s *Service) Notify(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notified++
	return s.fail
}

// Notified is how often Notify was called.
func (s *Service) Notified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notified
}

// Handoffs is what Move has set.
func (s *Service) Handoffs(_ context.Context, neighbour grid.SiteName) ([]api.Handoff, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	list, ok := s.moving[neighbour]
	if !ok {
		return nil, fmt.Errorf("no neighbour is called %q: %w", neighbour, grid.ErrNotFound)
	}
	return list, nil
}

// AllSites are those that Sites lists.
func (s *Service) AllSites(ctx context.Context) ([]api.SiteView, error) { return s.Sites(ctx) }

// Sites lists this site and what AddSite added.
func (s *Service) Sites(context.Context) ([]api.SiteView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	return slices.Clone(s.sites), nil
}

// Overview tells the jobs by state, and the alarm of the first site.
func (s *Service) Overview(context.Context) (api.Overview, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return api.Overview{}, s.fail
	}
	o := api.Overview{Site: "here", Peer: Peer, Jobs: map[string]int{}, Alarms: []string{}, Members: []api.MemberAtGlance{}}
	for _, j := range s.jobs {
		o.Jobs[j.record.State.String()]++
	}
	return o, nil
}

// SiteName knows this site and those that AddSite added.
func (s *Service) SiteName(p grid.PeerID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.siteName(p)
}

func (s *Service) siteName(p grid.PeerID) string {
	for _, v := range s.sites {
		if v.Peer == p {
			return string(v.Site.Name)
		}
	}
	return string(p)
}
