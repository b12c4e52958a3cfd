package netmon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// Protocol names the probe streams that Serve answers.
const Protocol = "/gbroker/probe/1"

// Dialer opens a stream to a peer, under the same rate limit as files.
type Dialer interface {
	Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error)
}

// Apart is a Dialer that can open a stream over a connection of its own, as those of files have after the first.
type Apart interface {
	OpenApart(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error)
}

// Config is what a Monitor needs. Zero fields take the defaults named.
type Config struct {
	Dialer Dialer
	// Sizes of the messages that are measured, in bytes, ascending, 1 to 16 MiB; 1 KiB, 16 KiB, 128 KiB, 1 MiB, 4 MiB, 16 MiB.
	Sizes []int64
	// Streams tells over how many streams a file of so many bytes goes; nil is one.
	Streams func(size int64) int
	// TimeShare is how much of time the probes of one link may take: more sees changes sooner; 0.01, and so no more of what the link can carry.
	TimeShare float64
	// BytesPerHour that the probes of one link may send; 3 MiB, after a first round: with gossip a neighbour costs less than 1 KiB/s.
	BytesPerHour int64
	// Quiet sends no message that is larger than the first of Sizes: the round trip is measured, and the rates are learned from transfers alone.
	Quiet bool
	// Interval after which a size is measured again, cost allowing; 1 minute. While all is as expected it grows.
	Interval time.Duration
	// MaxProbe is the predicted duration beyond which a size is not sent; 5 s.
	MaxProbe time.Duration
	// Busy tells that files move: nothing is probed then, and the files tell of their way. Nil is never.
	Busy func() bool
	// Changed hears each new forecast. It must be quick; calls about one peer do not overlap.
	Changed func(peer grid.PeerID, l grid.Link)
	Logger  *zap.Logger // nil logs nothing
}

// Validate says what is wrong.
func (c Config) Validate() error {
	switch {
	case c.Dialer == nil:
		return errors.New("netmon: Config.Dialer is missing")
	case !slices.IsSorted(c.Sizes) || len(slices.Compact(slices.Clone(c.Sizes))) != len(c.Sizes):
		return fmt.Errorf("netmon: %w: the sizes %v must ascend", grid.ErrInvalid, c.Sizes)
	case len(c.Sizes) > 0 && (c.Sizes[0] < 1 || c.Sizes[len(c.Sizes)-1] > maxMessage):
		return fmt.Errorf("netmon: %w: the sizes %v must be from 1 to %d bytes", grid.ErrInvalid, c.Sizes, maxMessage)
	case c.TimeShare < 0 || c.TimeShare > 1 || c.TimeShare != c.TimeShare:
		return fmt.Errorf("netmon: %w: the share of time %v must be from 0 to 1", grid.ErrInvalid, c.TimeShare)
	case c.BytesPerHour < 0 || c.Interval < 0 || c.MaxProbe < 0:
		return fmt.Errorf("netmon: %w: bytes per hour, interval and longest probe must not be negative", grid.ErrInvalid)
	}
	return nil
}

func setDefaults(c *Config) {
	if len(c.Sizes) == 0 {
		c.Sizes = []int64{1 << 10, 16 << 10, 128 << 10, 1 << 20, 4 << 20, 16 << 20}
	}
	if c.TimeShare == 0 {
		c.TimeShare = 0.01
	}
	if c.BytesPerHour == 0 {
		c.BytesPerHour = 3 << 20
	}
	if c.Interval == 0 {
		c.Interval = time.Minute
	}
	if c.MaxProbe == 0 {
		c.MaxProbe = 5 * time.Second
	}
	if c.Streams == nil {
		c.Streams = func(int64) int { return 1 }
	}
	if c.Changed == nil {
		c.Changed = func(grid.PeerID, grid.Link) {}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
}

// Monitor measures the links of one broker. Its methods may be called from any
// goroutine, before, while and after Run runs.
type Monitor struct {
	cfg     Config
	log     *zap.Logger
	turn    chan struct{} // holds one token, for one round: probes of several links would measure each other
	renewed chan struct{} // the set of links changed

	mu     sync.Mutex
	links  map[grid.PeerID]*link
	alive  map[grid.PeerID]bool // also of peers that SetPeers has not named yet
	guests map[grid.PeerID]*guest
}

// link is one neighbour.
type link struct {
	peer  grid.PeerID
	wake  chan struct{}
	alive bool // under Monitor.mu, as is way
	way   *way

	telling sync.Mutex // one call of Changed at a time
}

// New makes a Monitor that knows no peer yet.
func New(cfg Config) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Sizes = slices.Clone(cfg.Sizes)
	setDefaults(&cfg)
	m := &Monitor{
		cfg: cfg, log: cfg.Logger, turn: make(chan struct{}, 1), renewed: make(chan struct{}, 1),
		links: map[grid.PeerID]*link{}, alive: map[grid.PeerID]bool{}, guests: map[grid.PeerID]*guest{},
	}
	m.turn <- struct{}{}
	return m, nil
}

// SetPeers says who the neighbours are. What is known of one that stays is kept.
func (m *Monitor) SetPeers(members []grid.Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	old := m.links
	m.links = make(map[grid.PeerID]*link, len(members))
	for _, member := range members {
		l := old[member.Peer]
		if l == nil {
			l = &link{peer: member.Peer, wake: make(chan struct{}, 1), alive: m.alive[member.Peer], way: newWay(&m.cfg, now)}
		}
		l.way.configure(member)
		m.links[member.Peer] = l
	}
	poke(m.renewed)
}

