package stage

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// uploads is the state of a job's inputs while a user sends them.
type uploads struct {
	ledger *ledger
	fresh  map[string]bool // received by this process: their bytes need no second look
	bytes  int64
}

const uploadPrefix = "up-"

// Receive takes one input of size bytes into in/, of which r has those from an offset on: 0, or one up to
// which an earlier call that broke got (see Begun). The file appears there whole or not at all; sent
// again, it is replaced. It is durable once Received has listed it. Errors wrap ErrInvalid (path, size, more or fewer bytes than size) or
// ErrUnavailable (space, disk); an error of r comes back wrapped.
func (s *Stager) Receive(ctx context.Context, job grid.JobID, name string, size int64, mode uint32, offset int64, r io.Reader) (grid.File, error) {
	if err := CheckPath(name); err != nil {
		return grid.File{}, err
	}
	if size < 0 || size > s.cfg.MaxBytes || mode > 0o777 {
		return grid.File{}, fmt.Errorf("%w: the file %q with size %d and mode %#o: at most %d bytes and 0777", grid.ErrInvalid, name, size, mode, s.cfg.MaxBytes)
	}
	root, err := s.makeFolder(job)
	if err != nil {
		return grid.File{}, err
	}
	defer root.Close()
	d, leave := s.hold(job)
	defer leave()
	if err := s.admit(d, root, name, size, s.cfg.MaxBytes); err != nil {
		return grid.File{}, err
	}
	space, err := s.claim(size)
	if err != nil {
		return grid.File{}, fmt.Errorf("receive %q of %s: %w", name, job, err)
	}
	defer space.release()
	done, err := d.take(name)
	if err != nil {
		return grid.File{}, err
	}
	defer done()
	part := s.uploadPart(name)
	f := grid.File{Path: name, Size: size, Mode: mode}
	if f.Ranges, err = s.spool(ctx, root, part, f, offset, r, space); err != nil {
		return grid.File{}, fmt.Errorf("receive %q of %s: %w", name, job, err)
	}
	if err := d.accept(root, part, f); err != nil {
		root.Remove(path.Join(partDir, part))
		return grid.File{}, fmt.Errorf("receive %q of %s: %w", name, job, err)
	}
	return f, nil
}

// take lets one at a time receive a file.
func (d *desk) take(name string) (done func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.coming[name] {
		return nil, fmt.Errorf("%w: the file %q is being received already, try again", grid.ErrUnavailable, name)
	}
	if d.coming == nil {
		d.coming = map[string]bool{}
	}
	d.coming[name] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.coming, name)
	}, nil
}

