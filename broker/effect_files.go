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
)

func (b *Broker) fetch(ctx context.Context, e core.Fetch) {
	var err error
	var unavailable bool
	if len(e.Files) > 0 {
		err = b.ports.Stager.Fetch(ctx, e.From, e.Job, e.Set, e.Files, e.User, e.Grants)
	}
	if err == nil && e.With != nil {
		from := e.From
		if e.With.Home == b.cfg.Self {
			from = "" // the credentials have stayed here
		}
		unavailable, err = b.ports.Stager.Bring(ctx, from, *e.With)
	}
	final := errors.Is(err, grid.ErrNotFound) || errors.Is(err, grid.ErrForbidden) || errors.Is(err, grid.ErrInvalid)
	b.Post(core.Fetched{Job: e.Job, Epoch: e.Epoch, From: e.From, Set: e.Set, Err: err, Final: final, Source: unavailable, Unended: errors.Is(err, grid.ErrNotYet)})
}

func (b *Broker) weigh(ctx context.Context, e core.Weigh) {
	b.Post(core.Weighed{Job: e.Job.ID, Cost: b.costs(ctx, e.Job)})
}

func (b *Broker) costs(ctx context.Context, j grid.Job) grid.SourceCost {
	ctx, cancel := context.WithTimeout(ctx, weighLimit)
	defer cancel()
	return b.ports.Stager.Costs(ctx, j)
}

// serve does what a user of another broker wishes.
func (b *Broker) serve(ctx context.Context, e core.Serve) {
	ctx, cancel := context.WithTimeout(ctx, serveLimit)
	defer cancel()
	done := core.Served{From: e.From, Number: e.Number, Err: fmt.Errorf("%w: this broker serves its own users alone", grid.ErrUnavailable)}
	if b.ports.Serve != nil {
		done.Found, done.Err = b.ports.Serve(ctx, e)
	}
	b.Post(done)
}

func (b *Broker) export(ctx context.Context, e core.Export) {
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	failed, gone, err := b.ports.Stager.Export(ctx, e.Job, e.Left, func(why string) {
		b.Post(core.ExportedAgain{Job: e.Job.ID, Epoch: e.Epoch, Why: why})
	})
	b.Post(core.Exported{Job: e.Job.ID, Epoch: e.Epoch, Failed: failed, Gone: gone, Err: err})
}

func (b *Broker) check(e core.Check) {
	missing := b.ports.Stager.HasInputs(e.Job, e.Files)
	if !errors.Is(missing, grid.ErrNotFound) {
		missing = nil
	}
	b.Post(core.Checked{Job: e.Job, Epoch: e.Epoch, Missing: missing})
}

func (b *Broker) furnish(e core.Furnish) {
	err := b.ports.Stager.Share(e.Job, e.From, e.Files)
	b.Post(core.Furnished{Job: e.Job, Err: err, Final: errors.Is(err, grid.ErrNotFound) || errors.Is(err, grid.ErrInvalid)})
}

func (b *Broker) collect(ctx context.Context, e core.Collect) {
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	_, _, _ = b.LookAtRoom() // what cannot be read is not seen
	full := grid.Tick(b.fullAt.Load())
	files, missing, err := b.ports.Stager.Collect(ctx, e.Job)
	b.Post(core.Collected{Job: e.Job.ID, Epoch: e.Epoch, Outputs: files, Missing: missing, Full: full, Err: err})
}

func (b *Broker) discard(e core.Discard) {
	if e.Keep {
		if err := b.ports.Stager.End(e.Job); err != nil {
			b.ports.Log.Warn("dropping the credentials of a job", zap.String("job", string(e.Job)), zap.Error(err))
		}
	}
	if err := b.ports.Stager.Discard(e.Job, e.Keep); err != nil {
		b.ports.Log.Warn("dropping the files of a job", zap.String("job", string(e.Job)), zap.Error(err))
	}
}

func (b *Broker) setAside(e core.SetAside) {
	where, err := b.ports.Stager.SetAside(e.Job, e.Foreign, time.Now())
	switch {
	case err != nil:
		b.ports.Log.Warn("putting a folder aside", zap.String("job", string(e.Job)), zap.Error(err))
	case where != "":
		b.ports.Log.Warn("the folder of a job that the journal does not know is put aside: was an older journal put back? It is removed when ended jobs of its age are",
			zap.String("job", string(e.Job)), zap.String("folder", where))
	default:
		b.ports.Log.Info("inputs of a job that is not here are removed", zap.String("job", string(e.Job)))
	}
}

// putBack moves folders that were put aside back to where their jobs have them: an older journal that was put back knows these again, and start tokens
// and ends lie there. Without them an attempt that has run would be taken for one that never started.
func (b *Broker) putBack(ctx context.Context) error {
	aside, err := b.ports.Stager.Aside()
	if err != nil {
		return err
	}
	for _, control := range slices.Backward(slices.Sorted(maps.Keys(aside))) { // of two of one job the later
		id := aside[control]
		r, known, err := b.view.get(ctx, id)
		if err != nil {
			return fmt.Errorf("whose folder %s is: %w", control, err)
		}
		if !known || r.Role != grid.Owning {
			continue
		}
		of, err := b.attemptsIn(control, id)
		damaged := errors.Is(err, grid.ErrDamaged) // it may be, and is said to be damaged where it belongs
		if err != nil && !damaged {
			return fmt.Errorf("which attempts of %s were put aside: %w", id, err)
		}
		if !damaged && !core.IsFolderOf(&r, of) {
			continue
		}
		moved, err := b.ports.Stager.PutBack(control, id)
		if err != nil {
			return err
		}
		if moved {
			b.ports.Log.Info("the folder of a job that the journal knows again is put back", zap.String("job", string(id)))
		}
	}
	return nil
}

// dropAside removes what was put aside as long ago as ended jobs are kept.
func (b *Broker) dropAside() {
	keep := core.Config{Keep: b.cfg.Keep}.WithDefaults().Keep // the loop changes other fields meanwhile
	n, err := b.ports.Stager.DropAside(time.Now().Add(-keep.Duration()))
	if err != nil {
		b.ports.Log.Warn("removing what was put aside", zap.Error(err))
	}
	if n > 0 {
		b.ports.Log.Info("folders that were put aside are removed", zap.Int("number", n))
	}
}

func (b *Broker) publish(ctx context.Context, e core.Publish) {
	ctx, cancel := context.WithTimeout(ctx, hintLimit)
	defer cancel()
	if err := b.ports.Hints.PublishOwner(ctx, e.Job, e.Epoch); err != nil {
		b.ports.Log.Debug("publishing an owner", zap.String("job", string(e.Job)), zap.Error(err))
	}
}