// SetAlive says whether a peer can be probed; one that comes alive is probed at once.
func (m *Monitor) SetAlive(peer grid.PeerID, alive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if alive {
		m.alive[peer] = true
	} else {
		delete(m.alive, peer)
	}
	if l := m.links[peer]; l != nil && l.alive != alive {
		l.alive = alive
		poke(l.wake)
	}
}

// Observe takes a real transfer: size bytes went from this site to peer in d.
func (m *Monitor) Observe(peer grid.PeerID, size int64, d time.Duration) {
	m.mu.Lock()
	l := m.links[peer]
	if l != nil {
		l.way.note(time.Now(), size, d)
	}
	m.mu.Unlock()
	if l != nil && size > 0 && d > 0 {
		m.tell(l)
	}
}

// Link is the forecast for the way to a peer; of a stranger, what is assumed of all.
func (m *Monitor) Link(peer grid.PeerID) grid.Link {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if l := m.links[peer]; l != nil {
		return l.way.link(now)
	}
	w := newWay(&m.cfg, now)
	w.configure(grid.Member{})
	return w.link(now)
}

// Qualities tell of each rate of Link how far it may be believed; none of a stranger.
func (m *Monitor) Qualities(peer grid.PeerID) []grid.Quality {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.links[peer]; l != nil {
		return l.way.qualities(time.Now())
	}
	return nil
}

// tell passes the newest forecast on.
func (m *Monitor) tell(l *link) {
	l.telling.Lock()
	defer l.telling.Unlock()
	m.mu.Lock()
	f := l.way.link(time.Now())
	m.mu.Unlock()
	m.cfg.Changed(l.peer, f)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run probes until ctx is done; it returns nil after its goroutines have ended.
func (m *Monitor) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	running := map[*link]context.CancelFunc{}
	defer func() {
		for _, stop := range running {
			stop()
		}
	}()
	for {
		m.mu.Lock()
		current := make(map[*link]bool, len(m.links))
		for _, l := range m.links {
			current[l] = true
		}
		m.mu.Unlock()
		for l, stop := range running {
			if !current[l] {
				stop()
				delete(running, l)
			}
		}
		for l := range current {
			if running[l] == nil {
				lctx, stop := context.WithCancel(ctx)
				running[l] = stop
				wg.Go(func() { m.watch(lctx, l) })
			}
		}
		select {
		case <-m.renewed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Waits after a failed round.
const (
	firstRetry   = time.Second
	longestRetry = 2 * time.Minute
	busyShare    = 60 // of Interval, after which it is looked again whether files move, or the peer measures
	mostPutOff   = 20 // times Interval: for so long a probe that is due waits for that
)

// watch probes one link whenever something is due.
func (m *Monitor) watch(ctx context.Context, l *link) {
	retry, wasAlive := firstRetry, false
	var notBefore, putOff time.Time // putOff: since when a probe is due that waits
	hour := nextHour(time.Now())
	for ctx.Err() == nil {
		if now := time.Now(); !now.Before(hour) { // what is forecast may go with it
			hour = nextHour(now)
			m.tell(l)
		}
		alive, at := m.due(l)
		if alive && !wasAlive {
			notBefore, retry = time.Time{}, firstRetry
		}
		wasAlive = alive
		at = later(at, notBefore)
		if !alive {
			at = time.Now().Add(time.Hour) // SetAlive wakes us
		}
		if wait := time.Until(at); wait > 0 {
			pause(ctx, l.wake, min(wait, time.Until(hour)))
			continue
		}
		if putOff.IsZero() {
			putOff = time.Now()
		}
		late := time.Since(putOff) >= mostPutOff*m.cfg.Interval // who never ends is no reason to know nothing of all
		if !late && m.shared(l.peer) {
			pause(ctx, l.wake, m.cfg.Interval/busyShare/2+rand.N(m.cfg.Interval/busyShare))
			continue
		}
		err := m.round(ctx, l, late, min(max(turnLimit, retry), pingLimit))
		if errors.Is(err, errShared) {
			continue
		}
		putOff = time.Time{}
		m.tell(l)
		if err == nil {
			retry = firstRetry
			continue
		}
		m.log.Debug("a probe failed", zap.String("peer", string(l.peer)), zap.Duration("again_after", retry), zap.Error(err))
		notBefore = time.Now().Add(retry)
		retry = min(2*retry, longestRetry)
	}
}

// nextHour is when the next hour of the local clock begins, or would if the clock is put forward or back then: an hour that is
// left out has no instant of its own, and one that comes twice has two.
func nextHour(now time.Time) time.Time {
	gone := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	return now.Add(time.Hour - gone)
}

// shared tells that what is sent to a peer would share the way with files, or with its own probes.
func (m *Monitor) shared(peer grid.PeerID) bool {
	return m.cfg.Busy != nil && m.cfg.Busy() || m.measures(peer)
}

// measures tells that a peer measures its way to here: two that do so at once measure each other.
func (m *Monitor) measures(peer grid.PeerID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.guests[peer]
	return g != nil && g.streams > 0
}

// pause waits for d, a word or the end.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// due tells when the next probe of a link is.
func (m *Monitor) due(l *link) (alive bool, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	_, at, ok := l.way.next(now)
	if !ok {
		at = now.Add(m.cfg.Interval)
	}
	return l.alive, at
}
