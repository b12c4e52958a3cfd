package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// How often a file that grows is looked at: here, and at another site.
const (
	logPace    = 200 * time.Millisecond
	logPaceFar = time.Second
)

// ReadLog reads a part of what a job writes, wherever it runs: here, at its owner, by way of its home, and of
// what has come home. Its run is named by the epoch in which its owner started it.
func (s service) ReadLog(ctx context.Context, who api.Identity, id grid.JobID, q api.LogQuery) (api.LogPiece, error) {
	for {
		r, at, err := s.find(ctx, who, id, false)
		if err != nil {
			return api.LogPiece{}, err
		}
		p, err := s.logPiece(ctx, &r, at, q)
		if err != nil || !q.Follow || len(p.Data) > 0 || p.End || p.Run != q.Run && p.Run != "" || p.Offset != q.Offset {
			return p, err
		}
		pace := logPace
		if r.Owner != s.site.self {
			pace = logPaceFar
		}
		select {
		case <-ctx.Done():
			return p, nil
		case <-time.After(pace):
		}
	}
}

// runName names the run whose output there is; "" before the first.
func runName(r *grid.Record) string {
	if r.Started == 0 && r.End == 0 && !r.State.Terminal() {
		return ""
	}
	if r.Adopted != (grid.Epoch{}) {
		return r.Adopted.String()
	}
	return r.Epoch.String()
}

func (s service) logPiece(ctx context.Context, r *grid.Record, at grid.PeerID, q api.LogQuery) (api.LogPiece, error) {
	p := api.LogPiece{Run: runName(r), Offset: q.Offset, State: r.State.String(), Site: grid.SiteName(s.SiteName(r.Owner))}
	if p.Run != q.Run {
		p.Offset = 0
	}
	if p.Run == "" {
		return p, nil
	}
	name, err := fileOf(r, q)
	if err != nil {
		return p, err
	}
	ended := r.State.Terminal()
	// One byte more, before the place, tells whether the file reaches that far.
	before := min(p.Offset, 1)
	data, err := s.readPart(ctx, r, at, name, p.Offset-before, api.MaxLogPiece+before)
	if err == nil && int64(len(data)) < before {
		p.Offset, before = 0, 0
		data, err = s.readPart(ctx, r, at, name, 0, api.MaxLogPiece)
	}
	switch {
	case errors.Is(err, grid.ErrNotFound): // it wrote nothing, or not yet, or it is on its way home
		data, before = nil, 0
	case errors.Is(err, grid.ErrUnavailable) && q.Follow && !ended: // it may be reached again
		p.Why = err.Error()
		return p, nil
	case err != nil:
		return p, err
	}
	p.Data = data[before:]
	p.End = ended && len(p.Data) < api.MaxLogPiece
	return p, nil
}

// fileOf is the name of the file that is asked for.
func fileOf(r *grid.Record, q api.LogQuery) (string, error) {
	output, failed := r.Job.Streams()
	name, what := output, "standard output"
	switch {
	case q.File != "":
		for _, o := range r.Job.Outputs {
			if o.Target == q.File {
				return q.File, nil
			}
		}
		if r.Job.Program.Executable == "" { // a record of another broker's word, which has not all of them
			return q.File, nil
		}
		return "", fmt.Errorf("%w: job %s brings back no file %q", grid.ErrNotFound, r.Job.ID, q.File)
	case q.Error:
		name, what = failed, "standard error"
	}
	if name == "" {
		return "", fmt.Errorf("%w: the %s of job %s does not come back", grid.ErrNotFound, what, r.Job.ID)
	}
	return name, nil
}

// readPart reads where the file is.
func (s service) readPart(ctx context.Context, r *grid.Record, at grid.PeerID, name string, offset, length int64) ([]byte, error) {
	switch {
	case at == s.site.self && r.State.Terminal():
		if r.Job.Home != s.site.self && !r.Kept {
			return nil, fmt.Errorf("%w: the output of job %s is at its home, the site %s", grid.ErrNotFound, r.Job.ID, s.SiteName(r.Job.Home))
		}
		return s.site.stager.ReadOutput(r.Job.ID, name, offset, length)
	case r.Owner == s.site.self:
		return s.site.stager.ReadLive(r.Job, name, offset, length)
	}
	from, err := s.source(r, at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	return s.site.stager.ReadLiveAt(ctx, from, r.Job.ID, name, offset, length)
}
