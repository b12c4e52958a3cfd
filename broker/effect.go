package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
)

// Time limits of what is done outside. A Fetch has none: it ends when the file is
// here, its peer gives up, or it is discarded.
const (
	lookLimit    = 30 * time.Second
	batchLimit   = 2 * time.Minute
	prepareLimit = 6 * time.Hour
	hintLimit    = 20 * time.Second
	weighLimit   = 10 * time.Second
	serveLimit   = 10 * time.Minute // also where files are copied
)

// dispatch lets one effect leave. It never blocks on the outside.
func (b *Broker) dispatch(ctx context.Context, e core.Effect, pauses uint64) {
	if key, ends, slow := core.Route(e); slow {
		for _, k := range ends {
			b.executor.stop(k)
		}
		b.executor.do(ctx, key, core.Bound(e, key), func(work context.Context) { b.work(ctx, work, e, pauses) })
		return
	}
	switch e := e.(type) {
	case core.Save:
		b.saved(e.Change)
	case core.Show:
		b.view.set(*e.Record)
	case core.ShowAccuracy:
		b.accuracy.Store(&e.Accuracy)
	case core.Send:
		if err := b.ports.Peers.Send(e.To, e.Message); err != nil {
			b.ports.Log.Debug("a message was not sent", zap.String("to", string(e.To)),
				zap.Uint8("kind", uint8(e.Message.Kind())), zap.Error(err))
		}
	case core.Answer:
		b.answer(e)
	case core.Uplink:
		if b.ports.Share != nil {
			b.ports.Share(e.Reserved, e.Rest)
		}
	case core.Displace:
		b.displaced(e)
	case core.Alarm:
		b.raise(e)
	case core.AlarmOver:
		b.alarm.Store(nil)
	case core.Note:
		b.ports.Log.Info("note", zap.String("text", e.Text), zap.String("job", string(e.Job)), zap.String("peer", string(e.Peer)))
	}
}

// saved shows readers what has become durable, and tells of it.
func (b *Broker) saved(c grid.Change) {
	var before grid.Entity
	switch c.Kind {
	case grid.KindJob:
		id, r, _ := c.Job()
		if was := b.view.change(id, r); was != nil {
			before = was
		}
	case grid.KindSite:
		if state, is := c.Record.(*grid.SiteState); is {
			b.state.Store(state)
		}
	case grid.KindGroup, grid.KindTemplate, grid.KindResults:
		before = b.groups.change(c)
	case grid.KindReservation:
		before = b.reservations.change(c)
	case grid.KindAllocation:
		before = b.allocations.change(c)
	case grid.KindBudget:
		before = b.budgets.change(c)
	}
	if b.ports.Changed != nil {
		b.ports.Changed(before, c)
	}
}

// displaced tells the operator of local jobs that give way to the grid.
func (b *Broker) displaced(e core.Displace) {
	r, seconds := &e.Reservation, 0.0
	for _, d := range e.Jobs {
		seconds += d.CoreSeconds
	}
	b.ports.Log.Info("local jobs give way to a reservation", zap.String("reservation", string(r.ID)), zap.String("user", r.Holder.Name),
		zap.String("of", string(r.Holder.Home)), zap.Float64("rate", r.Price), zap.Int("jobs", len(e.Jobs)), zap.Float64("core seconds", seconds), zap.Any("each", e.Jobs))
	if b.ports.Displaced != nil {
		b.ports.Displaced(len(e.Jobs), seconds)
	}
}

// work does a slow effect; ctx outlives it.
func (b *Broker) work(ctx, work context.Context, e core.Effect, pauses uint64) {
	switch e := e.(type) {
	case core.Look:
		b.look(work)
	case core.Reconcile:
		b.reconcile(work, e.Jobs)
	case core.Launch:
		b.launch(ctx, work, e, pauses)
	case core.Withdraw:
		b.withdraw(work, e.ID)
	case core.Kill:
		b.kill(work, e.ID)
	case core.Gather:
		b.gather(e)
	case core.Probe:
		b.Probe(work, e.ID)
	case core.Fetch:
		b.fetch(work, e)
	case core.Weigh:
		b.weigh(work, e)
	case core.Export:
		b.export(work, e)
	case core.Notify:
		b.notify(work, e)
	case core.Check:
		b.check(e)
	case core.Furnish:
		b.furnish(e)
	case core.Collect:
		b.collect(work, e)
	case core.Reserve:
		b.reserve(work, e)
	case core.Unreserve:
		b.unreserve(work, e.ID)
	case core.ListReservations:
		b.listReservations(work)
	case core.Discard:
		b.discard(e)
	case core.SetAside:
		b.setAside(e)
	case core.Serve:
		b.serve(work, e)
	case core.Publish:
		b.publish(work, e)
	case core.Delivered:
		b.ports.Links.Observe(e.Peer, e.Size, e.Took.Duration())
	}
}

