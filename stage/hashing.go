package stage

import (
	"context"
	"errors"
	"io"
	"sync"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// rangeHasher hashes a file that is written to it from its start, range by range.
type rangeHasher struct {
	h    *blake3.Hasher
	n    int64 // bytes in the open range
	sums []grid.Hash
}

func newRangeHasher() *rangeHasher { return &rangeHasher{h: blake3.New(32, nil)} }

func (r *rangeHasher) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		k := min(int64(len(rest)), grid.RangeSize-r.n)
		r.h.Write(rest[:k])
		rest = rest[k:]
		if r.n += k; r.n == grid.RangeSize {
			r.cut()
		}
	}
	return len(p), nil
}

func (r *rangeHasher) cut() {
	var sum grid.Hash
	r.h.Sum(sum[:0])
	r.sums = append(r.sums, sum)
	r.h.Reset()
	r.n = 0
}

// finish returns the hashes of all ranges.
func (r *rangeHasher) finish() []grid.Hash {
	if r.n > 0 {
		r.cut()
	}
	return r.sums
}

// Hash hashes what a reader gives, range by range.
func Hash(from io.Reader) (sums []grid.Hash, size int64, err error) {
	h := newRangeHasher()
	size, err = io.Copy(h, from)
	return h.finish(), size, err
}

// hashRange hashes length bytes of f at offset through buf; false if there are fewer.
func hashRange(f io.ReaderAt, h *blake3.Hasher, buf []byte, offset, length int64) (sum grid.Hash, ok bool, err error) {
	h.Reset()
	for length > 0 {
		n, err := f.ReadAt(buf[:min(length, int64(len(buf)))], offset)
		h.Write(buf[:n])
		offset += int64(n)
		length -= int64(n)
		if length > 0 && errors.Is(err, io.EOF) {
			return sum, false, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return sum, false, err
		}
	}
	h.Sum(sum[:0])
	return sum, true, nil
}

// hashFile hashes all ranges of the first size bytes of f, two at a time.
func (s *Stager) hashFile(ctx context.Context, f io.ReaderAt, size int64) ([]grid.Hash, error) {
	sums := make([]grid.Hash, ranges(size))
	good := make([]bool, len(sums))
	err := s.eachRange(ctx, len(sums), func(h *blake3.Hasher, buf []byte, i int) (err error) {
		sums[i], good[i], err = hashRange(f, h, buf, int64(i)*grid.RangeSize, rangeLength(size, i))
		if err == nil && !good[i] {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return sums, err
}

// goodRanges tells which ranges of f are what the manifest says.
func (s *Stager) goodRanges(ctx context.Context, f io.ReaderAt, want grid.File) ([]bool, error) {
	good := make([]bool, len(want.Ranges))
	err := s.eachRange(ctx, len(good), func(h *blake3.Hasher, buf []byte, i int) error {
		sum, ok, err := hashRange(f, h, buf, int64(i)*grid.RangeSize, rangeLength(want.Size, i))
		good[i] = ok && sum == want.Ranges[i]
		return err
	})
	return good, err
}

// eachRange calls do for 0 to n-1 from up to two goroutines, each with its buffer.
func (s *Stager) eachRange(ctx context.Context, n int, do func(h *blake3.Hasher, buf []byte, i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, min(n, 2))
	for w := range errs {
		wg.Go(func() {
			buf := s.buffers.Get().(*[bufferSize]byte)
			defer s.buffers.Put(buf)
			h := blake3.New(32, nil)
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = do(h, buf[:], i)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
