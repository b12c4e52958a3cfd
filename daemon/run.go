package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/daemon/flows"
	"gbroker/grid"
	"gbroker/netmon"
	"gbroker/overlay"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/stage"
)

// site is one broker with all its parts, wired to each other.
//
//	users ─ api ─ service ─┐
//	                       ├─ broker ─ Core        overlay ─ other brokers
//	       batch system ───┘    │  │  └─ stage ─────┤
//	                         store └─── netmon ─────┘
type site struct {
	cfg    Config
	log    *zap.Logger
	level  zap.AtomicLevel
	self   grid.PeerID
	sign   func(text []byte) ([]byte, error)
	facts  grid.Site
	boot   uint64
	start  time.Time
	ctx    context.Context // of Run: for what the parts begin by themselves
	broker *broker.Broker

	overlay  *overlay.Overlay
	monitor  *netmon.Monitor
	stager   *stage.Stager
	batch    pbs.System
	trouble  atomic.Pointer[string] // why nothing is known of the batch system
	full     atomic.Pointer[string] // that the disk is full, as the log was told
	stale    atomic.Pointer[string] // that the file of neighbours is not taken up
	load     atomic.Pointer[api.BatchLoad]
	notifier *notifier
	meter    *meter
	pricing  atomic.Pointer[Config] // whose prices hold
	feed     *feed
	server   *api.Server
	flows    *flows.Keeper
	names    *names
	hangups  hangups

	invited invited
	admitMu sync.Mutex // of what follows an invitation

	ruleMu sync.Mutex
	rule   ruling

	mu      sync.Mutex // also of facts.Processes
	members []grid.Member
	passed  []passedOver              // members of the file that the rule does not choose
	sites   map[grid.PeerID]grid.Site // as their Hello said
	clocks  map[grid.PeerID]grid.Tick // how far ahead the clock in it was when it came
	// versions are of the programs that they run.
	versions map[grid.PeerID]string
	lives    map[grid.PeerID]*lives
}

// Run builds the site that cfg describes and serves until ctx is done; then it
// stops everything it has started. Running jobs go on. The level is that of the log: it is
// changed with the configuration.
func Run(ctx context.Context, cfg Config, log *zap.Logger, level zap.AtomicLevel) error {
	h := hear()
	defer h.stop()
	s, err := newSite(ctx, cfg, log, level)
	if err != nil {
		return err
	}
	s.hangups = h
	defer s.stager.Close()
	return s.run(ctx)
}

func newSite(ctx context.Context, cfg Config, log *zap.Logger, level zap.AtomicLevel) (_ *site, err error) {
	// A broker of another user, root's above all, would leave files that the right one cannot use.
	if err := rightUser(cfg); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := cfg.mayBecome(); err != nil {
		return nil, err
	}
	// First of all: it holds the lock of the data folder, which a second daemon must
	// find before it touches anything there.
	journal, err := openJournal(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, journal.Close())
		}
	}()
	key, err := overlay.LoadKey(cfg.IdentityFile())
	if err != nil {
		return nil, err
	}
	s := &site{
		cfg: cfg, log: log, level: level, self: overlay.PeerIDOf(key), sign: key.Sign, boot: randomNumber(), start: time.Now(), ctx: ctx,
		members: cfg.Members, sites: map[grid.PeerID]grid.Site{}, clocks: map[grid.PeerID]grid.Tick{}, versions: map[grid.PeerID]string{}, lives: map[grid.PeerID]*lives{},
		facts: cfg.facts(),
		rule:  ruling{file: cfg.Neighbourhood, measured: map[grid.PeerID]measure{}, accepted: map[grid.PeerID]bool{}, at: time.Now(), open: true},
	}
	cfg.Members = cfg.Chosen(s.self, nil)
	s.members, s.cfg.Members = cfg.Members, cfg.Members
	s.facts.ReachPeers = reachPeers(s.self, s.facts.Reach, s.members)
	if s.names, err = loadNames(filepath.Join(cfg.Data, "names.json")); err != nil {
		log.Warn("former neighbours are shown by their peer IDs", zap.Error(err))
	}
	s.pricing.Store(&cfg)
	s.keepNames(cfg.Members)
	if s.overlay, err = overlay.New(s.overlayConfig(key)); err != nil {
		return nil, err
	}
	places, err := cfg.places()
	if err != nil {
		return nil, err
	}
	if s.stager, err = stage.New(stage.Config{
		Cache: cfg.Files.Cache, Places: places, Account: s.fileAccount,
		Root: cfg.JobsFolder(), Passable: cfg.Batch.External.Users.Mapped, As: cfg.as(), Dialer: s.overlay, Authorize: s.authorize, Self: s.self, Verify: overlay.Verify,
		Reserve: broker.Reserve, Logger: log.Named("stage"),
		Delivered: func(to grid.PeerID, set stage.Set, bytes int64, took time.Duration) {
			if set != stage.Inputs { // the broker tells of these, when a candidate has them
				s.monitor.Observe(to, bytes, took)
			}
		},
	}); err != nil {
		return nil, err
	}
	if s.monitor, err = netmon.New(s.netmonConfig()); err != nil {
		return nil, err
	}
	if s.batch, err = cfg.system(s.ours()); err != nil {
		return nil, err
	}
	if s.notifier, err = newNotifier(cfg, service{s}.SiteName); err != nil {
		return nil, err
	}
	s.broker = broker.NewBroker(s.brokerConfig(key), cfg.Members, broker.Ports{
		Peers: s.overlay, Hints: s.overlay, Links: s.monitor, Batch: s.batch, Stager: stager{s.stager},
		Tokens: control.Attempts, Gather: control.Gather,
		Journal: func(ctx context.Context) (broker.Journal, error) {
			if first := journal; first != nil {
				journal = nil
				return first, nil
			}
			return reopenJournal(ctx, cfg)
		},
		Clock: s.clock, Wall: wall, Log: log.Named("broker"), Changed: s.changed, Share: s.overlay.Share, HangUp: s.overlay.HangUp, Displaced: func(jobs int, coreSeconds float64) { s.meter.displace(jobs, coreSeconds) },
		Notifier: s.notifier, Serve: service{s}.serve, Reserver: s.portReserver(),
	})
	s.meter, s.feed = newMeter(s), newFeed()
	if s.flows, err = s.newFlows(); err != nil {
		return nil, err
	}
	s.server, err = api.New(api.Config{
		Users: service{s}, Admin: administration{service{s}}, Hook: batchHook{s}, Flows: s.flows, Hooks: cfg.hooks(), SocketPath: cfg.Socket, TCPAddress: cfg.API, TokenFile: cfg.TokenFile(),
		Administrators: cfg.Administrators, DefaultWalltime: grid.Span(cfg.DefaultWalltime),
		Logger: slog.New(zapslog.NewHandler(log.Named("api").Core())), Metrics: s.meter.handler(),
		Elsewhere: elsewhere{s},
	})
	return s, err
}