func (b *Broker) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	s, err := b.ports.Batch.Snapshot(ctx)
	b.Post(core.Looked{Snapshot: inOurTime(s, b.ports.Clock()), Err: err, Full: b.full()})
}

// inOurTime moves a snapshot's instants, which the batch system reads off the wall
// clock, to the broker's clock: a wall clock that is set shifts no estimate.
func inOurTime(s plan.Snapshot, now grid.Tick) plan.Snapshot {
	shift := now - s.At
	if s.At == 0 || shift > -grid.Second && shift < grid.Second {
		return s // no more than what passed since it was taken
	}
	s.At += shift
	s.Running = slices.Clone(s.Running)
	for i := range s.Running {
		s.Running[i].Start += shift
		s.Running[i].End += shift
	}
	s.Reservations = slices.Clone(s.Reservations)
	for i := range s.Reservations {
		s.Reservations[i].Start += shift
		s.Reservations[i].End += shift
	}
	return s
}

// launch prepares the sandbox, which may take long, and then submits. A withdrawal
// of the attempt may overtake it: the token decides. What was decided before a pause is
// given back: the home of the job may have started it again meanwhile. Core hears of the
// pause first, as the next step feels the pulse too.
func (b *Broker) launch(ctx, work context.Context, e core.Launch, pauses uint64) {
	s := e.Submission
	s.Work, s.Control = b.ports.Stager.Paths(s.ID.Job)
	prepare, cancel := context.WithTimeout(work, prepareLimit)
	defer cancel()
	if e.Fresh {
		if err := b.ports.Stager.Discard(s.ID.Job, true); err != nil {
			b.launched(s.ID, "", fmt.Errorf("%w: clearing the sandbox of an earlier attempt: %w", grid.ErrUnavailable, err))
			return
		}
	}
	if unavailable, err := b.ports.Stager.Bring(prepare, "", s.Job); err != nil {
		if !unavailable {
			b.launched(s.ID, "", err)
			return
		}
		b.Post(core.Launched{ID: s.ID, Err: err, Kind: grid.Permanent, Source: true})
		return
	}
	if err := b.ports.Stager.Prepare(prepare, s.Job, e.Keep); err != nil {
		b.launched(s.ID, "", fmt.Errorf("preparing the sandbox: %w", err))
		return
	}
	b.executor.do(ctx, core.WorkKey{Kind: core.BatchWork, Of: string(s.ID.Job)}, core.BatchWork, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, batchLimit)
		defer cancel()
		if now, span := b.pulse.feel(); now != pauses {
			b.launched(s.ID, "", fmt.Errorf("%w: this broker was stopped for %s before it could submit the attempt", grid.ErrUnavailable, span.Duration().Round(100*time.Millisecond)))
			return
		}
		local, err := b.ports.Batch.Submit(ctx, s)
		b.launched(s.ID, local, err)
	})
}

func (b *Broker) launched(id grid.AttemptID, local grid.LocalID, err error) {
	kind := grid.RefusalOf(err)
	if noSpace(err) {
		kind = grid.Temporary
	}
	b.Post(core.Launched{ID: id, Local: local, Err: err, Kind: kind})
}

func (b *Broker) withdraw(ctx context.Context, id grid.AttemptID) {
	ctx, cancel := context.WithTimeout(ctx, batchLimit)
	defer cancel()
	if err := b.makeFolder(id); err != nil {
		b.Post(core.Withdrawn{ID: id, Err: err})
		return
	}
	_, control := b.ports.Stager.Paths(id.Job)
	done, err := b.ports.Batch.Withdraw(ctx, id, control)
	b.Post(core.Withdrawn{ID: id, Done: done, Err: err, Damaged: errors.Is(err, grid.ErrDamaged)})
}

// makeFolder is for an attempt whose launch was not confirmed: it may have failed, died
// before it made the folder, or never have been.
func (b *Broker) makeFolder(id grid.AttemptID) error {
	if r, ok := b.view.shown(id.Job); ok && r.Local == "" {
		return b.ports.Stager.MakeFolder(id.Job)
	}
	return nil
}

