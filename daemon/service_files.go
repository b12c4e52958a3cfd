package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/stage"
)

// liveLimit bounds a look at another site at what a job is writing.
const liveLimit = 30 * time.Second

// Outputs lists what an ended job left. Of one that still runs it lists what there
// is so far, at the site that runs it.
func (s service) Outputs(ctx context.Context, who api.Identity, id grid.JobID) (grid.Manifest, bool, error) {
	r, at, err := s.find(ctx, who, id, false)
	if err != nil {
		return nil, false, err
	}
	if r.State.Terminal() || r.End != 0 && at == r.Owner {
		return r.Outputs, true, nil
	}
	files, err := s.live(ctx, &r, at)
	if errors.Is(err, grid.ErrNotFound) {
		err = nil // nothing there yet
	}
	return files, false, err
}

func (s service) live(ctx context.Context, r *grid.Record, at grid.PeerID) (grid.Manifest, error) {
	if r.Owner == s.site.self {
		return s.site.stager.Live(r.Job)
	}
	from, err := s.source(r, at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	files, err := s.site.stager.LiveAt(ctx, from, r.Job.ID)
	if err != nil {
		return nil, fmt.Errorf("asking %s for the output of job %s so far: %w", s.SiteName(from), r.Job.ID, err)
	}
	return files, nil
}

// source is who is asked for what a job writes elsewhere: its owner, if the record is this broker's own, else the
// one whose word the record is; its home asks the owner.
func (s service) source(r *grid.Record, at grid.PeerID) (grid.PeerID, error) {
	from := at
	if from == s.site.self {
		from = r.Owner
	}
	if s.site.overlay.Liveness(from) != grid.Alive {
		return from, fmt.Errorf("%w: the site %s, where job %s is, cannot be reached now; try again later",
			grid.ErrUnavailable, s.SiteName(from), r.Job.ID)
	}
	return from, nil
}

func (s service) Output(ctx context.Context, who api.Identity, id grid.JobID, path string) (io.ReadCloser, error) {
	r, at, err := s.find(ctx, who, id, false)
	if err != nil {
		return nil, err
	}
	var body io.ReadCloser
	switch {
	case at != s.site.self && (r.State.Terminal() || r.End != 0 && at == r.Owner):
		body, err = s.openAt(ctx, &r, at, path)
	case r.State.Terminal() && r.Job.Home != s.site.self && !r.Kept:
		return nil, fmt.Errorf("%w: the output of job %s is at its home, the site %s", grid.ErrNotFound, id, s.SiteName(r.Job.Home))
	case r.State.Terminal():
		body, _, _, err = s.site.stager.Open(id, stage.Outputs, path)
	case r.Owner == s.site.self:
		body, _, _, err = s.site.stager.OpenLive(r.Job, path)
	default:
		body, err = s.openLiveAt(ctx, &r, at, path)
	}
	return body, err
}

func (s service) openLiveAt(ctx context.Context, r *grid.Record, at grid.PeerID, path string) (io.ReadCloser, error) {
	files, err := s.live(ctx, r, at)
	if err != nil {
		return nil, err
	}
	k := slices.IndexFunc(files, func(f grid.File) bool { return f.Path == path })
	if k < 0 {
		return nil, fmt.Errorf("%w: job %s has no output %q yet", grid.ErrNotFound, r.Job.ID, path)
	}
	from, err := s.source(r, at)
	if err != nil {
		return nil, err
	}
	return s.site.stager.OpenLiveAt(ctx, from, r.Job.ID, path, files[k].Size)
}

// fileSets are the stager's names of the broker's sets.
var fileSets = map[core.FileSet]stage.Set{
	core.InputFiles: stage.Inputs, core.OutputFiles: stage.Outputs, core.LiveFiles: stage.Work,
}

// stager fits the stager to the broker's port.
type stager struct{ *stage.Stager }

var _ broker.Stager = stager{}

func (s stager) Fetch(ctx context.Context, from grid.PeerID, job grid.JobID, set core.FileSet, files grid.Manifest, user grid.User, grants []grid.Grant) error {
	s.Stager.Borrow(ctx, job, files, user, grants)
	return s.Stager.Fetch(ctx, from, job, fileSets[set], files, user)
}

func (s stager) Bring(ctx context.Context, from grid.PeerID, job grid.Job) (unavailable bool, err error) {
	err = s.Stager.Bring(ctx, from, job)
	return errors.Is(err, stage.ErrSource), err
}

// Discard with keep drops what only a run needs.
func (s stager) Discard(job grid.JobID, keep bool) error {
	if keep {
		return s.Stager.Discard(job, stage.Work)
	}
	return s.Stager.Discard(job)
}

// authorize answers the stager: may a peer have these files of a job?
func (s *site) authorize(peer grid.PeerID, job grid.JobID, set stage.Set) (stage.Grant, error) {
	for mine, theirs := range fileSets {
		if theirs != set {
			continue
		}
		files, err := s.broker.MayFetch(s.ctx, peer, job, mine)
		if err != nil {
			return stage.Grant{}, err
		}
		r, _, err := s.broker.Job(s.ctx, job)
		if err != nil {
			return stage.Grant{}, err
		}
		grant := stage.Grant{Files: files, Outputs: r.Job.Outputs}
		if r.Job.Home == s.self && r.Owner != s.self && !r.State.Terminal() {
			grant.At = r.Owner // only a home relays: two sites that take each other for the owner ask in no circle
		}
		return grant, nil
	}
	return stage.Grant{}, fmt.Errorf("%w: %s", grid.ErrForbidden, set)
}
