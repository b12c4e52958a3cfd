package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gbroker/grid"
)

// request is one request under way, of somebody known.
type request struct {
	*http.Request
	w   http.ResponseWriter
	rc  *http.ResponseController
	who Identity
}

// administration and hook are what their routes are served by; all others are served by the Server itself, which knows
// no service but that of users.
type administration struct {
	*Server
	service AdminService
}

type hook struct {
	*Server
	service HookService
}

// table is the routes that some may go.
type table map[string]func(*request) error

func (s *Server) userTable() table {
	return table{
		"POST /v1/jobs":                       s.submit,
		"POST /v1/where":                      s.where,
		"GET /v1/jobs":                        s.list,
		"GET /v1/jobs/{id}":                   s.status,
		"DELETE /v1/jobs/{id}":                s.remove,
		"GET /v1/jobs/{id}/wait":              s.wait,
		"GET /v1/changes":                     s.changes,
		"POST /v1/jobs/{id}/cancel":           s.cancel,
		"POST /v1/jobs/{id}/alter":            s.alter,
		"POST /v1/jobs/{id}/resubmit":         s.resubmit,
		"GET /v1/jobs/{id}/explain":           s.explain,
		"GET /v1/jobs/{id}/history":           s.history,
		"PUT /v1/jobs/{id}/files/{path...}":   s.upload,
		"HEAD /v1/jobs/{id}/files/{path...}":  s.begun,
		"POST /v1/jobs/{id}/uploaded":         s.uploaded,
		"GET /v1/jobs/{id}/log":               s.readLog,
		"GET /v1/jobs/{id}/outputs":           s.outputs,
		"GET /v1/jobs/{id}/outputs/{path...}": s.output,
		"POST /v1/groups":                     s.submitGroup,
		"GET /v1/groups":                      s.listGroups,
		"GET /v1/groups/{id}":                 s.onGroup(s.groupStatus),
		"GET /v1/groups/{id}/wait":            s.onGroup(s.waitGroup),
		"GET /v1/groups/{id}/history":         s.groupHistory,
		"POST /v1/groups/{id}/cancel":         s.onGroup(s.cancelGroup),
		"DELETE /v1/groups/{id}":              s.removeGroup,
		"POST /v1/reservations":               s.reserve,
		"GET /v1/reservations":                s.reservations,
		"DELETE /v1/reservations/{id}":        s.releaseReservation,
		"PATCH /v1/reservations/{id}":         s.changeReservation,
		"POST /v1/pass":                       s.pass,
		"GET /v1/budgets":                     s.budgets,
		"GET /v1/usage":                       s.usage,
		"GET /v1/sites":                       s.sites,
		"GET /v1/site":                        s.self,
		"GET /metrics":                        s.metrics,
		"GET /healthz":                        s.healthy,
		"GET /readyz":                         s.working,
	}
}

func (s administration) table() table {
	return table{
		"POST /v1/jobs/{id}/end":        s.end,
		"GET /v1/sites/{name}/handoffs": s.handoffs,
		"POST /v1/drain":                s.drain(true),
		"POST /v1/undrain":              s.drain(false),
		"POST /v1/forget":               s.forget,
		"POST /v1/resume":               s.resume,
		"POST /v1/had-duplicate":        s.hadDuplicate,
		"GET /v1/batch":                 s.batch,
		"GET /v1/broker":                s.overview,
	}
}

func (s hook) table() table {
	return table{
		"POST /v1/notify": s.notify,
	}
}

// routes joins the tables of the package comment: each route leads on only whom it is for.
func (s *Server) routes(admin AdminService, batch HookService, workflows FlowService) http.Handler {
	mux := http.NewServeMux()
	add := func(t table, may func(Identity) bool, whom string) {
		for pattern, handle := range t {
			mux.HandleFunc(pattern, s.handle(func(r *request) error {
				if !may(r.who) {
					return fmt.Errorf("%w: only %s may do that (%s)", grid.ErrForbidden, whom, pattern)
				}
				err := handle(r)
				if err != nil && passable[pattern] && r.Header.Get(PassHeader) != "" && nobodyHere(err) {
					if served, bad := s.passed(r, handle); served || bad != nil {
						return bad
					}
				}
				return err
			}))
		}
	}
	add(s.userTable(), func(Identity) bool { return true }, "everybody")
	if workflows != nil {
		add(flows{s, workflows}.table(), func(Identity) bool { return true }, "everybody")
	}
	add(administration{s, admin}.table(), func(who Identity) bool { return who.Administrator }, "administrators")
	add(hook{s, batch}.table(), func(who Identity) bool { return who.Hook }, "administrators and the hooks of the batch system")
	mux.HandleFunc("/", s.handle(func(r *request) error { return noRoute(mux, r.Request) }))
	return s.admit(mux)
}

