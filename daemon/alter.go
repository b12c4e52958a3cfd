package daemon

import (
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/stage"
)

// atHome is the job if who may change it, and this is its home.
func (s service) atHome(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	r, err := s.record(ctx, who, id)
	if err == nil && r.Job.Home != s.site.self {
		err = fmt.Errorf("%w: only its home, %s, changes job %s: ask the broker there", grid.ErrInvalid, s.SiteName(r.Job.Home), id)
	}
	return r, err
}

// Alter changes a job, and waits until ctx is done for that to be certain.
func (s service) Alter(ctx context.Context, who api.Identity, id grid.JobID, to grid.Alteration) (grid.Record, bool, error) {
	r, err := s.atHome(ctx, who, id)
	if err != nil {
		return r, false, err
	}
	if to.OfJob() { // a deadline alone is its user's word, also where no site can make it
		next, err := r.Job.With(to)
		if err == nil && r.State < grid.Running && r.End == 0 {
			err = s.possible(ctx, next, "")
		}
		if err != nil {
			return r, false, fmt.Errorf("%w: job %s: %w", grid.ErrInvalid, id, err)
		}
	}
	return s.site.broker.Alter(ctx, id, to, who.Name)
}

// Resubmit hands an ended job in again, with its files. What it waited for is over: it waits for nothing.
func (s service) Resubmit(ctx context.Context, who api.Identity, id grid.JobID, key string) (grid.Record, error) {
	r, err := s.atHome(ctx, who, id)
	if err != nil {
		return r, err
	}
	if !r.State.Terminal() {
		return r, fmt.Errorf("%w: job %s is %s: only a job that has ended is handed in again", grid.ErrNotYet, id, r.State)
	}
	if err := s.site.stager.HasInputs(id, r.Job.Inputs); err != nil {
		return r, fmt.Errorf("%w: the files of job %s are not here any more (%w): hand its document in with `gclient submit`", grid.ErrNotFound, id, err)
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
