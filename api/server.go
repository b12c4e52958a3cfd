package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	"gbroker/grid"
)

// Limits bound what clients can make a server hold. Zero fields are set to the
// defaults of [defaultLimits].
type Limits struct {
	Connections         int // open at once, in all
	ConnectionsEach     int // by one user
	ConnectionsReserve  int // of them for administrators alone
	Waits               int // long polls and unconfirmed cancels at once, in all
	WaitsEach           int // by one user
	WaitsReserve        int // of them for administrators alone
	SubmissionBytes     int // of all submissions that are being read, in all
	SubmissionBytesEach int // of those of one user
	SubmissionReserve   int // of them for administrators alone

	LongPoll time.Duration // a wait is answered after this at the latest, and a feed says after it that it lives
	Stream   time.Duration // a feed of changes ends after this, and its client comes again
	Cancel   time.Duration // how long a cancel waits to be confirmed
	Header   time.Duration // for a request's header to come
	Body     time.Duration // for a JSON body to come, or an answer to leave
	Stall    time.Duration // for the next piece of a file to come or leave
	Idle     time.Duration // an idle connection is kept
	Grace    time.Duration // for running requests at the end
}

// defaultLimits are those of a site with hundreds of users.
func defaultLimits() Limits {
	return Limits{
		Connections:         2048,
		ConnectionsEach:     1024,
		ConnectionsReserve:  64,
		Waits:               1536,
		WaitsEach:           768,
		WaitsReserve:        32,
		SubmissionBytes:     4 * MaxSubmission,
		SubmissionBytesEach: MaxSubmission + pieceOfBody,
		SubmissionReserve:   MaxSubmission + pieceOfBody,
		LongPoll:            30 * time.Second,
		Stream:              10 * time.Minute,
		Cancel:              10 * time.Second,
		Header:              10 * time.Second,
		Body:                30 * time.Second,
		Stall:               60 * time.Second,
		Idle:                2 * time.Minute,
		Grace:               5 * time.Second,
	}
}

func orDefault[T int | time.Duration](x *T, d T) {
	if *x <= 0 {
		*x = d
	}
}

func (l *Limits) fill() {
	d := defaultLimits()
	orDefault(&l.Connections, d.Connections)
	orDefault(&l.ConnectionsEach, d.ConnectionsEach)
	orDefault(&l.Waits, d.Waits)
	orDefault(&l.WaitsEach, d.WaitsEach)
	orDefault(&l.SubmissionBytes, d.SubmissionBytes)
	orDefault(&l.ConnectionsReserve, min(d.ConnectionsReserve, l.Connections/4))
	orDefault(&l.WaitsReserve, min(d.WaitsReserve, l.Waits/4))
	orDefault(&l.SubmissionBytesEach, d.SubmissionBytesEach)
	orDefault(&l.SubmissionReserve, min(d.SubmissionReserve, l.SubmissionBytes/4))
	orDefault(&l.LongPoll, d.LongPoll)
	orDefault(&l.Stream, d.Stream)
	orDefault(&l.Cancel, d.Cancel)
	orDefault(&l.Header, d.Header)
	orDefault(&l.Body, d.Body)
	orDefault(&l.Stall, d.Stall)
	orDefault(&l.Idle, d.Idle)
	orDefault(&l.Grace, d.Grace)
}

// Config is what a server is made of.
type Config struct {
	Users UserService
	Admin AdminService
	Hook  HookService
	Flows FlowService // nil serves no workflows
	// SocketPath is where the unix socket is made; its folder is made if needed.
	SocketPath string
	// TCPAddress is a loopback host:port, port 0 chooses one; "" is off.
	TCPAddress string
	// TokenFile holds the token for TCP, readable by its owner alone.
	TokenFile string
	// Administrators are user names, beside root and the daemon's own user.
	Administrators []string
	// Hooks are the names of users whose processes speak for the batch system.
	Hooks []string
	// DefaultWalltime is set where a document names none; 0 is an hour.
	DefaultWalltime grid.Tick
	Logger          *slog.Logger // nil is silent
	// Metrics answers GET /metrics; nil is none.
	Metrics http.Handler
	// Elsewhere answers what is not known here; nil where there is no grid.
	Elsewhere Elsewhere
	Limits    Limits
}

// Server serves one broker's API. New makes it, Run runs it, once.
type Server struct {
	config         Config
	service        UserService
	elsewhere      Elsewhere
	ways           []way
	log            *slog.Logger
	limits         Limits
	administrators map[string]bool
	hooks          map[string]bool
	chiefs         map[uint32]bool // their uids, as far as they were known at the start
	names          *names
	token          [sha256.Size]byte // hash of the token
	waits          *share[string]
	submissions    *share[string]
	handler        http.Handler

	ready     chan struct{}
	tcpPort   string   // set before ready
	addresses []string // set before ready
	stopping  chan struct{}
}

