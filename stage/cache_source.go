package stage

import (
	"context"
	"encoding/hex"
	"fmt"
	"path"

	"lukechampine.com/blake3"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// sourceName is the entry of a file that came by URI, as the place tells of it; "" where that tells no checksum. A
// place is asked for the file's checksum with the credentials of each job, so nobody gets from here what he
// would not get there.
func (s *Stager) sourceName(user grid.User, uri string, f transfer.Facts) string {
	sum, anywhere := f.Checksum()
	if sum == "" || !s.keeps(f.Size) {
		return ""
	}
	if anywhere {
		uri = ""
	}
	h := blake3.Sum256(fmt.Appendf(nil, "source %q %q %d", sum, uri, f.Size))
	return cacheFolder(user) + "/" + hex.EncodeToString(h[:])
}

// recallSource puts a source of a job that is in the cache into its place. Where kept is false it has to be
// brought, and nobody else brings it before done is called.
func (s *Stager) recallSource(ctx context.Context, place transfer.Place, job grid.Job, to string) (kept bool, done func(), err error) {
	done = func() {}
	if s.cfg.Cache == 0 || !transfer.TellsChecksums(place.URI) {
		return false, done, nil
	}
	facts, err := s.ask(ctx, place)
	if err != nil {
		return false, done, nil // bringing it tells why
	}
	name := s.sourceName(job.User, place.URI, facts)
	if name == "" {
		return false, done, nil
	}
	if done, err = s.cache.alone(ctx, []string{name}); err != nil {
		return false, nil, err
	}
	if kept = s.linkSource(name, facts, path.Join(string(job.ID), to)); kept {
		done()
	}
	return kept, done, nil
}

func (s *Stager) ask(ctx context.Context, place transfer.Place) (transfer.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, costLimit)
	defer cancel()
	return s.cfg.Places.Stat(ctx, place)
}

// linkSource makes an entry the source of a job, if it is there and what the place has.
func (s *Stager) linkSource(name string, facts transfer.Facts, to string) bool {
	f, err := s.root.Open(path.Join(cacheDir, name))
	if err != nil {
		return false
	}
	defer f.Close()
	fits, err := facts.Fits(f)
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	e := s.cache.entries[name]
	if e == nil || err != nil {
		return false
	}
	if !fits {
		s.drop(name)
		return false
	}
	if s.root.Link(path.Join(cacheDir, name), to) != nil {
		return false
	}
	s.touch(name, e)
	return true
}

// rememberSource keeps a source of a job that has come for others of its user.
func (s *Stager) rememberSource(job grid.Job, uri string, facts transfer.Facts, file string, size int64) {
	facts.Size = size
	name := s.sourceName(job.User, uri, facts)
	if name == "" {
		return
	}
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.keep(name, path.Join(string(job.ID), file), size)
}
