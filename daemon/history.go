package daemon

import (
	"cmp"
	"context"
	"slices"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// History is that of the home, which hears of all; where that cannot be asked, what was seen here.
func (s service) History(ctx context.Context, who api.Identity, id grid.JobID) ([]grid.Event, error) {
	far, err := s.isElsewhere(ctx, id)
	if err != nil {
		return nil, err
	}
	if far {
		f, err := s.askHome(ctx, who, core.Wish{Job: id, Ask: wire.WishHistory})
		if _, known := s.record(ctx, who, id); err == nil || known != nil {
			return f.Events, err
		}
	}
	if _, err := s.record(ctx, who, id); err != nil {
		return nil, err
	}
	return s.site.broker.History(ctx, id)
}

// Decisions are those of the home, and of this broker if it has looked for a place too.
func (s service) Decisions(ctx context.Context, who api.Identity, id grid.JobID) ([]grid.Decision, error) {
	far, err := s.isElsewhere(ctx, id)
	if err != nil {
		return nil, err
	}
	var list []grid.Decision
	if far {
		f, err := s.askHome(ctx, who, core.Wish{Job: id, Ask: wire.WishDecisions})
		if _, known := s.record(ctx, who, id); known != nil {
			return f.Decisions, err
		}
		list = f.Decisions
	} else if _, err := s.record(ctx, who, id); err != nil {
		return nil, err
	}
	own, err := s.site.broker.Decisions(ctx, id)
	list = append(list, own...)
	slices.SortStableFunc(list, func(a, b grid.Decision) int { return cmp.Compare(a.At, b.At) })
	return list, err
}

// Allocation is how far a job over several sites is whose home is here.
func (s service) Allocation(ctx context.Context, who api.Identity, id grid.JobID) (*grid.Allocation, error) {
	a, is := s.site.broker.Allocation(id)
	if !is {
		return nil, nil
	}
	_, err := s.record(ctx, who, id)
	return a, err
}
