package stage

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// Inputs that came from a peer, those by URI of which the place tells a checksum, and outputs of jobs that keep them (grid.Sharing), stay for
// other jobs of the same user, up to Config.Cache bytes:
//
//	ROOT/cache/<hash of the user>/<hash of size, mode and ranges, or of what a place tells>
//
// One that several jobs wait for comes for the first of them alone. An entry and the file in in/ are one, by a hard link; so it costs nothing while that is there, and
// Prepare copies it where it else would move it. It is hashed before each use. What was used
// longest ago goes first, and all where space is needed for files. Each user has entries of his own:
// nobody learns from the time that a file takes what others have.
type cache struct {
	mu      sync.Mutex
	entries map[string]*cached // by their names below cacheDir
	bytes   int64
	coming  map[string]chan struct{} // closed when it has come, or will not
}

type cached struct {
	size int64
	used time.Time
}

const (
	cacheDir   = "cache"
	worthCache = 64 << 10 // bytes from which a file is kept
)

// cacheName is that of a file of a user.
func cacheName(user grid.User, f grid.File) string { return contentName(user, Content(f)) }

func contentName(user grid.User, of grid.Hash) string {
	return cacheFolder(user) + "/" + hex.EncodeToString(of[:])
}

// Content is the hash by which the cache knows a file: of size, mode and ranges.
func Content(f grid.File) (sum grid.Hash) {
	h := blake3.New(32, nil)
	fmt.Fprintf(h, "%d %o", f.Size, f.Mode)
	for _, r := range f.Ranges {
		h.Write(r[:])
	}
	h.Sum(sum[:0])
	return sum
}

func cacheFolder(user grid.User) string {
	of := blake3.Sum256(fmt.Appendf(nil, "%q %q", user.Home, user.Name))
	return hex.EncodeToString(of[:16])
}

// keeps tells whether a file of so many bytes is worth an entry, and fits.
func (s *Stager) keeps(size int64) bool { return size >= worthCache && size <= s.cfg.Cache }

// alone waits until nobody else brings one of the entries, and lets nobody before done is called.
func (c *cache) alone(ctx context.Context, names []string) (done func(), err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names))) // in one order, so that no two wait for each other
	var mine []string
	done = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range mine {
			close(c.coming[n])
			delete(c.coming, n)
		}
	})
	for len(mine) < len(names) {
		other := c.claim(names[len(mine)])
		if other == nil {
			mine = append(mine, names[len(mine)])
			continue
		}
		select {
		case <-other:
		case <-ctx.Done():
			done()
			return nil, context.Cause(ctx)
		}
	}
	return done, nil
}

// claim notes that an entry comes; if it comes already, it gives what is closed then.
func (c *cache) claim(name string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.coming[name]; other != nil {
		return other
	}
	c.coming[name] = make(chan struct{})
	return nil
}

// aloneWith is alone with the files of a job that are worth it.
func (s *Stager) aloneWith(ctx context.Context, user grid.User, m grid.Manifest) (done func(), err error) {
	var names []string
	for _, f := range m {
		if s.keeps(f.Size) {
			names = append(names, cacheName(user, f))
		}
	}
	return s.cache.alone(ctx, names)
}

// openCache finds what an earlier process kept.
func (s *Stager) openCache() error {
	s.cache.entries, s.cache.coming = map[string]*cached{}, map[string]chan struct{}{}
	err := fs.WalkDir(s.root.FS(), cacheDir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s.cache.entries[strings.TrimPrefix(name, cacheDir+"/")] = &cached{info.Size(), info.ModTime()}
		s.cache.bytes += info.Size()
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError(fmt.Errorf("read the cache of inputs: %w", err))
	}
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.evict(s.cfg.Cache)
	return nil
}

// recall puts the files of m that are in the cache into in/, where they are looked for first.
func (s *Stager) recall(root *os.Root, job grid.JobID, user grid.User, m grid.Manifest) error {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	for _, f := range m {
		name := cacheName(user, f)
		e := s.cache.entries[name]
		if e == nil {
			continue
		}
		to := path.Join(inDir, f.Path)
		if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
			continue // of an older set, which Fetch clears away
		}
		err := s.root.Link(path.Join(cacheDir, name), path.Join(string(job), to))
		switch {
		case errors.Is(err, fs.ErrExist):
		case errors.Is(err, fs.ErrNotExist):
			s.drop(name)
		case err != nil:
			return diskError(fmt.Errorf("take %q from the cache: %w", f.Path, err))
		default:
			s.touch(name, e)
		}
	}
	return nil
}

// touch notes that an entry was used.
func (s *Stager) touch(name string, e *cached) {
	e.used = time.Now()
	s.root.Chtimes(path.Join(cacheDir, name), e.used, e.used) // for the next process; a copy of it is kept here
}

// remember keeps the inputs or outputs of a job, which are in their folder, for others of its user.
func (s *Stager) remember(job grid.JobID, set Set, user grid.User, m grid.Manifest) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	for _, f := range m {
		if s.keeps(f.Size) && !s.keep(cacheName(user, f), path.Join(string(job), set.dir(), f.Path), f.Size) {
			return // a file system without links has no cache
		}
	}
}

// keep makes an entry of a file.
func (s *Stager) keep(name, file string, size int64) bool {
	s.drop(name) // perhaps it was damaged
	s.evict(s.cfg.Cache - size)
	to := path.Join(cacheDir, name)
	if s.root.MkdirAll(path.Dir(to), 0o700) != nil || s.root.Link(file, to) != nil {
		return false
	}
	s.cache.entries[name] = &cached{size, time.Now()}
	s.cache.bytes += size
	return true
}

// evict removes what was used longest ago, until no more than most bytes are left.
func (s *Stager) evict(most int64) {
	if s.cache.bytes <= most {
		return
	}
	names := make([]string, 0, len(s.cache.entries))
	for n := range s.cache.entries {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return s.cache.entries[a].used.Compare(s.cache.entries[b].used) })
	for _, n := range names {
		if s.cache.bytes <= most {
			return
		}
		s.drop(n)
	}
}

// emptyCache removes all; false where there was nothing.
func (s *Stager) emptyCache() bool {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	some := s.cache.bytes > 0
	s.evict(0)
	return some
}

// drop removes an entry, if there is one.
func (s *Stager) drop(name string) {
	if e := s.cache.entries[name]; e != nil {
		s.root.Remove(path.Join(cacheDir, name))
		delete(s.cache.entries, name)
		s.cache.bytes -= e.size
	}
}
