package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gbroker/grid"
	"gbroker/internal/outbound"
)

// Config is what a Client needs. Zero fields take the defaults named.
type Config struct {
	Policy outbound.Policy
	// Read and Write are folders below which file: may name files.
	Read, Write []string
	// As runs gbroker/internal/handover in the name of an account; nil: nobody is mapped to one.
	As func(ctx context.Context, account string, stdin io.Reader, stdout io.Writer, words ...string) error
	// KnownHosts is a file of sftp servers' keys, in the form of OpenSSH; "" knows none.
	KnownHosts string
	Secrets    Secrets // of the site
	// MaxBytes bounds one file; 1 TiB.
	MaxBytes int64
	// Idle ends a connection on which less than Least bytes came for so long; 1 minute, 16 KiB.
	Idle  time.Duration
	Least int64
	// Patience is how long a place is tried again while nothing comes from it; 2 minutes.
	Patience time.Duration
	// Limit bounds the time of one file; 6 hours.
	Limit time.Duration
}

// scheme is one way to places.
type scheme interface {
	// check says what is wrong with a URI of this scheme.
	check(target) error
	// stat asks for a file without its bytes.
	stat(context.Context, target) (Facts, error)
	// open reads a file from an offset, if it is still what was known of it; else from its start,
	// which is told by at = 0.
	open(ctx context.Context, t target, offset int64, known Facts) (r io.ReadCloser, f Facts, at int64, err error)
	// store makes a file of size bytes appear, whole or not at all.
	store(ctx context.Context, t target, from *os.File, size int64, flag grid.CreationFlag) error
}

// Client gets and puts files. Its methods may be called from any goroutine.
type Client struct {
	cfg     Config
	schemes map[string]scheme
	backoff time.Duration
}

// New makes a client.
func New(cfg Config) *Client {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = grid.MaxSandbox
	}
	if cfg.Idle <= 0 {
		cfg.Idle = time.Minute
	}
	if cfg.Least <= 0 {
		cfg.Least = 16 << 10
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 2 * time.Minute
	}
	if cfg.Limit <= 0 {
		cfg.Limit = 6 * time.Hour
	}
	web := newWeb(cfg.Policy)
	return &Client{cfg: cfg, backoff: 500 * time.Millisecond, schemes: map[string]scheme{
		"http": web, "https": web, "file": newFolders(cfg), "sftp": newSFTP(cfg), "s3": newS3(cfg.Policy),
	}}
}

// Stat asks what is there. It may not know the size (-1).
func (c *Client) Stat(ctx context.Context, p Place) (Facts, error) {
	t, s, err := c.read(p)
	if err != nil {
		return Facts{}, err
	}
	f, err := s.stat(ctx, t)
	if err == nil && f.Size > c.cfg.MaxBytes {
		err = c.tooLong()
	}
	return f, at(t, err)
}

// at names the place in an error, and its kind where it has none.
func at(t target, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outbound.ErrRefused):
		return fmt.Errorf("%s: %w: %w", t.shown, grid.ErrForbidden, err)
	case final(err), errors.Is(err, grid.ErrUnavailable):
		return fmt.Errorf("%s: %w", t.shown, err)
	}
	return fmt.Errorf("%s: %w: %w", t.shown, grid.ErrUnavailable, err)
}

// final tells that trying again is of no use.
func final(err error) bool {
	return errors.Is(err, grid.ErrNotFound) || errors.Is(err, grid.ErrForbidden) || errors.Is(err, grid.ErrInvalid) || errors.Is(err, outbound.ErrRefused)
}

func (c *Client) tooLong() error {
	return fmt.Errorf("%w: it has more than the %d bytes that are brought here at most", grid.ErrInvalid, c.cfg.MaxBytes)
}

const longestBackoff = 30 * time.Second

// Put brings the first size bytes of a file to a place.
func (c *Client) Put(ctx context.Context, p Place, from *os.File, size int64, flag grid.CreationFlag) error {
	t, s, err := c.read(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Limit)
	defer cancel()
	began := time.Now()
	for delay := c.backoff; ; delay = min(2*delay, longestBackoff) {
		tried := time.Now()
		err := at(t, s.store(ctx, t, from, size, flag))
		if err == nil || final(err) {
			return err
		}
		if took := time.Since(tried); took > c.cfg.Idle { // it has moved
			began = tried.Add(took / 2)
		}
		if time.Since(began) > c.cfg.Patience {
			return err
		}
		if p.failed(err); !sleep(ctx, delay) {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
