package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gbroker/grid"
)

// Get brings the file of a place into to, which is empty. grow is asked before more bytes are
// written, and may refuse them; nil lets all come.
func (c *Client) Get(ctx context.Context, p Place, to *os.File, grow func(n int64) error) (Facts, error) {
	t, s, err := c.read(p)
	if err != nil {
		return Facts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Limit)
	defer cancel()
	g := &getting{c: c, s: s, t: t, to: to, grow: grow, moved: time.Now()}
	err = g.run(ctx)
	return g.known, at(t, err)
}

// getting is one Get under way.
type getting struct {
	c     *Client
	s     scheme
	t     target
	to    *os.File
	grow  func(int64) error
	known Facts
	sums  *summing
	have  int64 // bytes that came
	held  int64 // bytes that grow let come
	wrong int
	moved time.Time
}

// maxWrong is how often a file may come with bytes that are not those of its checksum.
const maxWrong = 3

func (g *getting) run(ctx context.Context) error {
	for delay := g.c.backoff; ; delay = min(2*delay, longestBackoff) {
		before := g.have
		err := g.once(ctx)
		if err == nil {
			name, differs := g.sums.other()
			if !differs {
				return nil
			}
			if g.wrong++; g.wrong == maxWrong {
				return fmt.Errorf("%w: it came %d times with bytes that are not those of the %s that the place tells", grid.ErrUnavailable, maxWrong, name)
			}
			if err := g.restart(Facts{}); err != nil {
				return err
			}
			continue
		}
		if final(err) || errors.Is(err, errHere) {
			return err
		}
		if g.have > before {
			g.moved, delay = time.Now(), g.c.backoff
		}
		if time.Since(g.moved) > g.c.cfg.Patience {
			return fmt.Errorf("nothing came for %v: %w", g.c.cfg.Patience, err)
		}
		if !sleep(ctx, delay) {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
	}
}

// errHere is that what comes cannot be kept here.
var errHere = errors.New("it cannot be kept")

// restart forgets what came.
func (g *getting) restart(known Facts) error {
	g.known, g.have, g.sums = known, 0, newSumming(known)
	if err := g.to.Truncate(0); err != nil {
		return fmt.Errorf("%w: %w", errHere, err)
	}
	return nil
}

// once goes on with the file over one connection.
func (g *getting) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatch(g.c.cfg.Idle, g.c.cfg.Least, cancel)
	defer watch.stop()
	r, f, from, err := g.s.open(ctx, g.t, g.have, g.known)
	if err != nil {
		return watch.why(ctx, err)
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { r.Close() })
	defer stop()
	if from != g.have || g.have == 0 {
		if err := g.restart(f); err != nil {
			return err
		}
	}
	if g.known.Size > g.c.cfg.MaxBytes {
		return g.c.tooLong()
	}
	return watch.why(ctx, g.copy(ctx, r, watch))
}

func (g *getting) copy(ctx context.Context, r io.Reader, watch *watch) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		watch.add(n)
		if g.have+int64(n) > g.c.cfg.MaxBytes {
			return g.c.tooLong()
		}
		if g.known.Size >= 0 && g.have+int64(n) > g.known.Size {
			return fmt.Errorf("%w: it goes on after the %d bytes announced", grid.ErrUnavailable, g.known.Size)
		}
		if err := g.take(buf[:n]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF) && g.known.Size >= 0 && g.have < g.known.Size:
			return fmt.Errorf("it ended after %d of %d bytes", g.have, g.known.Size)
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("after %d bytes: %w", g.have, err)
		}
	}
}

// take keeps bytes that came.
func (g *getting) take(p []byte) error {
	if more := g.have + int64(len(p)) - g.held; more > 0 && g.grow != nil {
		if err := g.grow(more); err != nil {
			return fmt.Errorf("%w: %w", errHere, err)
		}
		g.held += more
	}
	if _, err := g.to.WriteAt(p, g.have); err != nil {
		return fmt.Errorf("%w: %w: %w", errHere, grid.ErrUnavailable, err)
	}
	g.sums.Write(p)
	g.have += int64(len(p))
	return nil
}

// watch ends a connection on which too little comes.
type watch struct {
	idle  time.Duration
	least int64
	seen  int64
	timer *time.Timer
}

var errIdle = errors.New("too little came")

func newWatch(idle time.Duration, least int64, cancel context.CancelCauseFunc) *watch {
	w := &watch{idle: idle, least: least}
	w.timer = time.AfterFunc(idle, func() {
		cancel(fmt.Errorf("%w: less than %d bytes in %v", errIdle, least, idle))
	})
	return w
}

func (w *watch) add(n int) {
	if w.seen += int64(n); w.seen >= w.least {
		w.seen = 0
		w.timer.Reset(w.idle)
	}
}

func (w *watch) stop() { w.timer.Stop() }

// why tells the cause of an end that the watch made.
func (w *watch) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errIdle) {
		return cause
	}
	return err
}
