package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"gbroker/grid"
)

// Export brings the outputs of an ended job that go elsewhere, which are here, to their places. One that the
// job did not make is none to bring. It may be repeated: a place that must not be overwritten
// and has the file by then is the only that notices. failed tells people of those that could not be
// brought, gone of those that are not here any more, as was wished; err that it is to be tried again. tell is
// called, from any goroutine, with why one is brought again, each time.
func (s *Stager) Export(ctx context.Context, job grid.Job, left grid.Manifest, tell func(why string)) (failed, gone []string, err error) {
	if failed, gone, err = s.export(ctx, job, left, tell); err != nil {
		return nil, nil, fmt.Errorf("bring the outputs of %s to their places: %w", job.ID, err)
	}
	return failed, gone, nil
}

func (s *Stager) export(ctx context.Context, job grid.Job, left grid.Manifest, tell func(why string)) (failed, gone []string, err error) {
	ctx, end, err := s.begin(ctx, job.ID)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	root, err := s.folder(job.ID)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	place, err := s.placeOf(job)
	if err != nil {
		return []string{err.Error()}, nil, nil
	}
	results := make([]error, len(job.Outputs))
	err = eachOf(ctx, len(job.Outputs), func(ctx context.Context, i int) error {
		o := job.Outputs[i]
		want, made := lookup(left, o.Stored())
		if o.URI == "" || !made {
			return nil
		}
		done := path.Join(partDir, fmt.Sprintf("exported-%d", i))
		if _, err := root.Lstat(done); err == nil {
			return nil // by an earlier call
		}
		f, info, err := openRegular(root, path.Join(outDir, o.Stored()))
		if err != nil {
			return kindOf(err)
		}
		defer f.Close()
		if info.Size() != want.Size {
			return fmt.Errorf("%w: %q has %d bytes instead of %d", grid.ErrUnavailable, o.Path, info.Size(), want.Size)
		}
		to := place(o.URI)
		to.Failed = func(err error) { tell(fmt.Sprintf("%q to %v", o.Path, err)) }
		if err := s.cfg.Places.Put(ctx, to, f, want.Size, o.Flag); err != nil {
			if ctx.Err() != nil {
				return err
			}
			results[i] = fmt.Errorf("%q to %w", o.Path, err)
			return nil
		}
		mark, err := root.Create(done)
		if err == nil {
			err = errors.Join(mark.Sync(), mark.Close())
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	stays := map[string]bool{} // a file may go to several places
	for i, o := range job.Outputs {
		if results[i] != nil {
			failed = append(failed, results[i].Error())
		}
		stays[o.Stored()] = stays[o.Stored()] || results[i] != nil || !o.Delete || o.URI == ""
	}
	for name, keep := range stays {
		if keep {
			continue
		}
		gone = append(gone, name)
		if err := root.Remove(path.Join(outDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, diskError(err)
		}
	}
	return failed, gone, nil
}