// New checks the configuration and reads the token. Nothing runs yet.
func New(c Config) (*Server, error) {
	if c.Users == nil || c.Admin == nil || c.Hook == nil {
		return nil, errors.New("an API server needs the services of users, administrators and the hook")
	}
	if err := checkSocket(c.SocketPath); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DefaultWalltime <= 0 {
		c.DefaultWalltime = grid.Hour
	}
	c.Limits.fill()
	known := c
	known.Admin, known.Hook, known.Flows = nil, nil, nil // only their routes reach them
	s := &Server{
		config:         known,
		service:        c.Users,
		elsewhere:      c.Elsewhere,
		log:            c.Logger,
		limits:         c.Limits,
		administrators: make(map[string]bool),
		hooks:          make(map[string]bool),
		chiefs:         map[uint32]bool{0: true, uint32(os.Geteuid()): true},
		names:          &names{lookup: user.LookupId, now: time.Now, known: make(map[uint32]knownName)},
		waits:          newShare[string](c.Limits.Waits, c.Limits.WaitsEach, c.Limits.WaitsReserve),
		submissions:    newShare[string](c.Limits.SubmissionBytes, c.Limits.SubmissionBytesEach, c.Limits.SubmissionReserve),
		ready:          make(chan struct{}),
		stopping:       make(chan struct{}),
	}
	s.appoint(c.Administrators)
	for _, name := range c.Hooks {
		s.hooks[name] = true
	}
	s.ways = []way{s.bySocket, s.byToken}
	if c.TCPAddress != "" {
		if err := checkTCP(c.TCPAddress); err != nil {
			return nil, err
		}
		token, open, err := ReadToken(c.TokenFile)
		if err != nil {
			return nil, err
		}
		if open {
			return nil, fmt.Errorf("token file %s can be read by others: chmod 600 it: %w", c.TokenFile, grid.ErrInvalid)
		}
		s.token = sha256.Sum256([]byte(token))
	}
	s.handler = s.routes(c.Admin, c.Hook, c.Flows)
	return s, nil
}

// appoint takes the administrators' names, and the uids of those who are known now.
func (s *Server) appoint(list []string) {
	for _, name := range list {
		s.administrators[name] = true
		u, err := user.Lookup(name)
		if err != nil {
			continue // as a user of a directory that does not answer; what they ask is allowed all the same
		}
		if uid, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
			s.chiefs[uint32(uid)] = true
		}
	}
}

// chief tells that a uid is an administrator's, without asking anybody.
func (s *Server) chief(uid uint32) bool { return s.chiefs[uid] }

// Ready is closed when the server can be reached.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Addresses are where the server can be reached, unix:// first, in the form that
// clients take. It is empty before Ready.
func (s *Server) Addresses() []string {
	select {
	case <-s.ready:
		return s.addresses
	default:
		return nil
	}
}

// Run serves until ctx is done: then long polls are answered, other requests get
// Limits.Grace to end, and the socket is removed. It returns nil after such an end.
func (s *Server) Run(ctx context.Context) error {
	listeners, err := s.listen()
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: s.limits.Header,
		IdleTimeout:       s.limits.Idle,
		MaxHeaderBytes:    32 << 10,
		ConnContext:       withCaller,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving the API on %s: %w", l.Addr(), err)
			}
		})
	}
	close(s.ready)
	s.log.Info("serving the API", "addresses", s.addresses)

	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.stopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Grace)
	defer cancel()
	if late := srv.Shutdown(grace); late != nil {
		s.log.Warn("requests were cut off at the end", "error", late)
		srv.Close()
	}
	serving.Wait()
	return err
}

// listen opens all listeners, or none.
func (s *Server) listen() ([]net.Listener, error) {
	conns := newShare[caller](s.limits.Connections, s.limits.ConnectionsEach, s.limits.ConnectionsReserve)
	u, err := openSocket(s.config.SocketPath, s.log)
	if err != nil {
		return nil, err
	}
	s.addresses = []string{"unix://" + s.config.SocketPath}
	listeners := []net.Listener{&boundedListener{u, conns, s.chief, s.log}}
	if s.config.TCPAddress == "" {
		return listeners, nil
	}
	t, err := listenTCP(s.config.TCPAddress)
	if err != nil {
		u.Close()
		return nil, err
	}
	if _, s.tcpPort, err = net.SplitHostPort(t.Addr().String()); err != nil {
		u.Close()
		t.Close()
		return nil, fmt.Errorf("reading the address of the API: %w", err)
	}
	s.addresses = append(s.addresses, "http://"+t.Addr().String())
	return append(listeners, &boundedListener{t, conns, s.chief, s.log}), nil
}
