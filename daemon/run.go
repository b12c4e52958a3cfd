package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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
	"gbroker/broker/core"
	"gbroker/daemon/flows"
	"gbroker/grid"
	"gbroker/internal/version"
	"gbroker/netmon"
	"gbroker/overlay"
	"gbroker/overlay/topology"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/stage"
	"gbroker/wire"
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
	full     atomic.Pointer[string] // that the disk is full
	load     atomic.Pointer[api.BatchLoad]
	notifier *notifier
	meter    *meter
	pricing  atomic.Pointer[Config] // whose prices hold
	feed     *feed
	server   *api.Server
	flows    *flows.Keeper
	names    *names

	invited invited
	admitMu sync.Mutex // of what follows an invitation

	ruleMu sync.Mutex
	rule   ruling

	mu      sync.Mutex // also of facts.Processes
	members []grid.Member
	sites   map[grid.PeerID]grid.Site // as their Hello said
	clocks  map[grid.PeerID]grid.Tick // how far ahead the clock in it was when it came
	// versions are of the programs that they run.
	versions map[grid.PeerID]string
}

// Run builds the site that cfg describes and serves until ctx is done; then it
// stops everything it has started. Running jobs go on. The level is that of the log: it is
// changed with the configuration.
func Run(ctx context.Context, cfg Config, log *zap.Logger, level zap.AtomicLevel) error {
	s, err := newSite(ctx, cfg, log, level)
	if err != nil {
		return err
	}
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
		members: cfg.Members, sites: map[grid.PeerID]grid.Site{}, clocks: map[grid.PeerID]grid.Tick{}, versions: map[grid.PeerID]string{},
		facts: cfg.facts(),
		rule:  ruling{file: cfg.Neighbourhood, measured: map[grid.PeerID]topology.Known{}, accepted: map[grid.PeerID]bool{}, at: time.Now(), open: true},
	}
	cfg.Members = cfg.Chosen(s.self, nil)
	s.members, s.cfg.Members = cfg.Members, cfg.Members
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
		Clock: s.clock, Wall: wall, Log: log.Named("broker"), Changed: s.changed, Share: s.overlay.Share, Displaced: func(jobs int, coreSeconds float64) { s.meter.displace(jobs, coreSeconds) },
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

func randomNumber() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// clock is the wall clock at the start plus what a monotonic clock says since: it
// never goes back, and a wall clock that is set starts, kills and expires nothing.
func (s *site) clock() grid.Tick {
	return grid.InstantOf(s.start) + grid.Span(time.Since(s.start))
}

// wall is the wall clock of this machine: what a person would set.
func wall() grid.Tick { return grid.InstantOf(time.Now()) }

// offset is how far a member's clock was ahead of this one's when its last Hello
// came, which was on its way for none to all of a round trip; 0, 0 is not known.
func (s *site) offset(p grid.PeerID) (offset, bound grid.Tick) {
	s.mu.Lock()
	ahead, heard := s.clocks[p]
	s.mu.Unlock()
	rtt := s.monitor.Link(p).RTT
	if !heard || rtt == 0 {
		return 0, 0
	}
	return ahead + rtt/2, max(1, (rtt+1)/2)
}

func (s *site) overlayConfig(key overlay.Key) overlay.Config {
	return overlay.Config{
		Key: key, Listen: s.cfg.Listen, Site: s.facts, Members: s.cfg.Members, GridKey: s.cfg.GridKey,
		Invitations: func() []overlay.GridKey { return s.invited.secrets(&s.cfg) }, Admit: s.admit,
		Hello: func() wire.Hello {
			return wire.Hello{
				Program: "gbroker " + version.Version, Site: s.factsNow(), Journal: s.broker.JournalID(),
				Boot: s.broker.Boot(), Clock: wall(),
			}
		},
		HelloFrom: s.helloFrom,
		Receive: func(from grid.PeerID, m wire.Message) {
			if a, ok := m.(wire.Announce); ok {
				s.learn(from, a.Site)
			}
			s.broker.Post(core.Message{From: from, Message: m})
		},
		PeerChanged: func(p grid.PeerID, l grid.Liveness) {
			s.log.Info("a peer changed", zap.String("site", service{s}.SiteName(p)), zap.Stringer("to", l))
			s.monitor.SetAlive(p, l == grid.Alive)
			s.broker.Post(core.PeerChanged{Peer: p, Liveness: l})
		},
		Logger: s.log.Named("overlay"), StateDir: filepath.Join(s.cfg.Data, "overlay"),
	}
}

func (s *site) helloFrom(from grid.PeerID, h wire.Hello) error {
	s.learn(from, h.Site)
	s.hearVersion(from, h.Program)
	s.mu.Lock()
	s.clocks[from] = h.Clock - wall()
	s.mu.Unlock()
	s.broker.Post(core.PeerSite{Peer: from, Site: h.Site})
	s.broker.Post(core.PeerJournal{Peer: from, Journal: h.Journal, Boot: h.Boot})
	return nil
}

