package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// What a program writes may be closed to all but its account. While it runs such a file is read
// in that account's name, a part at a time.

// heldPart is a part of a file, at its offset.
type heldPart struct {
	offset int64
	data   []byte
}

// ReadAt reads what is held.
func (p heldPart) ReadAt(b []byte, offset int64) (int, error) {
	if offset < p.offset || offset > p.offset+int64(len(p.data)) {
		return 0, io.EOF
	}
	n := copy(b, p.data[offset-p.offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// partLimit bounds how long the account's own side takes for a part.
const partLimit = 30 * time.Second

// partAs reads a part of a file in work/ in the name of its account.
func (s *Stager) partAs(t tenant, job grid.JobID, name string, offset, length int64) (f liveFile, err error) {
	var out bytes.Buffer
	ctx := context.Background() //house:allow context: partLimit ends it, and those who serve a stream have none
	err = s.act(ctx, t, partLimit, bytes.NewReader(append([]byte(name), 0)), &atMost{&out, length + 64<<10}, "part",
		filepath.Join(s.cfg.Root, string(job), workDir), strconv.FormatInt(offset, 10), strconv.FormatInt(length, 10))
	if err != nil {
		return f, err
	}
	r, err := handover.NewReceiver(&out)
	if err != nil {
		return f, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	there, err := r.Next(func(mode fs.FileMode, size int64, content io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(content, length))
		f = liveFile{heldPart{offset, data}, io.NopCloser(nil), size, uint32(mode)}
		return err
	})
	switch {
	case err != nil:
		return liveFile{}, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	case !there:
		return liveFile{}, fmt.Errorf("%w: the output %q of %s", grid.ErrNotFound, name, job)
	}
	return f, nil
}

// errTooMuch tells that the account's side sends more than was asked for.
var errTooMuch = errors.New("it sends more than was asked for")

// atMost takes a number of bytes, and no more.
type atMost struct {
	w    io.Writer
	left int64
}

func (a *atMost) Write(b []byte) (int, error) {
	if a.left -= int64(len(b)); a.left < 0 {
		return 0, errTooMuch
	}
	return a.w.Write(b)
}

// available is how many bytes of a part can be given.
func (f liveFile) available(offset, length int64) int64 {
	length = max(0, min(length, f.size-offset))
	if held, part := f.ReaderAt.(heldPart); part {
		length = max(0, min(length, held.offset+int64(len(held.data))-offset))
	}
	return length
}

// parts reads a file that can be had in parts alone, up to where it ended at opening.
type parts struct {
	at   liveFile
	next func(offset int64) (liveFile, error)
	done int64
	size int64
}

func (p *parts) Read(b []byte) (int, error) {
	if p.done < p.size && p.at.available(p.done, 1) == 0 {
		f, err := p.next(p.done)
		if err != nil {
			return 0, err
		}
		p.at = f
	}
	n := min(int64(len(b)), p.size-p.done, p.at.available(p.done, int64(len(b))))
	if n <= 0 {
		return 0, io.EOF
	}
	k, err := p.at.ReadAt(b[:n], p.done) // all of them, as so many are there
	p.done += int64(k)
	return k, err
}

func (p *parts) Close() error { return nil }
