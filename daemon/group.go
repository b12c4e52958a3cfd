package daemon

import (
	"context"
	"errors"
	"fmt"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
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
	first := n.First
	jobs := make([]grid.Job, len(n.Jobs))
	for i := range n.Jobs {
		if jobs[i], err = s.jobOf(who, group.ID.Job(i+1), n.Jobs[i]); err == nil && !n.QueueAnyway {
			err = s.possible(ctx, jobs[i], "")
		}
		if err != nil {
			return g, false, fmt.Errorf("job %d: %w", i+1, err)
		}
	}
	t := n.Template
	if t != nil {
		t.Group, group.Jobs, group.AtOnce, group.Template = group.ID, n.Count, n.AtOnce, n.Digest
		if first, err = s.jobOf(who, group.ID.Job(1), api.NewJob{Job: first}); err == nil && !n.QueueAnyway {
			err = s.possible(ctx, first, "")
		}
		if err != nil {
			return g, false, fmt.Errorf("job 1 of the sweep: %w", err)
		}
	}
	secrets := map[grid.JobID][]byte{group.ID.Template(): n.Credentials}
	for i := range n.Jobs {
		secrets[jobs[i].ID] = n.Jobs[i].Credentials
	}
	drop, err := s.keepSecrets(secrets)
	if err != nil {
		return g, false, err
	}
	g.Group, g.Jobs, again, err = s.site.broker.SubmitGroup(ctx, group, jobs, t, n.QueueAnyway)
	if err = errors.Join(err, drop(again, err)); err != nil {
		return g, again, err
	}
	g.Counts = s.site.broker.CountsOf(g.Group)[g.Group.ID]
	return g, again, err
}

// group is the group if who may see it.
func (s service) group(who api.Identity, id grid.GroupID) (grid.Group, error) {
	g, known := s.site.broker.Group(id)
	switch {
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

// withJobs joins a group and some of its jobs.
func (s service) withJobs(ctx context.Context, g grid.Group, page api.Members) (api.GroupRecord, error) {
	jobs, err := s.site.broker.JobsOf(ctx, g, page.After, page.Limit)
	return api.GroupRecord{Group: g, Counts: s.site.broker.CountsOf(g)[g.ID], Jobs: jobs, Next: api.NextOf(&g, jobs, page.Limit)}, err
}

func (s service) Group(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	if s.isGroupElsewhere(id) {
		return s.askGroup(ctx, who, id, wire.WishStatus, page)
	}
	return s.groupHere(ctx, who, id, page)
}

// groupHere is a group of this home.
func (s service) groupHere(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	g, err := s.group(who, id)
	if err != nil {
		return api.GroupRecord{}, err
	}
	return s.withJobs(ctx, g, page)
}

func (s service) GroupHistory(ctx context.Context, who api.Identity, id grid.GroupID) ([]grid.Event, error) {
	if s.isGroupElsewhere(id) {
		f, err := s.askHome(ctx, who, core.Wish{Group: id, Ask: wire.WishHistory})
		return f.Events, err
	}
	if _, err := s.group(who, id); err != nil {
		return nil, err
	}
	return s.site.broker.GroupHistory(ctx, id)
}

func (s service) Groups(_ context.Context, who api.Identity) ([]api.GroupRecord, error) {
	groups := s.site.broker.Groups(func(g *grid.Group) bool { return !g.Removed && s.mayGroup(who, g) })
	counts := s.site.broker.CountsOf(groups...)
	list := make([]api.GroupRecord, 0, len(groups))
	for _, g := range groups {
		list = append(list, api.GroupRecord{Group: g, Counts: counts[g.ID]})
	}
	return list, nil
}

func (s service) WaitGroup(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	if s.isGroupElsewhere(id) {
		return s.watchGroup(ctx, who, id, page)
	}
	if _, err := s.group(who, id); err != nil {
		return api.GroupRecord{}, err
	}
	s.site.broker.WaitGroup(ctx, id)
	return s.groupHere(context.WithoutCancel(ctx), who, id, page) // at the end of the wait it is told as it is
}

func (s service) CancelGroup(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	if s.isGroupElsewhere(id) {
		return s.askGroup(ctx, who, id, wire.WishCancel, page)
	}
	if _, err := s.group(who, id); err != nil {
		return api.GroupRecord{}, err
	}
	return s.cancelGroupHere(ctx, id, page, who.Name)
}

func (s service) cancelGroupHere(ctx context.Context, id grid.GroupID, page api.Members, by string) (api.GroupRecord, error) {
	g, err := s.site.broker.CancelGroup(ctx, id, by)
	if err != nil {
		return api.GroupRecord{}, err
	}
	return s.withJobs(ctx, g, page)
}

func (s service) RemoveGroup(ctx context.Context, who api.Identity, id grid.GroupID) error {
	if s.isGroupElsewhere(id) {
		_, err := s.askGroup(ctx, who, id, wire.WishRemove, api.Members{})
		return err
	}
	if _, err := s.group(who, id); err != nil {
		return err
	}
	return s.site.broker.RemoveGroup(ctx, id)
}

// expand reads a template for Core.
func expand(t grid.Template) (core.Expansion, error) {
	e, err := api.Expand(t)
	return e, err
}
