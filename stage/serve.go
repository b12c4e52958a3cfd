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
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// Streams served at once, each with a buffer of 256 KiB.
const (
	maxServed     = 64
	maxServedPeer = 24
)

// Serve answers the requests of one stream until it ends; it closes c.
func (s *Stager) Serve(from grid.PeerID, c net.Conn) {
	defer c.Close()
	if !s.enter(from) {
		c.SetWriteDeadline(time.Now().Add(s.cfg.IdleTimeout))
		c.Write(refusal(fmt.Errorf("%w: too many streams are open; try again", grid.ErrUnavailable)))
		return
	}
	defer s.leave(from)
	v := &server{s: s, from: from, c: c, asked: make(chan request, maxUnderWay), stop: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(v.listen)
	err := v.answer()
	close(v.stop)
	c.Close()
	c.SetReadDeadline(time.Unix(1, 0)) // frees listen where closing alone does not
	wg.Wait()
	err = errors.Join(err, v.heard)
	v.delivered(err != nil)
	if err != nil {
		s.log.Debug("a file stream broke", zap.String("peer", string(from)), zap.Error(err))
	}
}

func (s *Stager) enter(from grid.PeerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams >= maxServed || s.serving[from] >= maxServedPeer {
		return false
	}
	s.streams++
	s.serving[from]++
	return true
}

func (s *Stager) leave(from grid.PeerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
	if s.serving[from]--; s.serving[from] == 0 {
		delete(s.serving, from)
	}
}

// server is one stream being served: listen reads requests ahead while answer
// works through them, so that the way is never empty.
type server struct {
	s       *Stager
	from    grid.PeerID
	c       net.Conn
	asked   chan request
	pending atomic.Int64 // requests read and not yet answered
	stop    chan struct{}
	heard   error // why listen ended; read after it has
	of      map[fetched]bool
	coder   *coder // of a stream that has asked for blocks
}

func (v *server) listen() {
	defer close(v.asked)
	r := bufio.NewReader(v.c)
	for {
		v.c.SetReadDeadline(time.Now().Add(v.s.cfg.IdleTimeout))
		if v.stopped() { // else Serve sets a deadline after this one
			return
		}
		if _, err := r.Peek(1); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && v.pending.Load() > 0 {
				continue // the client waits for us
			}
			return // the usual end of a stream
		}
		q, err := readRequest(r)
		if err != nil {
			v.heard = err
			return
		}
		v.pending.Add(1)
		select {
		case v.asked <- q:
		case <-v.stop:
			return
		}
	}
}

func (v *server) stopped() bool {
	select {
	case <-v.stop:
		return true
	default:
		return false
	}
}

// answer answers all requests; an error means that the stream is of no more use.
func (v *server) answer() error {
	buf := v.s.buffers.Get().(*[bufferSize]byte)
	defer v.s.buffers.Put(buf)
	pace := pacer{c: v.c, idle: v.s.cfg.IdleTimeout, size: bufferSize / 4}
	for q := range v.asked {
		if err := v.one(q, buf[:], &pace); err != nil {
			return fmt.Errorf("answer a request for %s of %s: %w", q.set, q.job, err)
		}
		v.pending.Add(-1)
	}
	return nil
}

func (v *server) one(q request, buf []byte, pace *pacer) error {
	if q.kind == kindList && q.set == Inputs && q.path == blocksPath {
		v.coder = &coder{}
		return pace.write([]byte{statusDone, 0, 0, 0, 0})
	}
	if q.set == lent {
		return v.lend(q, buf, pace)
	}
	of := q.set
	if of == credentials {
		of = Inputs // who may have these needs those
	}
	grant, err := v.s.cfg.Authorize(v.from, q.job, of)
	if err != nil {
		return pace.write(refusal(err))
	}
	if q.set == credentials {
		return v.answerSecrets(q, pace)
	}
	if q.set == Work && grant.At != "" {
		return v.relay(q, grant.At, buf, pace)
	}
	if q.kind == kindList {
		return v.list(q, grant, pace)
	}
	var f file
	var length int64
	if q.set == Work {
		var live liveFile
		if live, err = v.s.openLive(q.job, grant.Outputs, q.path, q.offset, q.length); err == nil {
			f, length = live, live.available(q.offset, q.length)
		}
	} else {
		f, length, err = v.s.openGranted(q, grant)
	}
	if err != nil {
		return pace.write(refusal(err))
	}
	defer f.Close()
	if q.set != Work {
		v.deliver(q, length)
	}
	return v.send(f, q, length, buf, pace)
}

// send answers a read with length bytes of f: in blocks, if the stream has asked for that.
func (v *server) send(f io.ReaderAt, q request, length int64, buf []byte, pace *pacer) error {
	if v.coder == nil || q.set == Work {
		return send(f, q.offset, length, buf, pace)
	}
	saved, err := v.coder.send(f, q.offset, length, buf, pace)
	if q.set != lent {
		v.deliver(q, -saved) // the time is that of what went over the way
	}
	return err
}

// file is what a read is answered from.
type file interface {
	io.ReaderAt
	io.Closer
}

// send writes the answer head and length bytes of f.
func send(f io.ReaderAt, offset, length int64, buf []byte, pace *pacer) error {
	putAnswer(buf, statusDone, int(length))
	for have := answerHead; length > 0 || have > 0; have = 0 {
		n := min(int64(pace.size-have), length)
		if _, err := f.ReadAt(buf[have:have+int(n)], offset); err != nil && n > 0 {
			return fmt.Errorf("read at %d: %w", offset, noEOF(err)) // the length is out already
		}
		if err := pace.write(buf[:have+int(n)]); err != nil {
			return err
		}
		offset += n
		length -= n
	}
	return nil
}

