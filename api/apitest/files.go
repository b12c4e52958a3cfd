package apitest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// Leave sets what a job has left.
func (s *Service) Leave(id grid.JobID, complete bool, files grid.Manifest, content map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[id]
	if !ok {
		return fmt.Errorf("job %s: %w", id, grid.ErrNotFound)
	}
	j.outputs, j.content, j.complete = files, content, complete
	s.wake()
	return nil
}

// Uploads are the files that were uploaded for a job.
func (s *Service) Uploads(id grid.JobID) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.jobs[id]; ok {
		return j.uploads
	}
	return nil
}

// Upload keeps a wanted file.
func (s *Service) Upload(_ context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error {
	s.mu.Lock()
	j, err := s.find(who, id)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	i := slices.IndexFunc(j.wanted, func(w grid.File) bool { return w.Path == path })
	have, there := j.uploads[path]
	s.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("job %s wants no file %q: %w", id, path, grid.ErrNotFound)
	}
	if there && int64(len(have)) == j.wanted[i].Size {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(body, j.wanted[i].Size+1))
	s.mu.Lock()
	if begun := j.begun[path]; offset <= int64(len(begun)) {
		b = append(begun[:offset:offset], b...)
	}
	if j.begun == nil {
		j.begun = map[string][]byte{}
	}
	j.begun[path] = b
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("receiving %q: %w", path, err)
	}
	if int64(len(b)) != j.wanted[i].Size {
		return fmt.Errorf("file %q has not the declared %d bytes: %w", path, j.wanted[i].Size, grid.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.uploads[path] = b
	return nil
}

// Begun is how much of a file has come.
func (s *Service) Begun(_ context.Context, who api.Identity, id grid.JobID, path string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return 0, err
	}
	return int64(len(j.begun[path])), nil
}

// Uploaded makes the job READY.
func (s *Service) Uploaded(_ context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return grid.Record{}, err
	}
	for _, w := range j.wanted {
		if _, ok := j.uploads[w.Path]; !ok {
			return grid.Record{}, fmt.Errorf("job %s: file %q is missing: %w", id, w.Path, grid.ErrInvalid)
		}
	}
	j.record.State = grid.Ready
	s.wake()
	return j.record, nil
}

// Outputs lists what Leave was given.
func (s *Service) Outputs(_ context.Context, who api.Identity, id grid.JobID) (grid.Manifest, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, false, err
	}
	return slices.Clone(j.outputs), j.complete, nil
}

// Output opens one of them.
func (s *Service) Output(_ context.Context, who api.Identity, id grid.JobID, path string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return nil, err
	}
	b, ok := j.content[path]
	if !ok {
		return nil, fmt.Errorf("job %s has no output %q: %w", id, path, grid.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// ReadLog reads what Leave set; a job has run since it is RUNNING, and its epoch names the run.
func (s *Service) ReadLog(ctx context.Context, who api.Identity, id grid.JobID, q api.LogQuery) (api.LogPiece, error) {
	for {
		s.mu.Lock()
		j, err := s.find(who, id)
		if err != nil {
			s.mu.Unlock()
			return api.LogPiece{}, err
		}
		p, changed := j.log(q), s.changed
		s.mu.Unlock()
		if !q.Follow || len(p.Data) > 0 || p.End || p.Run != q.Run {
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p, nil
		}
	}
}

func (j *job) log(q api.LogQuery) api.LogPiece {
	name := cmp.Or(q.File, grid.DefaultOutput)
	if q.Error {
		name = grid.DefaultError
	}
	p := api.LogPiece{Offset: q.Offset, State: j.record.State.String(), Site: "here"}
	if j.record.State < grid.Running {
		return p
	}
	p.Run = j.record.Epoch.String()
	data := j.content[name]
	if p.Run != q.Run || p.Offset > int64(len(data)) {
		p.Offset = 0
	}
	p.Data, p.End = data[p.Offset:], j.record.State.Terminal()
	return p
}