func (b *Broker) kill(ctx context.Context, id grid.AttemptID) {
	ctx, cancel := context.WithTimeout(ctx, batchLimit)
	defer cancel()
	_, control := b.ports.Stager.Paths(id.Job)
	if err := b.ports.Batch.Kill(ctx, id, control); err != nil {
		b.ports.Log.Warn("killing an attempt", zap.Stringer("attempt", id), zap.Error(err))
	}
}

// gather writes what the batch system need not be asked for.
func (b *Broker) gather(e core.Gather) {
	_, control := b.ports.Stager.Paths(e.ID.Job)
	if err := b.ports.Gather(control, e.ID, e.Begun, e.Sites); err != nil {
		b.ports.Log.Warn("telling a part of a co-allocated job", zap.Stringer("attempt", e.ID), zap.Bool("begun", e.Begun), zap.Error(err))
	}
}

// Probe asks about an attempt and posts the answer. The batch system's own word of
// a change leads here too.
func (b *Broker) Probe(ctx context.Context, id grid.AttemptID) {
	ctx, cancel := context.WithTimeout(ctx, batchLimit)
	defer cancel()
	if err := b.makeFolder(id); err != nil {
		b.Post(core.Progressed{Progress: grid.Progress{ID: id}, Err: err})
		return
	}
	_, control := b.ports.Stager.Paths(id.Job)
	p, err := b.ports.Batch.Progress(ctx, id, control)
	p.ID = id
	b.Post(core.Progressed{Progress: p, Err: err, Damaged: errors.Is(err, grid.ErrDamaged)})
}

// Changed is the batch system's word that an attempt's progress may have changed.
func (b *Broker) Changed(ctx context.Context, id grid.AttemptID) {
	b.executor.do(ctx, core.WorkKey{Kind: core.BatchWork, Of: string(id.Job)}, core.BatchWork, func(ctx context.Context) { b.Probe(ctx, id) })
}

// reconcile asks what attempts there were, of those jobs of which that can be known now.
func (b *Broker) reconcile(ctx context.Context, jobs []grid.JobID) {
	var e core.Reconciled
	defer func() { b.Post(e) }()
	all, err := b.attempts(ctx)
	if err != nil {
		b.ports.Log.Warn("listing the attempts in the batch system", zap.Error(err))
		return
	}
	e.Attempts = all
	for _, id := range jobs {
		_, control := b.ports.Stager.Paths(id)
		switch of, err := b.attemptsIn(control, id); {
		case err == nil:
			e.Jobs, e.Attempts = append(e.Jobs, id), append(e.Attempts, of...)
		case errors.Is(err, grid.ErrDamaged):
			e.Damaged = append(e.Damaged, id)
		}
	}
	e.All = b.unknown(ctx, &e)
}

// unknown asks what attempts there were of jobs of which there is no record, or one that is done with them. It tells whether all is known that can be. What is put
// aside meanwhile is met there.
func (b *Broker) unknown(ctx context.Context, e *core.Reconciled) bool {
	folders, err := b.ports.Stager.Jobs()
	if err != nil {
		b.ports.Log.Warn("listing the job folders", zap.Error(err))
		return false
	}
	all := true
	read := func(control string, id grid.JobID) (of []grid.AttemptID) {
		r, known, err := b.view.get(ctx, id)
		if known && !core.Bygone(&r) {
			return nil
		}
		of, unread := b.attemptsIn(control, id)
		all = all && err == nil && (unread == nil || errors.Is(unread, grid.ErrDamaged))
		return of
	}
	for _, id := range folders {
		_, control := b.ports.Stager.Paths(id)
		e.Attempts = append(e.Attempts, read(control, id)...)
	}
	aside, err := b.ports.Stager.Aside()
	if err != nil {
		b.ports.Log.Warn("listing the folders that were put aside", zap.Error(err))
		return false
	}
	for _, control := range slices.Sorted(maps.Keys(aside)) {
		e.Aside = append(e.Aside, read(control, aside[control])...)
	}
	return all
}

// attemptsIn lists those of which a control directory tells.
func (b *Broker) attemptsIn(control string, id grid.JobID) ([]grid.AttemptID, error) {
	of, err := b.ports.Tokens(control, id)
	if err != nil {
		b.ports.Log.Warn("reading a control directory", zap.String("job", string(id)), zap.Error(err))
		return nil, err
	}
	return of, nil
}
