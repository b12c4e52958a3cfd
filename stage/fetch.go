package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"lukechampine.com/blake3"

	"gbroker/grid"
)

// Fetch pulls all files of m, a peer's inputs or outputs of a job, into in/ or out/.
// It returns nil when they are here, verified and durable; it may be called again at
// any time, and fetches only what is missing. Broken streams are retried until ctx
// is done. Inputs of one user come once for all his jobs, while they are in the cache. Errors wrap ErrInvalid (the manifest), ErrForbidden and ErrNotFound (the
// peer's word), ErrUnavailable (space, disk, or bytes that stay wrong) or ctx's.
func (s *Stager) Fetch(ctx context.Context, from grid.PeerID, job grid.JobID, set Set, m grid.Manifest, user grid.User) error {
	if err := s.fetch(ctx, from, job, set, m, user); err != nil {
		return fmt.Errorf("fetch the %s of %s from %s: %w", set, job, from, err)
	}
	return nil
}

func (s *Stager) fetch(ctx context.Context, from grid.PeerID, job grid.JobID, set Set, m grid.Manifest, user grid.User) error {
	if set != Inputs && set != Outputs {
		return fmt.Errorf("%w: only inputs and outputs are fetched as a whole", grid.ErrInvalid)
	}
	if err := checkManifest(m, s.cfg.MaxBytes); err != nil {
		return err
	}
	ctx, root, end, err := s.beginIn(ctx, job)
	if err != nil {
		return err
	}
	defer end()
	if done, err := arrange(root, set, m); err != nil || done {
		return err
	}
	came := func() {}
	if set == Inputs {
		if came, err = s.aloneWith(ctx, user, m); err != nil {
			return err
		}
		defer came()
		if err := s.recall(root, job, user, m); err != nil {
			return err
		}
	}
	p := &pull{s: s, root: root, from: from, job: job, set: set}
	defer p.close()
	if err := p.survey(ctx, m); err != nil {
		return err
	}
	if p.missing == 0 {
		came()
	}
	if p.space, err = s.claim(p.missing); err != nil {
		return err
	}
	defer p.space.release()
	if err := p.whole(ctx); err != nil {
		return err
	}
	names := make([]string, len(m))
	for i, f := range m {
		names[i] = path.Join(set.dir(), f.Path)
	}
	if err := settle(root, names); err != nil {
		return diskError(err)
	}
	if err := seal(root, set, m); err != nil || set != Inputs {
		return err
	}
	s.remember(job, Inputs, user, m)
	return nil
}

// arrange reports that the set is here already, and clears the way if another one is.
func arrange(root *os.Root, set Set, m grid.Manifest) (done bool, err error) {
	l, err := readLedger(root, set)
	if err != nil || len(l.files) == 0 && !l.whole {
		return false, err
	}
	if !l.is(m) {
		if err := errors.Join(root.Remove(set.ledger()), root.RemoveAll(set.dir()), root.Mkdir(set.dir(), 0o700)); err != nil {
			return false, diskError(fmt.Errorf("clear older %s: %w", set, err))
		}
		return false, nil
	}
	for _, f := range m {
		info, err := root.Lstat(path.Join(set.dir(), f.Path))
		if errors.Is(err, fs.ErrNotExist) && set == Inputs {
			info, err = root.Lstat(path.Join(workDir, f.Path)) // moved by Prepare
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
			return false, nil
		}
	}
	return true, nil
}

// Windows of one stream: what is asked for and not yet here.
const (
	windowBytes = 2 * grid.RangeSize // no less than one range, so that a stream with nothing under way can ask for any
	maxWrong    = 3                  // times a range may come with wrong bytes
)

// pull is one Fetch under way.
type pull struct {
	s       *Stager
	root    *os.Root
	from    grid.PeerID
	job     grid.JobID
	set     Set
	space   *claim
	missing int64        // bytes to come, as surveyed
	streams int          // of this round
	token   string       // asks another for what it lends, in place of from for a file of the set; "" does not
	good    atomic.Int64 // ranges that came

	mu    sync.Mutex
	todo  []*span
	open  map[*incoming]bool
	fatal error // why retrying is of no use
}

