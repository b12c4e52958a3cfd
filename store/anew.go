package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// shorter keeps journal.told short: where it has doubled since it was last looked through, it is looked through beside the words
// that go on, and written anew where less than half of it counts. So it has no more than compactAbove, or four times what counted
// then. The new file has all that the old one says when it takes its name; until then, and where it cannot, the old one is it.
type shorter struct {
	limit    int64 // bytes of told at which it is looked through again
	busy     bool  // that is under way
	stopping atomic.Bool
	anew     sync.WaitGroup
	syncDir  func(dir string) error
}

var errStopping = errors.New("the journal is closed")

func limitOf(bytes int64) int64 { return max(compactAbove, 2*bytes) }

// mostly tells that most of a file does not count any more.
func mostly(last map[string]word, whole int64) bool {
	useful := int64(0)
	for _, at := range last {
		useful += at.length
	}
	return whole > compactAbove && useful < whole/2
}

// shorten looks journal.told through where it has grown to its limit, while others go on; with the lock held.
func (j *Journal) shorten() {
	w := &j.witness
	if w.bytes < w.limit || w.busy || w.stopping.Load() {
		return
	}
	w.busy = true
	whole := w.bytes
	w.anew.Go(func() { j.writeAnew(whole) })
}

// writeAnew looks through the first bytes of journal.told. What cannot be written anew stays as it is until it has doubled again, or
// until the next start.
func (j *Journal) writeAnew(whole int64) {
	w := &j.witness
	name := filepath.Join(j.dir, "journal.told")
	last, _, err := w.lastWordsTo(whole)
	var next *os.File
	if err == nil && mostly(last, whole) {
		next, err = w.fewer(name, last, whole)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if next != nil {
		if err = j.usable(); err == nil {
			err = w.put(next, name, whole)
		} else {
			w.discard(next, name, err)
		}
	}
	if errors.Is(err, errRenamed) { // which of both a power cut leaves is not known
		j.end(fmt.Errorf("%w (%w)", ErrBroken, err))
	}
	w.busy, w.limit = false, limitOf(w.bytes)
}

// settle ends what writes journal.told anew, and waits for it.
func (j *Journal) settle() {
	j.mu.Lock()
	j.witness.stopping.Store(true)
	j.mu.Unlock()
	j.witness.anew.Wait()
}

// compact writes the last words alone into a new file, in the order in which they stood.
func (w *witness) compact(name string, last map[string]word) error {
	whole := w.bytes
	next, err := w.fewer(name, last, whole)
	if err != nil {
		return err
	}
	return w.put(next, name, whole)
}

// fewer is a new file with those of the first bytes that count; it has no name yet by which it is found.
func (w *witness) fewer(name string, last map[string]word, whole int64) (*os.File, error) {
	next, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(next)
	_, err = out.WriteString(toldHeader)
	if err == nil {
		_, err = w.each(whole, func(job string, _ []byte, at word) error {
			if w.stopping.Load() {
				return errStopping
			}
			if k, counts := last[job]; !counts || k.at != at.at {
				return nil
			}
			_, err := io.Copy(out, io.NewSectionReader(w.told, at.at, at.length))
			return err
		})
	}
	if err = errors.Join(err, out.Flush(), next.Sync()); err != nil {
		return nil, w.discard(next, name, err)
	}
	return next, nil
}

func (w *witness) discard(next *os.File, name string, why error) error {
	return errors.Join(fmt.Errorf("write %s anew: %w", name, why), next.Close(), os.Remove(next.Name()))
}

// errRenamed tells that a file has its name, and a power cut may take it away.
var errRenamed = errors.New("the name of a file is not on disk")

// put adds what was told since the first bytes were read, and has the new file take the place of the old one.
func (w *witness) put(next *os.File, name string, whole int64) error {
	_, err := io.Copy(next, io.NewSectionReader(w.told, whole, w.bytes-whole))
	size, err2 := next.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, err2, next.Sync()); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		return w.discard(next, name, err)
	}
	old := w.told
	w.told, w.bytes, w.last, w.limit = next, size, nil, limitOf(size)
	if err := w.syncDir(filepath.Dir(name)); err != nil {
		return errors.Join(fmt.Errorf("%w: %s: %w", errRenamed, name, err), old.Close())
	}
	return old.Close()
}