// learn keeps what a peer said of its site, for those who ask.
func (s *site) learn(from grid.PeerID, facts grid.Site) {
	s.mu.Lock()
	s.sites[from] = facts
	s.mu.Unlock()
}

// factsNow is what this broker says of its site.
func (s *site) factsNow() grid.Site {
	s.mu.Lock()
	facts := s.facts
	s.mu.Unlock()
	facts.Draining = s.broker.SiteState().Draining
	return facts
}

func (s *site) netmonConfig() netmon.Config {
	return netmon.Config{
		Dialer: s.overlay, TimeShare: s.cfg.Netmon.TimeShare, BytesPerHour: s.cfg.Netmon.BytesPerHour,
		Changed: func(p grid.PeerID, l grid.Link) { s.broker.Post(core.LinkChanged{Peer: p, Link: l}) },
		Logger:  s.log.Named("netmon"),
	}
}

// owner is a word for this very broker, for the marks of its local jobs.
func owner(self grid.PeerID) string {
	h := sha256.Sum256([]byte(self))
	return hex.EncodeToString(h[:8])
}

// account is the local account of a user's jobs. A neighbour's users are ours only where
// the neighbours' file says so.
func (s *site) account(u grid.User) (string, error) {
	from := grid.SiteName("")
	if !s.broker.SameUsers(u.Home) {
		from = grid.SiteName(u.Home) // a former neighbour's name stands for nobody
		if m, ok := s.member(u.Home); ok {
			from = m.Name
		} else if u.Home == s.self {
			from = s.facts.Name
		}
	}
	return s.cfg.Batch.External.Users.Account(u.Name, from)
}

// fileAccount is under which file: is read for a user; "" where nobody is mapped.
func (s *site) fileAccount(u grid.User) (string, error) {
	if !s.cfg.Batch.External.Users.Mapped {
		return "", nil
	}
	return s.account(u)
}

func (s *site) ours() ours {
	return ours{
		Owner: owner(s.self), Site: s.facts, Spool: s.cfg.batchSpool(),
		Accounts: s.account, Lend: s.stager.Lend,
		Changed: func(id grid.AttemptID) { s.broker.Changed(s.ctx, id) },
		Log:     s.log.Named("batch"),
	}
}

func (s *site) brokerConfig(key overlay.Key) core.Config {
	return core.Config{
		Sign: func(text []byte) []byte {
			signature, err := key.Sign(text)
			if err != nil { // not with a key that was loaded
				s.log.Error("signing a certificate", zap.Error(err))
			}
			return signature
		},
		Verify: overlay.Verify,
		Self:   s.self, Site: s.facts, Seed: s.boot,
		Boot:   s.boot,
		Grace:  s.cfg.grace(),
		Prices: s.cfg.prices(s.memberList()), Granted: s.cfg.Budgets, EstimateDeadline: grid.Span(s.cfg.EstimateDeadline), AutoForget: grid.Span(s.cfg.ForgetAfter),
		// a refused pair is blocked for one interval
		Delta: grid.Span(s.cfg.Reevaluation.Interval), Block: grid.Span(s.cfg.Reevaluation.Interval), Settle: grid.Span(s.cfg.Reevaluation.Settle),
		Margin: grid.Span(s.cfg.Reevaluation.Margin), Cooldown: grid.Span(s.cfg.Reevaluation.Cooldown),
		Soon: grid.Span(s.cfg.Reevaluation.Soon),
		Keep: grid.Tick(s.cfg.Retention.Days) * grid.Day, KeepBytes: s.cfg.Retention.Bytes,
		User:       s.cfg.Limits.user(),
		OfferFiles: s.cfg.Limits.Offered,
		Window:     s.cfg.Limits.SweepWindow, Expand: expand,
		Reserving: s.cfg.Reservations.rules(s.reserver() != nil), Slack: s.slack(), Reserves: s.reserver() != nil,
	}
}

// hooks are the users whose processes may say that the batch system has changed, beside the administrators: its operator.
func (c *Config) hooks() []string {
	if c.Batch.External.Operator == "" {
		return nil
	}
	return []string{c.Batch.External.Operator}
}

func (l LimitsConfig) user() core.UserLimits {
	return core.UserLimits{Jobs: l.Jobs, Processes: l.Processes, Documents: l.Documents, Bytes: l.Bytes, Groups: l.Groups, GroupJobs: l.GroupJobs, SweepJobs: l.SweepJobs}
}

// run starts the parts, each after those it needs, writes the ready file, and waits.
func (s *site) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx = ctx
	if err := errors.Join(
		s.overlay.Handle(stage.Protocol, s.stager.Serve),
		s.overlay.Handle(netmon.Protocol, s.monitor.Serve),
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
	return parts.wait()
}

// serve tells that the site is up, until ctx is done.
func (s *site) serve(ctx context.Context) {
	remove, err := WriteReady(s.cfg, s.readyNow())
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
	return WatchNeighbours(ctx, s.cfg, s.log, s.takeNeighbours)
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