// span is one range to come.
type span struct {
	file  *incoming
	index int
	wrong int // times its bytes did not fit their hash
}

func (sp *span) offset() int64 { return int64(sp.index) * grid.RangeSize }
func (sp *span) length() int64 { return rangeLength(sp.file.Size, sp.index) }

// whole runs, and says meanwhile that files move.
func (p *pull) whole(ctx context.Context) error {
	count := func(n int) {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.pulls += n
	}
	count(1)
	defer count(-1)
	defer p.s.seats.join(p)()
	return p.run(ctx)
}

// run pulls in rounds: a round opens streams and ends when each has nothing more to
// do or is broken; what a broken one leaves the others take, and the next round.
func (p *pull) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := time.Now()
	for delay := p.s.backoff; len(p.todo) > 0; {
		before := p.good.Load()
		err := p.round(ctx, cancel)
		if p.fatal != nil {
			return p.fatal
		}
		if len(p.todo) == 0 {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w with %d ranges to come (%v)", context.Cause(ctx), len(p.todo), err)
		}
		if p.good.Load() > before {
			delay, moved = p.s.backoff, time.Now()
		}
		if p.token != "" && p.good.Load() == before {
			return fmt.Errorf("%w: %s does not give it (%w)", grid.ErrUnavailable, p.from, err)
		}
		if time.Since(moved) > p.s.cfg.Patience {
			return fmt.Errorf("%w: nothing came for %s with %d ranges to come; what came is kept (%w)", grid.ErrUnavailable, p.s.cfg.Patience, len(p.todo), err)
		}
		p.s.log.Debug("files will be asked for again", zap.String("job", string(p.job)), zap.String("peer", string(p.from)),
			zap.Int("ranges", len(p.todo)), zap.Duration("after", delay), zap.Error(err))
		select {
		case <-time.After(delay/2 + rand.N(delay/2+1)):
		case <-ctx.Done():
		}
		delay = min(2*delay, longestBackoff)
	}
	return nil
}

// Streams are how many a transfer of few files with so many bytes goes over.
func (s *Stager) Streams(bytes int64) int {
	return min(max(int(bytes/grid.RangeSize), 1), s.cfg.Streams)
}

// round works through the list on as many streams as it is worth.
func (p *pull) round(ctx context.Context, cancel context.CancelFunc) error {
	var bytes int64
	for _, sp := range p.todo {
		bytes += sp.length()
	}
	n := min(max(p.s.Streams(bytes), len(p.todo)/maxUnderWay), p.s.cfg.Streams)
	p.streams = n
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = p.seated(ctx, i > 0)
			var final finalError
			if errors.As(errs[i], &final) {
				p.mu.Lock()
				p.fatal = final.error
				p.mu.Unlock()
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// seated works through the list on a stream, whenever this fetch may have it.
func (p *pull) seated(ctx context.Context, apart bool) error {
	for {
		sits, err := p.s.seats.sit(ctx, p)
		if err != nil || !sits {
			return err
		}
		given := false // to others
		err = p.stream(ctx, apart, func() bool {
			given = given || p.s.seats.give(p)
			return given
		})
		if p.s.seats.rise(p, given); err != nil {
			return err
		}
	}
}

// wants tells that there are ranges that nobody has asked for.
func (p *pull) wants() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.todo) > 0
}

// finalError is one that retrying does not help.
type finalError struct{ error }

// take gives up to n ranges that fit into room bytes; but no more than a stream's part of
// what is left, so that those that open later have something to do, and all end at about the same time.
func (p *pull) take(n int, room int64) []*span {
	streams := min(p.streams, p.s.seats.most(p))
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, (len(p.todo)+streams-1)/streams)
	k := 0
	for k < len(p.todo) && k < n && p.todo[k].length() <= room {
		room -= p.todo[k].length()
		k++
	}
	taken := p.todo[:k:k]
	p.todo = p.todo[k:]
	return taken
}

