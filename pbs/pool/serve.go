package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// Limits of a connection.
const (
	headerLimit = 8 << 10  // bytes
	joinLimit   = 16 << 10 // bytes
	idleLimit   = 3 * time.Minute
	fileLimit   = time.Hour // for one file
	talkLimit   = time.Minute
)

// server is the pool's side of the line.
func (s *System) server(ctx context.Context) *http.Server {
	mux := http.NewServeMux()
	join := answer(s, func(_ *http.Request, j line.Join) (line.Joined, error) { return s.join(j) })
	mux.Handle("POST "+line.JoinPath, http.MaxBytesHandler(join, joinLimit)) // of strangers too
	mux.HandleFunc("POST "+line.RegisterPath, known(s, func(_ *http.Request, name string, r line.Register) (struct{}, error) {
		if r.Version != line.Version {
			return struct{}{}, fmt.Errorf("%w: the agent speaks version %d, and this pool %d", grid.ErrInvalid, r.Version, line.Version)
		}
		return struct{}{}, s.register(name, r)
	}))
	mux.HandleFunc("POST "+line.ConnectPath, known(s, func(_ *http.Request, name string, c line.Connect) (line.Orders, error) { return s.connect(name, c) }))
	mux.HandleFunc("POST "+line.ReportPath, known(s, func(_ *http.Request, name string, r line.Status) (line.Orders, error) { return s.hear(name, r) }))
	mux.HandleFunc("POST "+line.OrdersPath, known(s, func(r *http.Request, name string, a line.Ask) (line.Orders, error) {
		return s.await(r.Context(), name, a.Session, a.Version)
	}))
	mux.HandleFunc("POST "+line.DisconnectPath, known(s, func(_ *http.Request, name string, a line.Ask) (struct{}, error) {
		return struct{}{}, s.disconnect(name, a.Session)
	}))
	mux.HandleFunc("POST "+line.UnregisterPath, known(s, func(r *http.Request, name string, _ line.Ask) (struct{}, error) {
		return struct{}{}, s.leave(name, line.KeyOf(r.TLS.PeerCertificates[0]))
	}))
	s.serveJobs(mux)
	return &http.Server{
		Handler: mux, TLSConfig: s.identity.Server(), MaxHeaderBytes: headerLimit, ReadHeaderTimeout: talkLimit, IdleTimeout: idleLimit,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
}

func (s *System) serveJobs(mux *http.ServeMux) {
	const one = line.JobsPath + "{tag}/"
	mux.HandleFunc("GET "+one+"files", known(s, func(r *http.Request, name string, _ struct{}) (line.Files, error) {
		return s.inputs(name, r.PathValue("tag"))
	}))
	mux.HandleFunc("GET "+one+"file", s.sendFile)
	mux.HandleFunc("PUT "+one+"file", s.takeFile)
	mux.HandleFunc("POST "+one+"start", forJob(s, func(c *computer, tag string, m line.Start) (line.Granted, error) {
		if err := line.CheckNonce(m.Stint); err != nil {
			return line.Granted{}, err
		}
		return s.grant(c, tag, m.Stint)
	}))
	mux.HandleFunc("POST "+one+"began", forJob(s, func(c *computer, tag string, m line.Began) (struct{}, error) { return struct{}{}, s.began(c, tag, m) }))
	mux.HandleFunc("POST "+one+"refuse", forJob(s, func(c *computer, tag string, m line.Refused) (struct{}, error) {
		return struct{}{}, s.refuses(c.name, tag, m.Why)
	}))
	mux.HandleFunc("POST "+one+"cannot", forJob(s, func(c *computer, tag string, m line.Refused) (struct{}, error) {
		return struct{}{}, s.cannot(c, tag, m.Why)
	}))
	mux.HandleFunc("POST "+one+"end", forJob(s, func(c *computer, tag string, m line.End) (struct{}, error) {
		if err := m.Check(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.ended(c, tag, m)
	}))
}

// caller is the computer that a request comes from, by its certificate; "" is a stranger.
func (s *System) caller(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return ""
	}
	name := r.TLS.PeerCertificates[0].Subject.CommonName
	if grid.CheckName(name) != nil || s.revoked(name) || s.hasLeft(name, line.KeyOf(r.TLS.PeerCertificates[0])) {
		return ""
	}
	return name
}

var errStranger = fmt.Errorf("%w: this pool does not know you: join it with a code of its operator", grid.ErrForbidden)

// answer serves a request of anybody.
func answer[Q, A any](s *System, serve func(*http.Request, Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(talkLimit))
		if r.Method != http.MethodGet {
			if err := line.Read(r.Body, &q); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		a, err := serve(r, q)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(talkLimit))
		if err := json.NewEncoder(w).Encode(a); err != nil {
			s.log.Debug("an answer does not reach a computer", zap.Error(err))
		}
	}
}

// known serves a request of a computer of the pool.
func known[Q, A any](s *System, serve func(*http.Request, string, Q) (A, error)) http.HandlerFunc {
	inner := answer(s, func(r *http.Request, q Q) (A, error) { return serve(r, s.caller(r), q) })
	return func(w http.ResponseWriter, r *http.Request) {
		if s.caller(r) == "" { // before anything of it is read
			s.fail(w, r, errStranger)
			return
		}
		inner(w, r)
	}
}

// forJob serves a request about a job.
func forJob[Q, A any](s *System, serve func(*computer, string, Q) (A, error)) http.HandlerFunc {
	return known(s, func(r *http.Request, name string, q Q) (a A, err error) {
		tag := r.PathValue("tag")
		if err := line.CheckTag(tag); err != nil {
			return a, err
		}
		s.mu.Lock()
		c := s.computers[name]
		s.mu.Unlock()
		if c == nil {
			return a, fmt.Errorf("%w: this computer is not registered", errUnknown)
		}
		return serve(c, tag, q)
	})
}

// fail answers with what is wrong.
func (s *System) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, errUnknown):
		status = http.StatusConflict
	case errors.Is(err, line.ErrLimit), errors.Is(err, grid.ErrInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, grid.ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, grid.ErrNotFound):
		status = http.StatusNotFound
	}
	if name := s.caller(r); status != http.StatusConflict && name != "" { // strangers are many
		s.log.Info("a request of a computer is refused", zap.String("path", r.URL.Path), zap.String("computer", name), zap.Error(err))
	}
	text := err.Error()
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(line.Refused{Why: text[:min(len(text), line.MaxDetail)]})
}

// leave removes a computer that wants to go: its key is worth nothing any more, and its name is free. The key is written down before
// the computer is forgotten, so that nobody else has the name while it is good.
func (s *System) leave(name string, key line.Fingerprint) error {
	if err := os.Remove(s.nameFile(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: freeing the name of computer %s: %w", grid.ErrUnavailable, name, err)
	}
	if err := s.noteLeft(name, key); err != nil {
		return err
	}
	s.mu.Lock()
	c := s.computers[name]
	s.mu.Unlock()
	if c != nil {
		s.remove(c, "its computer has left the pool")
	}
	return nil
}
