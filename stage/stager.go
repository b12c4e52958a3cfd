package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// Protocol names the bulk streams that Serve answers.
const Protocol = "/gbroker/files/1"

// Dialer opens a stream to a peer; the member's rate limit is kept inside it.
type Dialer interface {
	Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error)
}

// Apart is a Dialer that can open a stream over a connection of its own: several go faster over a long way than one.
type Apart interface {
	Dialer
	OpenApart(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error)
}

// Set names one set of a job's files. The numbers are sent: append only.
type Set uint8

// The sets.
const (
	Inputs  Set = 1 + iota // in/
	Outputs                // out/
	Work                   // work/, of which a running job's outputs can be read

	credentials // of the job's user, of which a candidate's sources need some
	lent        // a content of the cache, by a grant
)

func (s Set) String() string {
	return [...]string{"no set", "inputs", "outputs", "work", "credentials", "what is lent"}[min(int(s), 5)]
}

// dir is the set's folder in a job's folder.
func (s Set) dir() string { return [...]string{"", inDir, outDir, workDir}[s] }

// Grant is what a peer may have of a job.
type Grant struct {
	Files   grid.Manifest // for Inputs and Outputs
	Outputs []grid.Output // for Work: the job's outputs
	// At, for Work, is where the job is, if that is not here: what is asked is asked there.
	At grid.PeerID
}

// Config is what a Stager needs. Zero fields take the defaults named.
type Config struct {
	Root   string // holds one folder for each job; made if missing
	Dialer Dialer
	// Passable lets other accounts pass the root and a job's folder (mode 0711), not list
	// them: so that what lies below can be opened to the account under which the job runs.
	Passable bool
	// As runs gbroker/internal/handover with these words in the name of an account, under which
	// a program worked that this process is not; nil: all programs work under the daemon's own.
	As func(ctx context.Context, account string, stdin io.Reader, stdout io.Writer, words ...string) error
	// Authorize says what peer may read of a job, or why not (an error that wraps a
	// kind of grid). It is asked for every request and must be quick.
	Authorize func(peer grid.PeerID, job grid.JobID, set Set) (Grant, error)
	// Self is this site, and Verify tells whether a signature is by's of a text: of grants, by which others read from the cache. Nil lends nothing.
	Self   grid.PeerID
	Verify func(by grid.PeerID, text, signature []byte) bool
	// Streams of one Fetch: more help on long ways and cost 256 KiB each; 4, at most 16.
	Streams int
	// MaxBytes bounds the inputs, and the outputs, of one job; 1 TiB.
	MaxBytes int64
	// Cache bounds the inputs that are kept for other jobs of their users, in bytes; 0 keeps none.
	Cache int64
	// Reserve is the free space, in bytes, that no transfer touches; 256 MiB.
	Reserve int64
	// IdleTimeout ends a stream on which nothing moves; 2 minutes.
	IdleTimeout time.Duration
	// Patience is how long a Fetch goes on while nothing comes; 2 minutes. What has
	// come by then counts for the next one.
	Patience time.Duration
	// Delivered hears how long it took until a peer had fetched so many bytes of a job; nil hears nothing.
	Delivered func(to grid.PeerID, set Set, bytes int64, took time.Duration)
	// Places brings files by URI; nil brings none. Account is under which one file: is read for a user; nil,
	// or "", is the daemon's own.
	Places  *transfer.Client
	Account func(grid.User) (string, error)
	// Free tells the bytes free under Root; nil asks the file system.
	Free   func() (int64, error)
	Logger *zap.Logger // nil logs nothing
}

// passable is the mode of folders that other accounts may pass.
const passable = 0o711

const (
	maxStreams     = 16
	dialTimeout    = 30 * time.Second
	firstBackoff   = 200 * time.Millisecond
	longestBackoff = 30 * time.Second
	bufferSize     = 256 << 10
)

// Stager keeps the files of a broker's jobs. Its methods may be called at any time
// from any goroutine; Fetch, Prepare, Collect and Discard of one job take turns.
type Stager struct {
	cfg     Config
	log     *zap.Logger
	root    *os.Root
	buffers sync.Pool // *[bufferSize]byte
	stamp   string    // of this process, in the names of uploads
	uid     uint32    // under which this process works
	serial  atomic.Uint64
	backoff time.Duration
	costs   costs
	paces   paces
	cache   cache

	mu      sync.Mutex
	jobs    map[grid.JobID]*desk
	claimed int64               // bytes of free space promised to transfers under way
	serving map[grid.PeerID]int // streams being served
	streams int                 // their sum
	pulls   int                 // fetches under way
	seats   seats               // streams of theirs

	deliveries map[fetched]*delivery
}