// relay answers with what another site says, which has the job.
func (v *server) relay(q request, at grid.PeerID, buf []byte, pace *pacer) error {
	ctx := context.Background() //house:allow context: dialling has a limit, and what is read afterwards ends with the idle time
	c, done, err := v.s.dial(ctx, at)
	if err != nil {
		return pace.write(refusal(fmt.Errorf("%w: %w", grid.ErrUnavailable, err)))
	}
	defer done()
	limit := q.length
	if q.kind == kindList {
		limit = maxListing
	}
	if err := c.ask(q); err != nil {
		return pace.write(refusal(fmt.Errorf("%w: %w", grid.ErrUnavailable, err)))
	}
	length, err := readAnswer(c, limit)
	if err != nil {
		return pace.write(refusal(err))
	}
	putAnswer(buf, statusDone, int(length))
	if err := pace.write(buf[:answerHead]); err != nil {
		return err
	}
	for length > 0 {
		n, err := c.Read(buf[:min(int64(len(buf)), length)])
		if err != nil {
			return fmt.Errorf("relaying: %w", noEOF(err)) // the length is out already
		}
		if err := pace.write(buf[:n]); err != nil {
			return err
		}
		length -= int64(n)
	}
	return nil
}

// list answers with what a running job has written.
func (v *server) list(q request, grant Grant, pace *pacer) error {
	if q.set != Work {
		return pace.write(refusal(fmt.Errorf("%w: only the outputs of a running job can be listed", grid.ErrInvalid)))
	}
	m, err := v.s.live(q.job, grant.Outputs)
	if err != nil {
		return pace.write(refusal(err))
	}
	lines := make([]entry, len(m))
	for i, f := range m {
		lines[i] = entry{Path: f.Path, Size: f.Size, Mode: f.Mode}
	}
	body, err := json.Marshal(lines)
	if err != nil || len(body) > maxListing {
		return pace.write(refusal(fmt.Errorf("%w: the list of files is too long", grid.ErrUnavailable)))
	}
	head := make([]byte, answerHead)
	putAnswer(head, statusDone, len(body))
	return pace.write(append(head, body...))
}

// openGranted opens what a read asks for and says how many bytes it will give.
func (s *Stager) openGranted(q request, grant Grant) (f *os.File, length int64, err error) {
	want, ok := lookup(grant.Files, q.path)
	if !ok {
		return nil, 0, fmt.Errorf("%w: %q is none of the %s of %s", grid.ErrNotFound, q.path, q.set, q.job)
	}
	if q.offset+q.length > want.Size {
		return nil, 0, fmt.Errorf("%w: %q has %d bytes", grid.ErrInvalid, q.path, want.Size)
	}
	f, info, err := s.openStored(q.job, q.set, q.path)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() != want.Size {
		f.Close()
		return nil, 0, fmt.Errorf("%w: %q of %s has %d bytes here instead of %d", grid.ErrNotFound, q.path, q.job, info.Size(), want.Size)
	}
	return f, q.length, nil
}

// HasInputs tells whether the inputs of a job are here, where they are served from. An error wraps
// ErrNotFound if one is not, or has another size.
func (s *Stager) HasInputs(job grid.JobID, m grid.Manifest) error {
	for _, want := range m {
		f, info, err := s.openStored(job, Inputs, want.Path)
		if err != nil {
			return err
		}
		f.Close()
		if info.Size() != want.Size {
			return fmt.Errorf("%w: %q of %s has %d bytes here instead of %d", grid.ErrNotFound, want.Path, job, info.Size(), want.Size)
		}
	}
	return nil
}

// openStored opens a file of in/, work/ or out/. An input that Prepare moved is
// found in work/: until the job starts it is unchanged, and the receiver checks it.
func (s *Stager) openStored(job grid.JobID, set Set, name string) (*os.File, fs.FileInfo, error) {
	if err := CheckPath(name); err != nil {
		return nil, nil, err
	}
	if set < Inputs || set > Work {
		return nil, nil, fmt.Errorf("%w: no such set of files: %d", grid.ErrInvalid, set)
	}
	root, err := s.folder(job)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	f, info, err := s.openIn(root, set, name)
	if set == Inputs && errors.Is(err, fs.ErrNotExist) {
		f, info, err = s.openIn(root, Work, name)
	}
	if err != nil {
		return nil, nil, kindOf(fmt.Errorf("open %q of the %s of %s: %w", name, set, job, err))
	}
	return f, info, nil
}

// openIn opens a file of one set, whose folder no link leaves.
func (s *Stager) openIn(root *os.Root, set Set, name string) (*os.File, fs.FileInfo, error) {
	if set != Work {
		return openRegular(root, path.Join(set.dir(), name))
	}
	return s.inWork(root, name)
}

// pacer writes to a stream in pieces that a slow way takes within the idle time:
// the size that send fills follows how long the last piece took.
type pacer struct {
	c    net.Conn
	idle time.Duration
	size int
}

const smallestPiece = 16 << 10

func (p *pacer) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), p.size)]
		start := time.Now()
		p.c.SetWriteDeadline(start.Add(p.idle))
		if _, err := p.c.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
		switch took := time.Since(start); {
		case took > time.Second:
			p.size = max(p.size/2, smallestPiece)
		case took < 100*time.Millisecond:
			p.size = min(p.size*2, bufferSize)
		}
	}
	return nil
}