// run starts the parts, each after those it needs, writes the ready file, and waits.
func (s *site) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx = ctx
	if err := errors.Join(
		s.overlay.Handle(stage.Protocol, s.stager.Serve),
		s.overlay.Handle(netmon.Protocol, s.monitor.Serve),
		s.overlay.Handle(netmon.LinksProtocol, s.monitor.Tell),
	); err != nil {
		return err
	}
	s.overlay.HandleFar(farProtocol, elsewhere{s}.serveFar(s.server.Far()))
	s.monitor.SetPeers(s.cfg.Members)
	parts := newParts(ctx, cancel)
	parts.start("batch system", s.batch.Run)
	parts.start("broker", s.broker.Run)
	if parts.await(s.broker.Ready()) {
		parts.start("batch system's facts", s.follow)
		parts.start("disk", s.watchDisk)
		parts.start("overlay", s.overlay.Run)
		parts.start("netmon", s.monitor.Run)
		if parts.await(s.overlay.Ready()) {
			parts.start("api", s.server.Run)
		}
	}
	if parts.await(s.server.Ready()) {
		parts.start("workflows", s.flows.Run)
		parts.start("neighbours", s.watch)
		parts.start("rule of the neighbours", s.keepRule)
		parts.start("configuration", s.reload)
		s.serve(ctx)
	}
	return parts.wait(func(alive []string) { s.log.Warn("still stopping: these have not ended", zap.Strings("parts", alive)) })
}

// serve tells that the site is up, until ctx is done.
func (s *site) serve(ctx context.Context) {
	remove, err := writeReady(s.cfg, s.readyNow())
	if err != nil {
		s.log.Error("writing the ready file", zap.Error(err))
	} else {
		defer remove()
	}
	if os.Geteuid() == 0 && !s.cfg.Batch.External.Users.Mapped {
		s.log.Warn("this broker runs as root: so do the jobs of every user who can open its socket; run it as a user of its own")
	}
	s.log.Info("serving", zap.String("site", string(s.cfg.Site)), zap.String("peer", string(s.self)),
		zap.Strings("addresses", s.overlay.Addresses()), zap.Strings("api", s.server.Addresses()))
	<-ctx.Done()
	s.log.Info("stopping; running jobs go on")
}

// readyNow is what the ready file says.
func (s *site) readyNow() Ready {
	r := Ready{PID: os.Getpid(), Peer: s.self, Addresses: s.overlay.Addresses(), Socket: s.cfg.Socket}
	for _, a := range s.server.Addresses() {
		if hostPort, ok := strings.CutPrefix(a, "http://"); ok {
			r.API = hostPort
		}
	}
	return r
}

// watch takes up changes of the neighbours' file: verified by all, then applied.
func (s *site) watch(ctx context.Context) error {
	return WatchNeighbours(ctx, s.cfg, s.log, s.hangups.neighbours, &s.stale, s.takeNeighbours)
}

// keepNames remembers how the members are called, for when they are none any more.
func (s *site) keepNames(members []grid.Member) {
	if err := s.names.keep(members); err != nil {
		s.log.Warn("the names of the neighbours are not remembered", zap.Error(err))
	}
}

// named tells whether a member is called so now.
func (s *site) named(name grid.SiteName) bool {
	return slices.ContainsFunc(s.memberList(), func(m grid.Member) bool { return m.Name == name })
}

func (s *site) memberList() []grid.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members
}

func (s *site) member(p grid.PeerID) (grid.Member, bool) {
	for _, m := range s.memberList() {
		if m.Peer == p {
			return m, true
		}
	}
	return grid.Member{}, false
}

func (s *site) factsOf(p grid.PeerID) (grid.Site, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.sites[p]
	return f, ok
}