// New makes the root folder if need be. Close the Stager at the end.
func New(cfg Config) (*Stager, error) {
	if cfg.Authorize == nil {
		return nil, errors.New("stage: Config.Authorize is missing")
	}
	setDefaults(&cfg)
	abs, err := filepath.Abs(cfg.Root)
	if err != nil || cfg.Root == "" {
		return nil, fmt.Errorf("stage: the root folder %q: %w", cfg.Root, errors.Join(grid.ErrInvalid, err))
	}
	cfg.Root = abs
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("stage: make the root folder: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err == nil && cfg.Passable {
		err = root.Chmod(".", passable)
	}
	if err != nil {
		return nil, fmt.Errorf("stage: open the root folder: %w", err)
	}
	s := &Stager{
		cfg: cfg, log: cfg.Logger, root: root, backoff: firstBackoff, stamp: rand.Text(), uid: uint32(os.Geteuid()),
		jobs: map[grid.JobID]*desk{}, serving: map[grid.PeerID]int{}, deliveries: map[fetched]*delivery{},
	}
	if err := s.openCache(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s.buffers.New = func() any { return new([bufferSize]byte) }
	return s, nil
}

func setDefaults(cfg *Config) {
	if cfg.Streams <= 0 {
		cfg.Streams = 4
	}
	cfg.Streams = min(cfg.Streams, maxStreams)
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = grid.MaxSandbox
	}
	if cfg.Reserve <= 0 {
		cfg.Reserve = 256 << 20
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = 2 * time.Minute
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 2 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
}

// Close lets go of the root folder; nothing may be under way.
func (s *Stager) Close() error { return s.root.Close() }

// Paths are the absolute working and control folders of a job.
func (s *Stager) Paths(job grid.JobID) (work, control string) {
	base := filepath.Join(s.cfg.Root, string(job))
	return filepath.Join(base, workDir), filepath.Join(base, ctlDir)
}

// Jobs lists the jobs that have a folder, in order, so that leftovers are found.
func (s *Stager) Jobs() ([]grid.JobID, error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("list the jobs' folders: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the jobs' folders: %w", err)
	}
	var ids []grid.JobID
	for _, n := range names {
		if id, err := grid.ParseJobID(n); err == nil {
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, k int) bool { return ids[i] < ids[k] })
	return ids, nil
}

// Space is the number of bytes free for files of jobs, without the reserve.
func (s *Stager) Space() (int64, error) {
	free, err := s.free()
	return max(free-s.cfg.Reserve, 0), err
}

func (s *Stager) free() (int64, error) {
	if s.cfg.Free != nil {
		return s.cfg.Free()
	}
	var st unix.Statfs_t
	if err := unix.Statfs(s.cfg.Root, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", s.cfg.Root, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// claim is free space promised to one transfer; it shrinks as the space is used.
type claim struct {
	s    *Stager
	left int64
}

// claim promises n bytes or says what is missing. Before it does the cache makes room.
func (s *Stager) claim(n int64) (*claim, error) {
	c, err := s.claimNow(n)
	if err != nil && s.emptyCache() {
		c, err = s.claimNow(n)
	}
	return c, err
}

func (s *Stager) claimNow(n int64) (*claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free, err := s.free()
	if err != nil {
		return nil, err
	}
	if usable := free - s.claimed - s.cfg.Reserve; n > max(usable, 0) {
		return nil, fmt.Errorf("%w: %d bytes needed and %d free under %s (beside a reserve of %d and transfers under way): make room there, or choose another data folder",
			grid.ErrUnavailable, n, max(usable, 0), s.cfg.Root, s.cfg.Reserve)
	}
	s.claimed += n
	return &claim{s: s, left: n}, nil
}

// use gives back n bytes of the promise, because the file system now counts them.
func (c *claim) use(n int64) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n = min(n, c.left)
	c.left -= n
	c.s.claimed -= n
}

func (c *claim) release() { c.use(c.left) }

// desk is what this process knows of one job whose files are being handled.
type desk struct {
	users int           // under Stager.mu
	turn  chan struct{} // holds one token: who has it may change in/, work/ or out/ as a whole

	mu      sync.Mutex
	cancel  context.CancelFunc // ends what has the turn
	uploads *uploads           // nil until the first Receive, and again after Received
	coming  map[string]bool    // files that are being received now
}

// hold returns the job's desk, which lives until as many leave as held it.
func (s *Stager) hold(id grid.JobID) (d *desk, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d = s.jobs[id]
	if d == nil {
		d = &desk{turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		s.jobs[id] = d
	}
	d.users++
	return d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.users--; d.users == 0 && d.idle() {
			delete(s.jobs, id)
		}
	}
}

func (d *desk) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uploads == nil
}

// begin waits for the job's turn. The context it returns ends with ctx or when the
// job is discarded; end must be called.
func (s *Stager) begin(ctx context.Context, id grid.JobID) (_ context.Context, end func(), err error) {
	d, leave := s.hold(id)
	select {
	case <-d.turn:
	case <-ctx.Done():
		leave()
		return nil, nil, fmt.Errorf("wait for the files of %s, which are in use: %w", id, ctx.Err())
	}
	ctx, cancel := context.WithCancel(ctx)
	d.mu.Lock()
	d.cancel = cancel
	d.mu.Unlock()
	return ctx, func() {
		cancel()
		d.mu.Lock()
		d.cancel = nil
		d.mu.Unlock()
		d.turn <- struct{}{}
		leave()
	}, nil
}

// beginIn is begin, with the job's folder, which end closes.
func (s *Stager) beginIn(ctx context.Context, id grid.JobID) (_ context.Context, root *os.Root, end func(), err error) {
	ctx, leave, err := s.begin(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	if root, err = s.makeFolder(id); err != nil {
		leave()
		return nil, nil, nil, err
	}
	return ctx, root, func() { root.Close(); leave() }, nil
}

// interrupt cancels what has the turn now.
func (d *desk) interrupt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}