func (p *pull) putBack(spans []*span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo = append(p.todo, spans...)
}

// stream pulls ranges over one stream until none is left, it breaks, or others are to have it; apart from others if it can.
func (p *pull) stream(ctx context.Context, apart bool, ends func() bool) error {
	open := p.s.dial
	if apart {
		open = p.s.dialApart
	}
	c, done, err := open(ctx, p.from)
	if err != nil {
		return err
	}
	defer done()
	var under []*span // asked for, in order
	defer func() { p.putBack(under) }()
	buf := p.s.buffers.Get().(*[bufferSize]byte)
	defer p.s.buffers.Put(buf)
	h := blake3.New(32, nil)
	var at shelf
	defer at.close()
	room := int64(windowBytes)
	var from io.Reader // as the other side answers; not known before its first word
	asks := request{kind: kindList, set: Inputs, job: p.job, path: blocksPath}.append(nil)
	for {
		var more []*span
		if !ends() {
			more = p.take(maxUnderWay-len(under), room)
		}
		under = append(under, more...)
		for _, sp := range more {
			room -= sp.length()
			asks = p.request(sp).append(asks)
		}
		if len(under) == 0 {
			return nil
		}
		if len(asks) > 0 {
			if err := c.send(asks); err != nil {
				return err
			}
			asks = nil
		}
		if from == nil {
			if from, err = agreed(c); err != nil {
				return err
			}
		}
		sp := under[0]
		ok, err := p.receive(c, from, sp, h, &at, buf[:])
		if err != nil {
			return err
		}
		under = under[1:]
		room += sp.length()
		if !ok {
			if sp.wrong++; sp.wrong >= maxWrong {
				return finalError{fmt.Errorf("%w: %q at %d came %d times with bytes that are not those of its hash: the copy at the other side is damaged", grid.ErrUnavailable, sp.file.Path, sp.offset(), sp.wrong)}
			}
			p.putBack([]*span{sp})
		}
	}
}

// request asks for one range.
func (p *pull) request(sp *span) request {
	q := request{kind: kindRead, set: p.set, job: p.job, path: sp.file.Path, offset: sp.offset(), length: sp.length()}
	if p.token != "" {
		q.set, q.path = lent, p.token
	}
	return q
}

// agreed is what answers are read from, as the first one says: an older peer knows no blocks.
func agreed(c *stream) (io.Reader, error) {
	_, err := readAnswer(c, 0)
	var no *refused
	if errors.As(err, &no) && no.final() {
		return c, nil
	}
	return &blocks{r: c}, err
}

// receive takes one answer into its place; false if its bytes are wrong.
func (p *pull) receive(c *stream, from io.Reader, sp *span, h *blake3.Hasher, at *shelf, buf []byte) (bool, error) {
	n, err := readAnswer(c, sp.length())
	var no *refused
	if errors.As(err, &no) && no.final() {
		return false, finalError{fmt.Errorf("%q: %w", sp.file.Path, err)}
	}
	if err == nil && n != sp.length() {
		err = fmt.Errorf("%w: %d bytes of %q where %d were asked", errProtocol, n, sp.file.Path, sp.length())
	}
	if err != nil {
		return false, err
	}
	take := p.takeRange
	if sp.file.small() {
		take = func(from io.Reader, sp *span, h *blake3.Hasher, buf []byte) (bool, error) {
			return p.takeSmall(from, sp, h, at, buf)
		}
	}
	if ok, err := take(from, sp, h, buf); err != nil || !ok {
		return ok, err
	}
	p.good.Add(1)
	p.space.use(sp.length())
	return true, nil
}

// close lets go of files that did not become whole; their parts stay for the next time.
func (p *pull) close() {
	for in := range p.open {
		in.f.Close()
	}
}
