package stage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sort"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// Open opens one file of a set. size is its length now; reading a file of Work may
// give more or less, because it is being written.
func (s *Stager) Open(job grid.JobID, set Set, name string) (r io.ReadCloser, size int64, mode uint32, err error) {
	f, info, err := s.openStored(job, set, name)
	if err != nil {
		return nil, 0, 0, err
	}
	return f, info.Size(), uint32(info.Mode().Perm()), nil
}

// Live lists what a job that runs here has written of its outputs so far, by the
// names the user gets, with sizes and modes and without hashes, in order.
func (s *Stager) Live(job grid.Job) (grid.Manifest, error) { return s.live(job.ID, job.Outputs) }

// OpenLive opens one file that Live listed; it ends where the file ended at opening.
func (s *Stager) OpenLive(job grid.Job, target string) (r io.ReadCloser, size int64, mode uint32, err error) {
	f, err := s.openLive(job.ID, job.Outputs, target, 0, handover.MaxPart)
	if err != nil {
		return nil, 0, 0, err
	}
	if _, part := f.ReaderAt.(heldPart); !part {
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, f.size), f}, f.size, f.mode, nil
	}
	next := func(offset int64) (liveFile, error) {
		return s.openLive(job.ID, job.Outputs, target, offset, handover.MaxPart)
	}
	return &parts{at: f, next: next, size: f.size}, f.size, f.mode, nil
}

// ReadLive reads up to length bytes at offset of a file that a job which runs here writes; fewer,
// or none, where the file is shorter.
func (s *Stager) ReadLive(job grid.Job, target string, offset, length int64) ([]byte, error) {
	f, err := s.openLive(job.ID, job.Outputs, target, offset, length)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readPart(f, f.available(offset, length), offset)
}

// ReadOutput is ReadLive of a file that was collected.
func (s *Stager) ReadOutput(job grid.JobID, target string, offset, length int64) ([]byte, error) {
	f, info, err := s.openStored(job, Outputs, target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readPart(f, max(0, min(length, info.Size()-offset)), offset)
}

func readPart(f io.ReaderAt, length, offset int64) ([]byte, error) {
	b := make([]byte, length)
	n, err := f.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, diskError(err)
	}
	return b[:n], nil
}

func (s *Stager) live(job grid.JobID, outputs []grid.Output) (grid.Manifest, error) {
	if root, err := s.folder(job); err != nil {
		return nil, err
	} else if err := root.Close(); err != nil {
		return nil, diskError(err)
	}
	var m grid.Manifest
	for _, o := range outputs {
		f, err := s.openLive(job, outputs, o.Stored(), 0, 0)
		if err != nil {
			continue // not there yet, or nothing we can read
		}
		f.Close()
		m = append(m, grid.File{Path: o.Stored(), Size: f.size, Mode: f.mode})
	}
	sort.Slice(m, func(i, k int) bool { return m[i].Path < m[k].Path })
	return m, nil
}

// liveFile is an open output of a running job, or a part of one.
type liveFile struct {
	io.ReaderAt
	io.Closer
	size int64
	mode uint32
}

// openLive opens the output with a target: where the program writes it, or in out/ once it was
// collected. Of one that only the program's account can read it has no more than the part asked for.
func (s *Stager) openLive(job grid.JobID, outputs []grid.Output, target string, offset, length int64) (liveFile, error) {
	root, err := s.folder(job)
	if err != nil {
		return liveFile{}, err
	}
	defer root.Close()
	for _, o := range outputs {
		if o.Stored() != target || CheckPath(o.Path) != nil || CheckPath(target) != nil {
			continue
		}
		f, info, err := s.openIn(root, Work, o.Path)
		if errors.Is(err, fs.ErrNotExist) {
			f, info, err = s.openIn(root, Outputs, target)
		}
		if errors.Is(err, fs.ErrPermission) {
			if t, bad := s.tenant(root); bad == nil && t.apart {
				return s.partAs(t, job, o.Path, offset, min(length, handover.MaxPart))
			}
		}
		if err != nil {
			return liveFile{}, kindOf(fmt.Errorf("open the output %q of %s: %w", target, job, err))
		}
		return liveFile{f, f, info.Size(), uint32(info.Mode().Perm())}, nil
	}
	return liveFile{}, fmt.Errorf("%w: %s has no output %q", grid.ErrNotFound, job, target)
}

// LiveAt is Live at the site that runs the job.
func (s *Stager) LiveAt(ctx context.Context, owner grid.PeerID, job grid.JobID) (grid.Manifest, error) {
	m, err := s.liveAt(ctx, owner, job)
	if err != nil {
		return nil, fmt.Errorf("list what %s writes at %s: %w", job, owner, err)
	}
	return m, nil
}

