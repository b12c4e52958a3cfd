package stage

import (
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

// Inputs that came from a peer stay for other jobs of the same user, up to Config.Cache bytes:
//
//	ROOT/cache/<hash of the user>/<hash of size, mode and ranges>
//
// An entry and the file in in/ are one, by a hard link; so it costs nothing while that is there, and
// Prepare copies it where it else would move it. It is hashed before each use. What was used
// longest ago goes first, and all where space is needed for files. Each user has entries of his own:
// nobody learns from the time that a file takes what others have.
type cache struct {
	mu      sync.Mutex
	entries map[string]*cached // by their names below cacheDir
	bytes   int64
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
func cacheName(user grid.User, f grid.File) string {
	of := blake3.Sum256(fmt.Appendf(nil, "%q %q", user.Home, user.Name))
	h := blake3.New(32, nil)
	fmt.Fprintf(h, "%d %o", f.Size, f.Mode)
	for _, r := range f.Ranges {
		h.Write(r[:])
	}
	return hex.EncodeToString(of[:16]) + "/" + hex.EncodeToString(h.Sum(nil))
}

// openCache finds what an earlier process kept.
func (s *Stager) openCache() error {
	s.cache.entries = map[string]*cached{}
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
			e.used = time.Now()
			s.root.Chtimes(path.Join(cacheDir, name), e.used, e.used) // for the next process; a copy of it is kept here
		}
	}
	return nil
}

// remember keeps the inputs of a job, which are in in/, for others of its user.
func (s *Stager) remember(job grid.JobID, user grid.User, m grid.Manifest) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	for _, f := range m {
		if f.Size < worthCache || f.Size > s.cfg.Cache {
			continue
		}
		name := cacheName(user, f)
		s.drop(name) // perhaps it was damaged
		s.evict(s.cfg.Cache - f.Size)
		to := path.Join(cacheDir, name)
		err := s.root.MkdirAll(path.Dir(to), 0o700)
		if err == nil {
			err = s.root.Link(path.Join(string(job), inDir, f.Path), to)
		}
		if err != nil {
			return // a file system without links has no cache
		}
		s.cache.entries[name] = &cached{f.Size, time.Now()}
		s.cache.bytes += f.Size
	}
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
