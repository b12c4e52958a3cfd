package daemon

import (
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
)

// SubmitGroup refuses the whole group where one of its jobs is refused.
func (s service) SubmitGroup(ctx context.Context, who api.Identity, n api.NewGroup) (g api.GroupRecord, again bool, err error) {
	ulid, err := newULID()
	if err != nil {
		return g, false, err
	}
	group := grid.Group{
		ID: grid.NewGroupID(s.site.facts.Name, ulid), Name: n.Name, Key: n.Key,
		User: grid.User{Home: s.site.self, Name: who.Name},
	}
	jobs := make([]grid.Job, len(n.Jobs))
	for i := range n.Jobs {
		if jobs[i], err = s.jobOf(who, group.ID.Job(i+1), n.Jobs[i]); err == nil && !n.QueueAnyway {
			err = s.possible(ctx, jobs[i], "")
		}
		if err != nil {
			return g, false, fmt.Errorf("job %d: %w", i+1, err)
		}
	}
	g.Group, g.Jobs, again, err = s.site.broker.SubmitGroup(ctx, group, jobs, n.QueueAnyway)
	return g, again, err
}

// group is the group if who may see it.
func (s service) group(who api.Identity, id grid.GroupID) (grid.Group, error) {
	g, known := s.site.broker.Group(id)
	switch {
	case (!known || g.Removed) && id.Site() != s.site.facts.Name:
		return g, fmt.Errorf("%w: the group %s is not known here; its home is the site %s: ask the broker there", grid.ErrNotFound, id, id.Site())
	case !known || g.Removed:
		return g, fmt.Errorf("%w: the group %s is not known here, or was removed", grid.ErrNotFound, id)
	case !s.mayGroup(who, &g):
		return g, fmt.Errorf("%w: the group %s belongs to another user", grid.ErrForbidden, id)
	}
	return g, nil
}

func (s service) mayGroup(who api.Identity, g *grid.Group) bool {
	return who.Administrator || g.User.Name == who.Name
}

// withJobs joins a group and its jobs.
func (s service) withJobs(ctx context.Context, g grid.Group, err error) (api.GroupRecord, error) {
	if err != nil {
		return api.GroupRecord{}, err
	}
	jobs, err := s.site.broker.JobsOf(ctx, g)
	return api.GroupRecord{Group: g, Jobs: jobs}, err
}

func (s service) Group(ctx context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	g, err := s.group(who, id)
	return s.withJobs(ctx, g, err)
}

func (s service) Groups(ctx context.Context, who api.Identity) ([]api.GroupRecord, error) {
	groups := s.site.broker.Groups(func(g *grid.Group) bool { return !g.Removed && s.mayGroup(who, g) })
	list := make([]api.GroupRecord, 0, len(groups))
	for _, g := range groups {
		r, err := s.withJobs(ctx, g, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func (s service) WaitGroup(ctx context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	if _, err := s.group(who, id); err != nil {
		return api.GroupRecord{}, err
	}
	s.site.broker.WaitGroup(ctx, id)
	g, err := s.group(who, id)
	return s.withJobs(context.WithoutCancel(ctx), g, err) // at the end of the wait it is told as it is
}

func (s service) CancelGroup(ctx context.Context, who api.Identity, id grid.GroupID) (api.GroupRecord, error) {
	if _, err := s.group(who, id); err != nil {
		return api.GroupRecord{}, err
	}
	g, err := s.site.broker.CancelGroup(ctx, id, who.Name)
	return s.withJobs(ctx, g, err)
}

func (s service) RemoveGroup(ctx context.Context, who api.Identity, id grid.GroupID) error {
	if _, err := s.group(who, id); err != nil {
		return err
	}
	return s.site.broker.RemoveGroup(ctx, id)
}
