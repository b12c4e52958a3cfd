package pool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// brought is what a job has brought back: each path counts with what lies there now, however often it was sent. What lay in a folder that
// has made way for a file counts on.
type brought struct {
	sizes  map[[16]byte]int64 // by the hash of the path
	bytes  int64
	coming map[[16]byte]bool // on their way: each path once, for each has room for one
}

// begin notes that a path is on its way, until end.
func (b *brought) begin(inside string) (end func(), err error) {
	key := keyOf(inside)
	if b.coming[key] {
		return nil, fmt.Errorf("%w: %.80q is on its way already", grid.ErrUnavailable, inside)
	}
	if b.coming == nil {
		b.coming = map[[16]byte]bool{}
	}
	coming := b.coming
	coming[key] = true
	return func() { delete(coming, key) }, nil
}

// drop forgets what was on its way from a computer that does not have the job any more: nobody waits for that.
func (b *brought) drop() { b.coming = nil }

func keyOf(inside string) (key [16]byte) {
	sum := sha256.Sum256([]byte(inside))
	copy(key[:], sum[:])
	return key
}

// charge makes room for a file, beside what lies in its place until it has come.
func (b *brought) charge(inside string, size int64) error {
	key := keyOf(inside)
	old, is := b.sizes[key]
	more := max(size-old, 0)
	if size < 0 || more > grid.MaxSandbox-b.bytes || !is && len(b.sizes) >= 8*grid.MaxFiles {
		return fmt.Errorf("%w: it leaves more than a sandbox holds", line.ErrLimit)
	}
	b.set(key, old+more)
	return nil
}

func (b *brought) set(key [16]byte, size int64) {
	if b.sizes == nil {
		b.sizes = map[[16]byte]int64{}
	}
	b.bytes += size - b.sizes[key]
	b.sizes[key] = size
}

// piece is a file, a folder or a link that a job has left.
type piece struct {
	path   string
	mode   fs.FileMode
	sum    string
	folder bool
	link   string
}

func pieceOf(r *http.Request) (p piece, err error) {
	if p.path, err = pathOf(r); err != nil {
		return p, err
	}
	q := r.URL.Query()
	mode, err := strconv.ParseUint(q.Get("mode"), 8, 32)
	if err != nil || mode > 0o777 {
		return p, fmt.Errorf("%w: the mode %.20q", line.ErrLimit, q.Get("mode"))
	}
	p.mode, p.sum, p.folder = fs.FileMode(mode), q.Get("sha256"), q.Has("folder")
	p.link, err = linkOf(q)
	return p, err
}

// linkOf is the text of a link, which may lead anywhere as yet.
func linkOf(q url.Values) (string, error) {
	if !q.Has("link") {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(q.Get("link"))
	if err != nil || len(raw) == 0 || len(raw) > grid.MaxPath || bytes.IndexByte(raw, 0) >= 0 {
		return "", fmt.Errorf("%w: %.80q is no symbolic link", line.ErrLimit, raw)
	}
	return string(raw), nil
}

// takeFile takes one file that a job has left.
func (s *System) takeFile(w http.ResponseWriter, r *http.Request) {
	if err := s.takeIt(w, r); err != nil {
		s.fail(w, r, err)
	}
}

func (s *System) takeIt(w http.ResponseWriter, r *http.Request) error {
	name := s.caller(r)
	if name == "" {
		return errStranger
	}
	p, err := pieceOf(r)
	if err != nil {
		return err
	}
	tag, stint := r.PathValue("tag"), r.URL.Query().Get("stint")
	s.mu.Lock()
	c := s.computers[name]
	if c == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: this computer is not registered", errUnknown)
	}
	e, err := s.holds(c, tag, stint)
	var end func()
	if err == nil {
		end, err = e.brought.begin(p.path)
	}
	if err == nil {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			end()
		}()
		err = e.brought.charge(p.path, r.ContentLength)
	}
	apart, saves := "", false
	if err == nil {
		apart, saves = e.apart(), e.saves(p.path)
		e.returning = e.returning || !saves
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(fileLimit))
	defer http.NewResponseController(w).SetReadDeadline(time.Time{})
	return s.write(e, apart, p, r, func(appear func() error) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, err := s.holds(c, tag, stint); err != nil { // it has ended, or was taken away, while this came
			return err
		}
		if err := appear(); err != nil {
			kind := grid.ErrInvalid // for good
			if line.Passes(err) {
				kind = grid.ErrUnavailable
			}
			return fmt.Errorf("%w: taking %q of %s: %w", kind, p.path, e.id, err)
		}
		e.brought.set(keyOf(p.path), r.ContentLength)
		if saves && apart == "" {
			return s.wrote(e, c)
		}
		return nil
	})
}

// write makes a piece appear whole in the sandbox, at the moment that may gives it.
func (s *System) write(e *entry, apart string, p piece, r *http.Request, may func(appear func() error) error) error {
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return fmt.Errorf("%w: the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	defer root.Close()
	if apart != "" {
		return writeApart(root, apart, p, r, may)
	}
	aside := incoming + e.tag + "." + line.Nonce()
	defer root.RemoveAll(aside) // that may take long, and nobody waits for it
	if p.folder {
		return may(func() error { return p.open(root, aside) })
	}
	tmp := incoming + e.tag + "." + line.Nonce()
	defer root.Remove(tmp)
	if p.link != "" {
		err = p.tie(root, tmp)
	} else {
		err = receive(root, tmp, p, r)
	}
	if err != nil {
		return fmt.Errorf("taking %q of %s: %w", p.path, e.id, err)
	}
	return may(func() error { return p.place(root, tmp, aside) })
}

// open makes the folder that a piece is; a step that fails is the last.
func (p *piece) open(root *os.Root, aside string) error {
	if err := p.makeWay(root, aside); err != nil {
		return err
	}
	if err := root.MkdirAll(p.path, 0o755); err != nil {
		return err
	}
	return root.Chmod(p.path, p.mode|0o700)
}

// place puts what has come where it belongs; a step that fails is the last.
func (p *piece) place(root *os.Root, tmp, aside string) error {
	if dir := path.Dir(p.path); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.straight(root); err != nil {
		return err
	}
	if err := p.makeWay(root, aside); err != nil {
		return err
	}
	return root.Rename(tmp, p.path)
}

// tie makes a link beside its place. Whatever comes to lie in the sandbox, it never leads out of it.
func (p *piece) tie(root *os.Root, tmp string) error {
	to, err := line.Link(root, p.path, p.link)
	if err != nil {
		return err
	}
	if err := root.Symlink(to, tmp); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	return nil
}

// straight refuses a link whose own folder lies behind a link: where it leads is known only from where it lies.
func (p *piece) straight(root *os.Root) error {
	for dir := path.Dir(p.path); p.link != "" && dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Join(err, fmt.Errorf("%w: %q lies behind a link", line.ErrLimit, p.path))
		}
	}
	return nil
}

// makeWay puts aside what lies in the place of a piece and is of another kind: the job has put a file where a folder was, or the other
// way round.
func (p *piece) makeWay(root *os.Root, aside string) error {
	info, err := root.Lstat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.IsDir() == p.folder {
		return err
	}
	return root.Rename(p.path, aside)
}

// receive writes what comes to a file beside its place.
func receive(root *os.Root, tmp string, p piece, r *http.Request) error {
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), io.LimitReader(r.Body, r.ContentLength))
	if err == nil {
		err = f.Chmod(p.mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != p.sum {
		return fmt.Errorf("%w: it came otherwise than it was sent", line.ErrLimit)
	}
	return nil
}
