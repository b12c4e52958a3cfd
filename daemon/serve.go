package daemon

import (
	"context"
	"fmt"
	"time"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// certainLimit is how long an alteration that another broker has asked for is waited for to be certain.
const certainLimit = 5 * time.Second

// serve does for a user of another broker what this home does for its own. Core has said that he may.
func (s service) serve(ctx context.Context, e core.Serve) (core.Found, error) {
	who := api.Identity{Name: e.Wish.User, Administrator: e.Wish.Administrator}
	by := who.Name + " at " + s.SiteName(e.From)
	if e.Wish.Group != "" {
		return s.serveGroup(ctx, who, by, &e.Wish)
	}
	return s.serveJob(ctx, who, by, &e)
}

func (s service) serveGroup(ctx context.Context, who api.Identity, by string, w *core.Wish) (f core.Found, err error) {
	page := api.Members{After: w.After, Limit: w.Limit}
	g, err := s.groupHere(ctx, who, w.Group, page)
	if err != nil {
		return f, err
	}
	switch w.Ask {
	case wire.WishStatus:
	case wire.WishCancel:
		g, err = s.cancelGroupHere(ctx, w.Group, page, by)
	case wire.WishRemove:
		err = s.site.broker.RemoveGroup(ctx, w.Group)
	case wire.WishHistory:
		f.Events, err = s.site.broker.GroupHistory(ctx, w.Group)
	default:
		err = fmt.Errorf("%w: %d is nothing that is done with a group", grid.ErrInvalid, w.Ask)
	}
	f.Group, f.Counts, f.Jobs, f.Next = g.Group, g.Counts, g.Jobs, g.Next
	return f, err
}

func (s service) serveJob(ctx context.Context, who api.Identity, by string, e *core.Serve) (f core.Found, err error) {
	id := e.Wish.Job
	if f.Record, err = s.record(ctx, who, id); err != nil {
		return f, err
	}
	switch e.Wish.Ask {
	case wire.WishAlter:
		ctx, done := context.WithTimeout(ctx, certainLimit)
		defer done()
		f.Record, f.Certain, err = s.alterHere(ctx, who, core.Alter{Job: id, To: e.Wish.Alter, By: by, Relayed: grid.Relayed{By: e.From, Number: e.Number}})
	case wire.WishResubmit:
		f.Record, err = s.resubmitHere(ctx, who, id, e.Wish.Key)
	case wire.WishRemove:
		err = s.removeHere(ctx, who, id)
	case wire.WishHistory:
		f.Events, err = s.site.broker.History(ctx, id)
	case wire.WishDecisions:
		f.Decisions, err = s.site.broker.Decisions(ctx, id)
	default:
		err = fmt.Errorf("%w: %d is nothing that is done with a job", grid.ErrInvalid, e.Wish.Ask)
	}
	return f, err
}
