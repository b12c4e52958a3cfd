package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// takeOver brings the outputs of a job that ran under another account into out/, in that
// account's name: they are copied, and stay in work/ until all are sealed here. One that the
// account cannot hand over keeps none of the others.
func (s *Stager) takeOver(ctx context.Context, root *os.Root, job grid.Job, t tenant) error {
	var wanted []grid.Output
	var names []byte
	for _, o := range job.Outputs {
		there, err := brought(root, path.Join(outDir, o.Stored()))
		if err != nil {
			return err
		}
		if !there {
			wanted = append(wanted, o)
			names = append(append(names, o.Path...), 0)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w := io.Pipe()
	idle := time.AfterFunc(s.cfg.IdleTimeout, func() {
		cancel(fmt.Errorf("nothing came for %v", s.cfg.IdleTimeout))
	})
	defer idle.Stop()
	ended := make(chan error, 1)
	go func() {
		err := s.act(ctx, t, sendLimit, bytes.NewReader(names), w, "send", filepath.Join(s.cfg.Root, string(job.ID), workDir))
		w.CloseWithError(err) // nil is an end of file
		ended <- err
	}()
	err := s.receiveAll(root, wanted, &lively{r, idle, s.cfg.IdleTimeout})
	r.CloseWithError(io.ErrClosedPipe)
	if bad := <-ended; err == nil {
		err = bad // else it is in what was read, or follows from it
	}
	return err
}

// receiveAll takes the wanted outputs as they come.
func (s *Stager) receiveAll(root *os.Root, wanted []grid.Output, r io.Reader) error {
	from, err := handover.NewReceiver(r)
	if err != nil {
		return err
	}
	var failed error
	for _, o := range wanted {
		_, err := from.Next(func(mode fs.FileMode, size int64, content io.Reader) error {
			return s.takeFile(root, path.Join(outDir, o.Stored()), mode, size, content)
		})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", o.Path, err))
		}
		if err != nil && !errors.Is(err, handover.ErrHandedOver) {
			return failed
		}
	}
	return failed
}

func (s *Stager) takeFile(root *os.Root, target string, mode fs.FileMode, size int64, content io.Reader) error {
	space, err := s.claim(size)
	if err != nil {
		return err
	}
	defer space.release()
	return s.appear(root, target, readable(uint32(mode)), func(to *os.File) error {
		_, err := io.Copy(&spending{to: to, space: space}, content)
		return err
	})
}

// spending writes to a file, and gives back what was promised for it. A file that has grown
// since it was opened needs more; what comes is the account's word, and may be anything.
type spending struct {
	to    *os.File
	space *claim
	all   int64
}

func (w *spending) Write(p []byte) (int, error) {
	if w.all += int64(len(p)); w.all > w.space.s.cfg.MaxBytes {
		return 0, fmt.Errorf("%w: it is longer than the %d bytes that a job may leave", grid.ErrInvalid, w.space.s.cfg.MaxBytes)
	}
	if err := w.space.grow(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p)
	w.space.use(int64(n))
	return n, err
}

// grow sees that at least n bytes are promised.
func (c *claim) grow(n int64) error {
	if c.left >= n {
		return nil
	}
	more, err := c.s.claim(n + grid.RangeSize)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.left += more.left
	return nil
}

// lively puts off an end each time that something comes.
type lively struct {
	r    io.Reader
	end  *time.Timer
	idle time.Duration
}

func (l *lively) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.end.Reset(l.idle)
	}
	return n, err
}
