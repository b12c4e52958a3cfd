package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"gbroker/grid"
)

// Upload sends one wanted file of the given size. Where the way to the broker breaks it goes on from
// where that got, for as long as Resend after the last byte.
func (c *Client) Upload(ctx context.Context, id grid.JobID, path string, size int64, body io.ReadSeeker) error {
	moved := time.Now()
	for offset, pause := int64(0), 50*time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := c.uploadFrom(ctx, id, path, offset, size, body)
		if err == nil || !Interrupted(err) || ctx.Err() != nil {
			return err
		}
		if time.Since(moved) > c.config.Resend {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		if n, bad := c.begun(ctx, id, path); bad == nil {
			if n > offset {
				moved = time.Now()
			}
			offset = min(n, size)
		}
		if _, bad := body.Seek(offset, io.SeekStart); bad != nil {
			return errors.Join(err, bad)
		}
	}
}

// begun asks how far an upload that broke has come.
func (c *Client) begun(ctx context.Context, id grid.JobID, path string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Answer)
	defer cancel()
	r, err := c.request(ctx, http.MethodHead, jobPath(id)+"/files/"+escaped(path), nil)
	if err != nil {
		return 0, err
	}
	answer, err := c.send(r)
	if err != nil {
		return 0, c.transportError(err)
	}
	answer.Body.Close()
	return strconv.ParseInt(answer.Header.Get("Upload-Offset"), 10, 64)
}

// uploadFrom sends what a file has from an offset on.
func (c *Client) uploadFrom(ctx context.Context, id grid.JobID, path string, offset, size int64, body io.Reader) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return c.put(ctx, jobPath(id)+"/files/"+escaped(path), offset, size, body)
}

// put sends a file of the given size, from an offset on.
func (c *Client) put(ctx context.Context, to string, offset, size int64, body io.Reader) error {
	ctx, stalled := c.whileMoving(ctx)
	defer stalled.stop()
	size -= offset
	source := &stalledReader{Reader: io.LimitReader(body, size), stall: stalled}
	r, err := c.request(ctx, http.MethodPut, to, source)
	if err != nil {
		return err
	}
	r.ContentLength = size
	if offset > 0 {
		r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, offset+size-1, offset+size))
	}
	if size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Expect", "100-continue")
	answer, err := c.send(r)
	if err != nil {
		if n := source.read.Load(); source.ended.Load() && n < size {
			return fmt.Errorf("the file has only %d bytes of the declared %d: was it changed meanwhile? %w", n, size, grid.ErrInvalid)
		}
		return c.transportError(stalled.cause(err))
	}
	defer answer.Body.Close()
	return readAnswer(answer, nil)
}

// Output copies one output of a job to w and returns its length.
func (c *Client) Output(ctx context.Context, id grid.JobID, path string, w io.Writer) (int64, error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	ctx, stalled := c.whileMoving(ctx)
	defer stalled.stop()
	r, err := c.request(ctx, http.MethodGet, jobPath(id)+"/outputs/"+escaped(path), nil)
	if err != nil {
		return 0, err
	}
	answer, err := c.send(r)
	if err != nil {
		return 0, c.transportError(stalled.cause(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, readAnswer(answer, nil)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, &stalledReader{Reader: answer.Body, stall: stalled}, make([]byte, pieceSize))
	if err != nil {
		return n, fmt.Errorf("receiving %q of job %s: %w", path, id, stalled.cause(err))
	}
	return n, nil
}

// stall ends a transfer that does not move.
type stall struct {
	broker string
	timer  *time.Timer
	d      time.Duration
	last   atomic.Int64 // when the timer was last set, Unix nanoseconds
	fired  atomic.Bool
	cancel context.CancelFunc
}

// whileMoving is a context that ends when nothing has moved for Stall.
func (c *Client) whileMoving(ctx context.Context) (context.Context, *stall) {
	ctx, cancel := context.WithCancel(ctx)
	s := &stall{broker: c.config.Address, d: c.config.Stall, cancel: cancel}
	s.last.Store(time.Now().UnixNano())
	s.timer = time.AfterFunc(s.d, func() {
		s.fired.Store(true)
		cancel()
	})
	return ctx, s
}

func (s *stall) touch() {
	now := time.Now().UnixNano()
	if last := s.last.Load(); time.Duration(now-last) > s.d/8 {
		s.last.Store(now)
		s.timer.Reset(s.d)
	}
}

func (s *stall) stop() {
	s.timer.Stop()
	s.cancel()
}

// cause is err, or that nothing moved where that made it.
func (s *stall) cause(err error) error {
	if s.fired.Load() {
		return fmt.Errorf("nothing came from %s, or went to it, for %v: %w", s.broker, s.d, grid.ErrUnavailable)
	}
	return err
}

// stalledReader reads what moves. Transport may still read when the request is over.
type stalledReader struct {
	io.Reader
	*stall
	read  atomic.Int64
	ended atomic.Bool
}

func (r *stalledReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.touch()
	r.read.Add(int64(n))
	if errors.Is(err, io.EOF) {
		r.ended.Store(true)
	}
	return n, err
}
