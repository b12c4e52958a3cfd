package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// What only the home of a job or a group can do or tell is asked for there, by the user's name; the home
// decides whether he may. See broker/core/request.go.

// isElsewhere tells of a job whose home is another broker, as far as is known here.
func (s service) isElsewhere(ctx context.Context, id grid.JobID) (bool, error) {
	r, known, err := s.site.broker.Job(ctx, id)
	if known && r.Role != grid.Declined {
		return r.Job.Home != s.site.self, err
	}
	return id.Site() != s.site.facts.Name, err
}

// isGroupElsewhere is isElsewhere of a group.
func (s service) isGroupElsewhere(id grid.GroupID) bool {
	_, known := s.site.broker.Group(id)
	return !known && id.Site() != s.site.facts.Name
}

// askHome asks the home of a job or a group.
func (s service) askHome(ctx context.Context, who api.Identity, w core.Wish) (core.Found, error) {
	if who.Home != "" {
		return core.Found{}, fmt.Errorf("%w: only the home of a job or a group tells that of it", grid.ErrNotFound)
	}
	w.User, w.Administrator = who.Name, who.Administrator
	site, what, homes := w.Job.Site(), "job "+string(w.Job), s.homes(w.Job.Site())
	if w.Group != "" {
		site, what, homes = w.Group.Site(), "the group "+string(w.Group), s.homes(w.Group.Site())
	} else if r, known, err := s.site.broker.Job(ctx, w.Job); err == nil && known {
		homes = []grid.PeerID{r.Job.Home}
	}
	if len(homes) == 0 {
		return core.Found{}, fmt.Errorf("%w: %s is not known here; its home is the site %s, which is no neighbour of this one: ask the broker there, or with a pass that 'gclient pass' gets from it%s",
			grid.ErrNotFound, what, site, s.knownHere(ctx, who, &w))
	}
	var failed error
	for _, home := range homes {
		if _, member := s.site.member(home); !member || s.site.overlay.Liveness(home) != grid.Alive {
			failed = fmt.Errorf("%w: %s: its home, the site %s, cannot be reached now%s; try again later",
				grid.ErrUnavailable, what, s.SiteName(home), s.knownHere(ctx, who, &w))
			continue
		}
		f, err := s.site.broker.AskElsewhere(ctx, home, w)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, grid.ErrUnavailable):
			err = fmt.Errorf("%w%s", err, s.knownHere(ctx, who, &w))
		}
		if failed = err; !errors.Is(err, grid.ErrNotFound) {
			break
		}
	}
	return core.Found{}, failed
}

// homes are the members that have the name of a site, or are called so here.
func (s service) homes(name grid.SiteName) (list []grid.PeerID) {
	for _, m := range s.site.memberList() {
		if facts, ok := s.site.factsOf(m.Peer); ok && facts.Name == name || !ok && m.Name == name {
			list = append(list, m.Peer)
		}
	}
	return list
}

// maxKnown bounds the jobs that are looked at to tell what is known here.
const maxKnown = 10_000

// knownHere is what this broker knows itself of what another is to be asked for, to be told where that one cannot answer.
func (s service) knownHere(ctx context.Context, who api.Identity, w *core.Wish) string {
	if w.Group == "" {
		r, known, err := s.site.broker.Job(ctx, w.Job)
		if err != nil || !known || !listed(&r) || !s.may(who, &r) {
			return ""
		}
		return fmt.Sprintf("; here it is known to be %s, at the site %s", r.State, s.SiteName(r.Owner))
	}
	states := map[string]int{}
	for _, r := range s.site.broker.Live(maxKnown, func(r *grid.Record) bool {
		of, n := r.Job.ID.Group()
		return n > 0 && of == w.Group && listed(r) && s.may(who, r)
	}) {
		states[r.State.String()]++
	}
	if len(states) == 0 {
		return "; no job of it is known here"
	}
	var list []string
	for state, n := range states {
		list = append(list, fmt.Sprintf("%d %s", n, state))
	}
	slices.Sort(list)
	return "; of its jobs are known here: " + strings.Join(list, ", ")
}

// askGroup asks the home of a group.
func (s service) askGroup(ctx context.Context, who api.Identity, id grid.GroupID, ask wire.Wish, page api.Members) (api.GroupRecord, error) {
	f, err := s.askHome(ctx, who, core.Wish{Group: id, Ask: ask, After: page.After, Limit: min(page.Limit, wire.MaxMembers)})
	return api.GroupRecord{Group: f.Group, Counts: f.Counts, Jobs: f.Jobs, Next: f.Next}, err
}

// groupPace is how often a group is asked after that is waited for.
const groupPace = time.Second

// watchGroup asks again and again for a group of another home, until it has ended or ctx is done.
func (s service) watchGroup(ctx context.Context, who api.Identity, id grid.GroupID, page api.Members) (api.GroupRecord, error) {
	pace := time.NewTicker(groupPace)
	defer pace.Stop()
	for {
		g, err := s.askGroup(ctx, who, id, wire.WishStatus, page)
		if err != nil || g.Group.Ended != 0 {
			return g, err
		}
		select {
		case <-ctx.Done():
			return g, nil
		case <-pace.C:
		}
	}
}

// jobsElsewhere lists jobs of a group of another home, page by page as that tells them.
func (s service) jobsElsewhere(ctx context.Context, who api.Identity, after grid.JobID, limit int, f api.Filter) (list []grid.Record, err error) {
	return s.jobsOfGroup(after, limit, f, func(page api.Members) (api.GroupRecord, error) {
		return s.askGroup(ctx, who, f.Group, wire.WishStatus, page)
	})
}

// jobsOfGroup are those of its jobs that a filter passes, also those whose turn has not come, which have no records.
func (s service) jobsOfGroup(after grid.JobID, limit int, f api.Filter, ask func(api.Members) (api.GroupRecord, error)) (list []grid.Record, err error) {
	page := api.Members{Limit: wire.MaxMembers}
	if of, n := after.Group(); of == f.Group {
		page.After = n
	}
	for {
		g, err := ask(page)
		if err != nil {
			return nil, err
		}
		for i := range g.Jobs {
			if f.Passes(&g.Jobs[i], s.SiteName) && len(list) < limit {
				list = append(list, g.Jobs[i])
			}
		}
		if page.After = g.Next; g.Next == 0 || len(list) >= limit {
			return list, nil
		}
	}
}
