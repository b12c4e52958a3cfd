package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// ErrSource is wrapped by the errors of inputs by URI that cannot be had from here now. The place was
// tried again as long as that was of use.
var ErrSource = errors.New("an input cannot be fetched from here")

// atOnce bounds the places that one job's files come from, or go to, at the same time.
const atOnce = 4

// Bring fetches what a job takes by URI into src/, where Prepare takes it from. from is a peer that
// may have the credentials of the job's user; "" is none. What is here already is not fetched
// again; of a working tree that was prepared nothing is. Errors wrap ErrSource, or ErrUnavailable
// (space, disk, the way to the peer).
func (s *Stager) Bring(ctx context.Context, from grid.PeerID, job grid.Job) error {
	if len(job.Sources) == 0 {
		return nil
	}
	if err := s.bringAll(ctx, from, job); err != nil {
		return fmt.Errorf("bring the inputs of %s: %w", job.ID, err)
	}
	return nil
}

func (s *Stager) bringAll(ctx context.Context, from grid.PeerID, job grid.Job) error {
	ctx, root, end, err := s.beginIn(ctx, job.ID)
	if err != nil {
		return err
	}
	defer end()
	if mark, err := root.ReadFile(marker); err == nil && string(mark) == bootID() {
		return nil
	}
	if err := s.pullSecrets(ctx, root, from, job.ID); err != nil {
		return err
	}
	place, err := s.placeOf(job)
	if err != nil {
		return err
	}
	if err := root.Mkdir(srcDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return diskError(err)
	}
	b := &bringing{s: s, root: root, job: job, place: place}
	return eachOf(ctx, len(job.Sources), b.one)
}

// bringing is one Bring under way.
type bringing struct {
	s     *Stager
	root  *os.Root
	job   grid.Job
	place func(uri string) transfer.Place
	mu    sync.Mutex
	bytes int64 // of all that came
}

// one brings a source to src/INDEX.
func (b *bringing) one(ctx context.Context, i int) error {
	src := b.job.Sources[i]
	name := path.Join(srcDir, strconv.Itoa(i))
	if info, err := b.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	space, err := b.s.claim(0)
	if err != nil {
		return err
	}
	defer space.release()
	place := b.place(src.URI)
	kept, done, err := b.s.recallSource(ctx, place, b.job, name)
	if kept || err != nil {
		return err
	}
	defer done()
	came, began := int64(0), time.Now()
	var facts transfer.Facts
	err = b.s.appear(b.root, name, 0o600, func(to *os.File) error {
		facts, err = b.s.cfg.Places.Get(ctx, place, to, func(n int64) error {
			came += n
			b.mu.Lock()
			b.bytes += n
			all := b.bytes
			b.mu.Unlock()
			if all > b.s.cfg.MaxBytes {
				return fmt.Errorf("%w: the inputs by URI have more than %d bytes together", grid.ErrInvalid, b.s.cfg.MaxBytes)
			}
			if err := space.grow(n); err != nil {
				return err
			}
			space.use(n)
			return nil
		})
		if err == nil {
			b.s.paces.learn(src.URI, came, time.Since(began))
		}
		return err
	})
	switch {
	case err == nil:
		b.s.rememberSource(b.job, src.URI, facts, name, came)
		b.s.log.Debug("an input was fetched", zap.String("job", string(b.job.ID)), zap.String("path", src.Path), zap.String("from", transfer.Shown(src.URI)))
		return nil
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("%w: %q from %w", ErrSource, src.Path, err)
}

// eachOf calls do for 0 to n-1, some at once; the first error ends the others.
func eachOf(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// placeOf gives the place of a URI in the name of the job's user.
func (s *Stager) placeOf(job grid.Job) (func(uri string) transfer.Place, error) {
	if s.cfg.Places == nil {
		return nil, fmt.Errorf("%w: this broker fetches nothing by URI", grid.ErrForbidden)
	}
	account := ""
	if s.cfg.Account != nil {
		var err error
		if account, err = s.cfg.Account(job.User); err != nil {
			return nil, err
		}
	}
	secrets, err := s.secretsOf(job.ID)
	if err != nil {
		return nil, err
	}
	return func(uri string) transfer.Place { return transfer.Place{URI: uri, Account: account, Secrets: secrets} }, nil
}

// Costs asks how many bytes these places have for a user, as far as they say it, and how long they will take to come
// here.
func (s *Stager) Costs(ctx context.Context, job grid.Job) (cost grid.SourceCost) {
	if len(job.Sources) == 0 {
		return cost
	}
	place, err := s.placeOf(job)
	if err != nil {
		return cost
	}
	var mu sync.Mutex
	eachOf(ctx, len(job.Sources), func(ctx context.Context, i int) error { // none ends the others
		uri := job.Sources[i].URI
		n, rate := s.costs.of(ctx, s.cfg.Places, place(uri)), s.paces.of(uri)
		mu.Lock()
		defer mu.Unlock()
		n = min(n, grid.MaxSandbox-min(cost.Bytes, grid.MaxSandbox))
		cost.Bytes += n
		if rate > 0 {
			cost.Measured += n
			cost.Takes += grid.FromSeconds(float64(n) / rate)
		}
		return nil
	})
	return cost
}

// placeSources puts what was fetched by URI into the working tree.
func (s *Stager) placeSources(ctx context.Context, root *os.Root, job grid.Job) error {
	for i, src := range job.Sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.placeSource(root, job, i, src); err != nil {
			return kindOf(fmt.Errorf("place the input %q: %w", src.Path, err))
		}
	}
	return nil
}

func (s *Stager) placeSource(root *os.Root, job grid.Job, i int, src grid.Source) error {
	if err := CheckPath(src.Path); err != nil {
		return err
	}
	from, info, err := openRegular(root, path.Join(srcDir, strconv.Itoa(i)))
	if err != nil {
		return err
	}
	defer from.Close()
	space, err := s.claim(info.Size())
	if err != nil {
		return err
	}
	defer space.release()
	mode := fs.FileMode(0o600)
	if p := job.Program; path.Join(p.Directory, p.Executable) == src.Path {
		mode = 0o700
	}
	name := path.Join(workDir, src.Path)
	old, was, err := openRegular(root, name)
	if err == nil {
		defer old.Close()
		mode |= was.Mode().Perm()
		if src.Flag == grid.DontOverwrite {
			return setMode(root, name, mode)
		}
	}
	return s.appear(root, name, mode, func(to *os.File) error {
		if old != nil && src.Flag == grid.Append {
			if _, err := io.Copy(to, old); err != nil {
				return err
			}
			_, err := io.Copy(to, from)
			return err
		}
		return copyFile(to, from)
	})
}