func (s *Stager) liveAt(ctx context.Context, owner grid.PeerID, job grid.JobID) (grid.Manifest, error) {
	c, done, err := s.dial(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := c.ask(request{kind: kindList, set: Work, job: job}); err != nil {
		return nil, err
	}
	body, err := c.whole(maxListing)
	if err != nil {
		return nil, err
	}
	var lines []entry
	if err := json.Unmarshal(body, &lines); err != nil || len(lines) > grid.MaxFiles {
		return nil, fmt.Errorf("%w: a list of %d files: %w", errProtocol, len(lines), errors.Join(err))
	}
	m := make(grid.Manifest, 0, len(lines))
	for _, e := range lines {
		if CheckPath(e.Path) != nil || e.Size < 0 || e.Mode > 0o777 {
			return nil, fmt.Errorf("%w: it lists the file %.40q", errProtocol, e.Path)
		}
		m = append(m, grid.File{Path: e.Path, Size: e.Size, Mode: e.Mode})
	}
	return m, nil
}

// OpenLiveAt reads the first size bytes of a file that LiveAt listed, or fewer if it
// has become shorter. The stream is closed with the reader or at the end of ctx.
func (s *Stager) OpenLiveAt(ctx context.Context, owner grid.PeerID, job grid.JobID, target string, size int64) (io.ReadCloser, error) {
	if err := CheckPath(target); err != nil {
		return nil, err
	}
	c, done, err := s.dial(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("open %q of %s at %s: %w", target, job, owner, err)
	}
	return &tail{c: c, done: done, q: request{kind: kindRead, set: Work, job: job, path: target}, size: size}, nil
}

// ReadLiveAt is ReadLive at the site that runs the job, or at its home, which asks that site.
func (s *Stager) ReadLiveAt(ctx context.Context, at grid.PeerID, job grid.JobID, target string, offset, length int64) ([]byte, error) {
	if err := CheckPath(target); err != nil {
		return nil, err
	}
	length = min(length, grid.RangeSize)
	c, done, err := s.dial(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read %q of %s at %s: %w", target, job, at, err)
	}
	defer done()
	var b []byte
	if err = c.ask(request{kind: kindRead, set: Work, job: job, path: target, offset: offset, length: length}); err == nil {
		b, err = c.whole(length)
	}
	if err != nil {
		return nil, fmt.Errorf("read %q of %s at %s: %w", target, job, at, err)
	}
	return b, nil
}

// whole reads an answer of up to limit bytes.
func (c *stream) whole(limit int64) ([]byte, error) {
	n, err := readAnswer(c, limit)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, noEOF(err)
	}
	return b, nil
}

// tail reads a growing file over the wire, a range at a time.
type tail struct {
	c    *stream
	done func()
	q    request
	size int64 // bytes to give in all
	left int64 // bytes of the open answer
	err  error
}

func (t *tail) Read(p []byte) (int, error) {
	if t.err == nil && t.left == 0 {
		t.err = t.next()
	}
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.c.Read(p[:min(int64(len(p)), t.left)])
	t.left -= int64(n)
	t.q.offset += int64(n)
	if err != nil {
		t.err = fmt.Errorf("read %q of %s: %w", t.q.path, t.q.job, noEOF(err))
	}
	return n, t.err
}

// next asks for the next range.
func (t *tail) next() error {
	t.q.length = min(t.size-t.q.offset, grid.RangeSize)
	if t.q.length <= 0 {
		return io.EOF
	}
	err := t.c.ask(t.q)
	if err == nil {
		t.left, err = readAnswer(t.c, t.q.length)
	}
	if err != nil {
		return fmt.Errorf("read %q of %s: %w", t.q.path, t.q.job, err)
	}
	if t.left == 0 {
		return io.EOF
	}
	return nil
}

func (t *tail) Close() error {
	t.done()
	return nil
}

// stream is the client's end of a bulk stream; every read must move within the idle time.
type stream struct {
	net.Conn
	idle time.Duration
	in   *bufio.Reader // what one who reads a head after the other would ask the connection for one by one

	mu      sync.Mutex
	ended   bool // the context is done: no deadline is renewed any more
	renewed time.Time
}

// dial opens a stream that ends with ctx; done closes it.
func (s *Stager) dial(ctx context.Context, to grid.PeerID) (c *stream, done func(), err error) {
	if s.cfg.Dialer == nil {
		return nil, nil, fmt.Errorf("%w: this broker has no way to its peers", grid.ErrUnavailable)
	}
	return s.dialBy(ctx, s.cfg.Dialer.Open, to)
}

// dialApart does so over a connection of the stream's own, where the dialer has such.
func (s *Stager) dialApart(ctx context.Context, to grid.PeerID) (c *stream, done func(), err error) {
	if a, ok := s.cfg.Dialer.(Apart); ok {
		return s.dialBy(ctx, a.OpenApart, to)
	}
	return s.dial(ctx, to)
}

func (s *Stager) dialBy(ctx context.Context, open func(context.Context, grid.PeerID, string) (net.Conn, error), to grid.PeerID) (c *stream, done func(), err error) {
	dctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := open(dctx, to, Protocol)
	if err != nil {
		return nil, nil, fmt.Errorf("open a stream: %w", err)
	}
	c = &stream{Conn: conn, idle: s.cfg.IdleTimeout, in: bufio.NewReaderSize(conn, readAhead)}
	stop := context.AfterFunc(ctx, c.end)
	return c, func() {
		stop()
		conn.Close()
	}, nil
}

// end frees whoever reads or writes. It resets, where the connection can: to close
// one in good order may mean to wait for a peer that is slow or stopped.
func (c *stream) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.SetDeadline(time.Unix(1, 0))
	if r, ok := c.Conn.(interface{ Reset() error }); ok {
		r.Reset()
		return
	}
	c.Close()
}

func (c *stream) ask(q request) error { return c.send(q.append(nil)) }

func (c *stream) send(b []byte) error {
	c.mu.Lock()
	if !c.ended {
		c.SetWriteDeadline(time.Now().Add(c.idle))
	}
	c.mu.Unlock()
	_, err := c.Write(b)
	return err
}

// Read renews the deadline, though not more often than helps.
func (c *stream) Read(p []byte) (int, error) {
	c.mu.Lock()
	if now := time.Now(); !c.ended && now.Sub(c.renewed) > c.idle/8 {
		c.SetReadDeadline(now.Add(c.idle))
		c.renewed = now
	}
	c.mu.Unlock()
	return c.in.Read(p)
}

// readAhead is how many bytes are read at once where heads and small files follow each other.
const readAhead = 16 << 10