// Begun is how far an upload has come that broke in this life of the process.
func (s *Stager) Begun(job grid.JobID, name string) (int64, error) {
	if err := CheckPath(name); err != nil {
		return 0, err
	}
	root, err := s.folder(job)
	if errors.Is(err, grid.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	info, err := root.Lstat(path.Join(partDir, s.uploadPart(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, diskError(err)
	}
	return info.Size(), nil
}

// spool writes what r has of exactly size bytes into a part file and hashes all on the way.
func (s *Stager) spool(ctx context.Context, root *os.Root, part string, want grid.File, offset int64, r io.Reader, space *claim) ([]grid.Hash, error) {
	f, err := root.OpenFile(path.Join(partDir, part), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < offset || offset < 0 || offset > want.Size {
		return nil, errors.Join(err, fmt.Errorf("%w: it is to go on at %d, and has not come so far: send it from its start", grid.ErrInvalid, offset))
	}
	if err := f.Truncate(offset); err != nil {
		return nil, diskError(err)
	}
	h := newRangeHasher()
	if _, err := io.Copy(h, f); err != nil { // which leaves it at the offset
		return nil, diskError(err)
	}
	space.use(offset)
	buf := s.buffers.Get().(*[bufferSize]byte)
	defer s.buffers.Put(buf)
	n := offset
	for n < want.Size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k, err := io.ReadFull(r, buf[:min(want.Size-n, bufferSize)])
		h.Write(buf[:k])
		if _, err := f.Write(buf[:k]); err != nil {
			return nil, diskError(err)
		}
		space.use(int64(k))
		startWriteback(f, n, int64(k))
		n += int64(k)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: it ended after %d of %d bytes", grid.ErrInvalid, n, want.Size)
		}
		if err != nil {
			return nil, fmt.Errorf("after %d of %d bytes: %w", n, want.Size, err)
		}
	}
	if k, err := io.ReadFull(r, buf[:1]); k > 0 {
		root.Remove(path.Join(partDir, part)) // nothing goes on from here
		return nil, fmt.Errorf("%w: it goes on after the %d bytes announced", grid.ErrInvalid, want.Size)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("at its end: %w", err)
	}
	if err := f.Chmod(readable(want.Mode)); err != nil {
		return nil, diskError(err)
	}
	return h.finish(), nil
}

// admit checks a file against what the job has already.
func (s *Stager) admit(d *desk, root *os.Root, name string, size, maxBytes int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.uploads == nil
	if err := d.load(root); err != nil {
		return err
	}
	if first {
		if err := s.clearUploads(root); err != nil {
			return err
		}
	}
	old, again := d.uploads.ledger.files[name]
	if !again && len(d.uploads.ledger.files) >= grid.MaxFiles {
		return fmt.Errorf("%w: the job has %d files already, which is the limit", grid.ErrInvalid, grid.MaxFiles)
	}
	if total := d.uploads.bytes - old.Size; size > maxBytes-total {
		return fmt.Errorf("%w: with %q the job's files have more than %d bytes, which is the limit here", grid.ErrInvalid, name, maxBytes)
	}
	return nil
}

// load reads the ledger, unless it is at hand.
func (d *desk) load(root *os.Root) error {
	if d.uploads != nil {
		return nil
	}
	l, err := readLedger(root, Inputs)
	if err != nil {
		return err
	}
	u := &uploads{ledger: l, fresh: map[string]bool{}}
	for _, f := range l.files {
		u.bytes += f.Size
	}
	d.uploads = u
	return nil
}

// accept gives a received file its name and its line in the ledger.
func (d *desk) accept(root *os.Root, part string, f grid.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.load(root); err != nil {
		return err
	}
	if err := place(root, part, path.Join(inDir, f.Path)); err != nil {
		if isTangle(err) {
			return fmt.Errorf("%w: it is a file and a folder of the same job: %w", grid.ErrInvalid, err)
		}
		return diskError(err)
	}
	l := d.uploads.ledger
	line := appendEntry(nil, f)
	log, err := root.OpenFile(Inputs.ledger(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return diskError(err)
	}
	err = log.Truncate(l.end) // what a crash tore
	if err == nil {
		_, err = log.WriteAt(line, l.end)
	}
	if err = errors.Join(err, log.Close()); err != nil {
		return diskError(err)
	}
	d.uploads.bytes += f.Size - l.files[f.Path].Size
	l.end += int64(len(line))
	l.files[f.Path] = f
	l.whole = false
	delete(l.sealed, f.Path)
	d.uploads.fresh[f.Path] = true
	return nil
}

// Received lists the inputs of a job that are here, in order, and makes them
// durable. Files that came before a crash and are not what they were are left out.
func (s *Stager) Received(job grid.JobID) (grid.Manifest, error) {
	root, err := s.makeFolder(job)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d, leave := s.hold(job)
	defer leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.load(root); err != nil {
		return nil, fmt.Errorf("inputs of %s: %w", job, err)
	}
	m, err := s.conclude(root, d.uploads)
	if err != nil {
		return nil, fmt.Errorf("inputs of %s: %w", job, err)
	}
	d.uploads = nil
	return m, nil
}

// conclude verifies what another process received, syncs and seals.
func (s *Stager) conclude(root *os.Root, u *uploads) (grid.Manifest, error) {
	if u.ledger.whole || len(u.ledger.files) == 0 {
		return u.ledger.manifest(), nil
	}
	var loose []string
	for p, f := range u.ledger.files {
		if u.ledger.sealed[p] {
			continue
		}
		if !u.fresh[p] {
			//house:allow context: what was received is read once, after a restart, for whoever asks first
			ok, err := s.intact(context.Background(), root, path.Join(inDir, p), f)
			if err != nil {
				return nil, err
			}
			if !ok {
				delete(u.ledger.files, p)
				continue
			}
		}
		loose = append(loose, path.Join(inDir, p))
	}
	m := u.ledger.manifest()
	if err := checkManifest(m, s.cfg.MaxBytes); err != nil {
		return nil, err
	}
	if err := settle(root, loose); err != nil {
		return nil, diskError(err)
	}
	return m, seal(root, Inputs, m)
}

// clearUploads removes what an earlier process left half received.
func (s *Stager) clearUploads(root *os.Root) error {
	d, err := root.Open(partDir)
	if err != nil {
		return diskError(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return diskError(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, uploadPrefix) && !strings.HasPrefix(n, s.uploadName()) {
			err = errors.Join(err, root.Remove(path.Join(partDir, n)))
		}
	}
	return err
}

// uploadPart is where a file is while it is received.
func (s *Stager) uploadPart(name string) string {
	h := blake3.Sum256([]byte(name))
	return s.uploadName() + hex.EncodeToString(h[:16])
}

// uploadName begins the names of this process' uploads in part/.
func (s *Stager) uploadName() string { return uploadPrefix + s.stamp + "-" }

// intact reports that a stored file is, byte for byte, what want says.
func (s *Stager) intact(ctx context.Context, root *os.Root, name string, want grid.File) (bool, error) {
	f, info, err := openRegular(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errIrregular), isTangle(err):
		return false, nil
	case err != nil:
		return false, diskError(err)
	}
	defer f.Close()
	if info.Size() != want.Size {
		return false, nil
	}
	good, err := s.goodRanges(ctx, f, want)
	if err != nil {
		return false, diskError(err)
	}
	for _, ok := range good {
		if !ok {
			return false, nil
		}
	}
	return true, nil
}
