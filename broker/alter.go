package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// Alter changes a job of this home; it is durable when Alter returns. certain tells that it is
// so now, wherever the job is: until ctx is done it is waited for.
func (b *Broker) Alter(ctx context.Context, e core.Alter) (r grid.Record, certain bool, err error) {
	if _, err = b.request(ctx, func(t core.Token) core.Request { e.Token = t; return e }); err != nil {
		return r, false, err
	}
	is := func(r *grid.Record) bool {
		a, _ := b.Allocation(e.Job)
		return r.State >= grid.Running || r.End != 0 || settled(r, e.To) && !(mayBegin(a) && (e.To.OfJob() || keepsBack(e.To)))
	}
	r, known, err := b.view.until(ctx, e.Job, is)
	return r, !known || is(&r), err
}

// settled: nothing that is replaced can start any more.
func settled(r *grid.Record, to grid.Alteration) bool {
	if r.Altered != nil {
		return false
	}
	return !keepsBack(to) || r.Role == grid.Owning && (r.State == grid.Ready || r.State < grid.Ready)
}

// keepsBack tells of what a job waits at home for.
func keepsBack(to grid.Alteration) bool { return to.Held != nil && *to.Held || to.NotBefore != nil }

// mayBegin tells of a co-allocated job that parts of it which were told to go may begin yet.
func mayBegin(a *grid.Allocation) bool {
	return a != nil && a.Go > 0 && slices.ContainsFunc(a.Parts, func(p grid.AllocatedPart) bool { return p.Made && p.Fate == 0 })
}

// notify sends a notice once.
func (b *Broker) notify(ctx context.Context, e core.Notify) {
	err := fmt.Errorf("%w: this broker sends no notices", grid.ErrInvalid)
	if b.ports.Notifier != nil {
		err = b.ports.Notifier.Notify(ctx, &e.Record, e.Owed)
	}
	b.Post(core.Notified{Job: e.Record.Job.ID, Owed: e.Owed, Err: err, Final: errors.Is(err, grid.ErrInvalid)})
}