// nobodyHere tells that a job may be known to others, or its user by another name.
func nobodyHere(err error) bool {
	return errors.Is(err, grid.ErrNotFound) || errors.Is(err, grid.ErrForbidden) || errors.Is(err, grid.ErrUnavailable)
}

// identityKey is the context key of who makes a request.
type identityKey struct{}

// admit lets in only whom it knows, before anything else of a request is looked
// at.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Covers a long poll; answers and files set it again.
		rc := http.NewResponseController(w)
		extend(rc.SetWriteDeadline, s.limits.LongPoll+s.limits.Cancel+s.limits.Body)
		if r.ContentLength != 0 {
			// Also where no handler reads it: the server itself reads a rest of the body.
			extend(rc.SetReadDeadline, s.limits.Body)
		}
		who, err := s.identify(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
	})
}

// noRoute says whether it is the path or the method that nobody serves.
func noRoute(mux *http.ServeMux, r *http.Request) error {
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			return &Fault{fmt.Sprintf("%s is not done on %.80q", r.Method, r.URL.Path), "invalid", http.StatusMethodNotAllowed}
		}
	}
	return fmt.Errorf("there is no %.80q in this API: %w", r.URL.Path, grid.ErrNotFound)
}

func (s *Server) handle(h func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, ok := r.Context().Value(identityKey{}).(Identity)
		if !ok {
			s.refuse(w, r, fmt.Errorf("a request of nobody: %w", grid.ErrForbidden))
			return
		}
		if err := h(&request{r, w, http.NewResponseController(w), who}); err != nil {
			s.refuse(w, r, err)
		}
	}
}

// refuse answers with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := faultOf(err)
	if f.Status == http.StatusInternalServerError {
		s.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	} else {
		s.log.Debug("refused a request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch f.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.answer(w, f.Status, f)
}

// answer sends v as JSON.
func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s.log.Error("an answer cannot be written as JSON", "error", err)
		status, b = http.StatusInternalServerError, []byte(`{"error":"a fault of the broker, its log says more","kind":"internal"}`)
	}
	extend(http.NewResponseController(w).SetWriteDeadline, s.limits.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = w.Write(append(b, '\n'))
}

// extend moves a deadline; a connection that cannot is dead and will say so itself.
func extend(set func(time.Time) error, d time.Duration) {
	if d == 0 {
		_ = set(time.Time{})
		return
	}
	_ = set(time.Now().Add(d))
}

// id is the job that the path names.
func (r *request) id() (grid.JobID, error) {
	id, err := grid.ParseJobID(r.PathValue("id"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, grid.ErrInvalid)
	}
	return id, nil
}

// path is the file that the path names, for use inside a sandbox.
func (r *request) path() (string, error) {
	p := r.PathValue("path")
	return p, checkPath(p)
}

// file is the job that the path names, and the file of it.
func (r *request) file() (id grid.JobID, path string, err error) {
	if id, err = r.id(); err != nil {
		return "", "", err
	}
	path, err = r.path()
	return id, path, err
}

// patiently runs a call that waits, for at most d, or until the server stops.
func (s *Server) patiently(r *request, d time.Duration, call func(context.Context) error) error {
	if !s.waits.take(r.who.Name, 1, r.who.Administrator) {
		return fmt.Errorf("too many requests are waiting (of one user %d at most, watches and waits that go on): end some, or try again: %w", s.limits.WaitsEach, grid.ErrUnavailable)
	}
	defer s.waits.give(r.who.Name, 1)
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-done:
		}
	}()
	return call(ctx)
}

// moving extends a deadline while bytes move: at most once a second, for a call
// to the kernel for each piece costs more than the piece.
type moving struct {
	set  func(time.Time) error
	d    time.Duration
	last time.Time
}

func (m *moving) touch() {
	if now := time.Now(); now.Sub(m.last) >= min(time.Second, m.d/4) {
		m.last = now
		_ = m.set(now.Add(m.d))
	}
}

type movingReader struct {
	io.Reader
	moving
	failed error // not io.EOF
}

func (r *movingReader) Read(b []byte) (int, error) {
	r.touch()
	n, err := r.Reader.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		// All is read: a deadline that fires from now on would cut off the answer.
		_ = r.set(time.Time{})
	case err != nil:
		r.failed = err
	}
	return n, err
}

type movingWriter struct {
	io.Writer
	moving
}

func (w *movingWriter) Write(b []byte) (int, error) {
	w.touch()
	return w.Writer.Write(b)
}
