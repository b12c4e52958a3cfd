package daemon

import (
	"context"
	"errors"
	"fmt"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/stage"
	"gbroker/wire"
)

// Alter changes a job, and waits until ctx is done for that to be certain.
func (s service) Alter(ctx context.Context, who api.Identity, id grid.JobID, to grid.Alteration) (grid.Record, bool, error) {
	far, err := s.isElsewhere(ctx, id)
	if err != nil {
		return grid.Record{}, false, err
	}
	if far {
		f, err := s.askHome(ctx, who, core.Wish{Job: id, Ask: wire.WishAlter, Alter: to})
		return f.Record, f.Certain, err
	}
	return s.alterHere(ctx, who, core.Alter{Job: id, To: to, By: who.Name})
}

// alterHere changes a job of this home.
func (s service) alterHere(ctx context.Context, who api.Identity, e core.Alter) (grid.Record, bool, error) {
	r, err := s.record(ctx, who, e.Job)
	if err != nil {
		return r, false, err
	}
	unmade := r.State < grid.Ready && len(r.Job.Demand.Chunks) == 0 // its turn in its group has not come
	if e.To.OfJob() && !unmade {                                    // a deadline alone is its user's word, also where no site can make it
		next, err := r.Job.With(e.To)
		if err != nil {
			return r, false, fmt.Errorf("%w: job %s: %w", grid.ErrInvalid, e.Job, err)
		}
		if r.State < grid.Running && r.End == 0 {
			var never *api.Impossible
			switch err := s.possible(ctx, next, ""); {
			case errors.As(err, &never): // what it advises is of a job that is handed in
				return r, false, fmt.Errorf("%w: job %s stays as it is: altered so, no site that is known here could ever run it: %s", grid.ErrInvalid, e.Job, never.Why)
			case err != nil:
				return r, false, fmt.Errorf("job %s: %w", e.Job, err)
			}
		}
	}
	return s.site.broker.Alter(ctx, e)
}

// Resubmit hands an ended job in again, at its home.
func (s service) Resubmit(ctx context.Context, who api.Identity, id grid.JobID, key string) (grid.Record, error) {
	far, err := s.isElsewhere(ctx, id)
	if err != nil {
		return grid.Record{}, err
	}
	if far {
		f, err := s.askHome(ctx, who, core.Wish{Job: id, Ask: wire.WishResubmit, Key: key})
		return f.Record, err
	}
	return s.resubmitHere(ctx, who, id, key)
}

// resubmitHere hands an ended job of this home in again, with its files. What it waited for is over: it waits for nothing.
func (s service) resubmitHere(ctx context.Context, who api.Identity, id grid.JobID, key string) (grid.Record, error) {
	r, err := s.record(ctx, who, id)
	if err != nil {
		return r, err
	}
	if !r.State.Terminal() {
		return r, fmt.Errorf("%w: job %s is %s: only a job that has ended is handed in again", grid.ErrNotYet, id, r.State)
	}
	if err := s.site.stager.HasInputs(id, r.Job.Inputs); err != nil {
		return r, fmt.Errorf("%w: the files of job %s are not here any more (%w): hand its document in with `gclient submit`", grid.ErrNotFound, id, err)
	}
	if r, err = s.site.broker.Whole(ctx, id); err != nil {
		return r, err
	}
	n := api.NewJob{Key: key, Job: r.Job, QueueAnyway: r.Anyway}
	t := &n.Job.Terms
	t.NotBefore, t.Deadline, t.Held, t.After = 0, 0, false, nil
	n.Job.Inputs = make(grid.Manifest, len(r.Job.Inputs))
	for i, f := range r.Job.Inputs {
		n.Job.Inputs[i] = grid.File{Path: f.Path, Size: f.Size, Mode: f.Mode}
	}
	next, _, err := s.Submit(ctx, who, n)
	if err != nil || next.State != grid.StageIn {
		return next, err
	}
	for _, f := range r.Job.Inputs {
		if err := s.copyInput(ctx, who, id, next.Job.ID, f); err != nil {
			return next, fmt.Errorf("the files of job %s for %s: %w", id, next.Job.ID, err)
		}
	}
	return s.Uploaded(ctx, who, next.Job.ID)
}

// copyInput brings a file of one job to another as an upload does.
func (s service) copyInput(ctx context.Context, who api.Identity, from, to grid.JobID, f grid.File) error {
	file, _, _, err := s.site.stager.Open(from, stage.Inputs, f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	return s.Upload(ctx, who, to, f.Path, 0, file)
}

// Remove deletes an ended job, at its home, or where its result is kept.
func (s service) Remove(ctx context.Context, who api.Identity, id grid.JobID) error {
	if far, err := s.isElsewhere(ctx, id); err != nil {
		return err
	} else if r, known, err := s.site.broker.Job(ctx, id); far && err == nil && !(known && r.Kept) {
		_, err := s.askHome(ctx, who, core.Wish{Job: id, Ask: wire.WishRemove})
		return err
	}
	return s.removeHere(ctx, who, id)
}

// removeHere removes a job of this home, or whose result is kept here.
func (s service) removeHere(ctx context.Context, who api.Identity, id grid.JobID) error {
	r, err := s.record(ctx, who, id)
	if err != nil {
		return err
	}
	if err := s.site.broker.Remove(ctx, id); err != nil {
		return err
	}
	s.site.feedOn(&r, grid.Deleted(grid.KindJob, string(id))) // one that lived in the journal alone is not seen to change
	return nil
}
