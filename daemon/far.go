package daemon

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/overlay"
)

// answerLimit is how long the other end of a line may take to begin its answer, which may wait for a job for a while.
const answerLimit = 5 * time.Minute

// farProtocol carries one HTTP request of a user, who shows a pass, over a line through the grid.
const farProtocol = "/gbroker/api/1"

// elsewhere answers for jobs that are known at other sites of the grid; see api/pass.go.
type elsewhere struct{ site *site }

var _ api.Elsewhere = elsewhere{}

// Pass makes a pass for a user of here.
func (e elsewhere) Pass(who api.Identity, key ed25519.PublicKey) (api.Pass, error) {
	if !e.site.overlay.Grid() {
		return api.Pass{}, fmt.Errorf("a pass would be of no use, as this broker has no grid key: its administrator gives it one by `gbroker grid`: %w", grid.ErrUnavailable)
	}
	p := api.Pass{User: who.Name, Home: e.site.self, Site: e.site.facts.Name, Key: key, Until: time.Now().AddDate(0, 0, api.PassDays).Unix()}
	var err error
	p.Signature, err = e.site.sign(p.Text())
	return p, err
}

// ReadPass is the pass that a request shows.
func (e elsewhere) ReadPass(r *http.Request) (api.Pass, bool, error) {
	return api.ReadPass(r, time.Now(), overlay.Verify)
}

// Forward asks the home that has signed the pass, or, where that cannot be reached, the owner that the DHT names.
func (e elsewhere) Forward(w http.ResponseWriter, r *http.Request, p api.Pass) (known bool, err error) {
	if p.Home == e.site.self {
		return false, nil
	}
	if !e.site.overlay.Grid() {
		return false, fmt.Errorf("%w: %s is not known here, and the pass of %s leads no further: this broker has no grid key, which its administrator gives it by `gbroker grid`",
			grid.ErrNotFound, r.PathValue("id"), p.Site)
	}
	believed := belief(ofHome)
	c, err := e.site.overlay.Reach(r.Context(), p.Home, farProtocol)
	if err != nil {
		e.site.log.Debug("the home of a job was not reached", zap.String("home", string(p.Home)), zap.Error(err))
		hint, found := e.owner(r, p.Home)
		if !found {
			return true, fmt.Errorf("%w: the home of %s, %s, cannot be reached through the grid now: %w", grid.ErrUnavailable, r.PathValue("id"), p.Site, err)
		}
		if c, err = e.site.overlay.Reach(r.Context(), hint.Owner, farProtocol); err != nil {
			return true, fmt.Errorf("%w: neither the home of %s nor its owner can be reached through the grid now: %w", grid.ErrUnavailable, r.PathValue("id"), err)
		}
		believed = ofOwner(grid.JobID(r.PathValue("id")), p.Home, hint)
	}
	defer c.Close()
	return true, e.relay(w, r, believed, c)
}

// owner is who owns a job beside its home, by the DHT.
func (e elsewhere) owner(r *http.Request, home grid.PeerID) (overlay.OwnerRecord, bool) {
	id, err := grid.ParseJobID(r.PathValue("id"))
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v1/jobs/") {
		return overlay.OwnerRecord{}, false
	}
	ctx, cancel := context.WithTimeout(r.Context(), hintLimit)
	defer cancel()
	hint, err := e.site.overlay.FindOwner(ctx, id)
	return hint, err == nil && hint.Owner != home && hint.Owner != e.site.self
}

// relay passes one request on over a line to a broker, and its answer back, if that broker is believed by the proof that it sends,
// marked as unconfirmed where it is. The line has time limits of its own.
func (e elsewhere) relay(w http.ResponseWriter, r *http.Request, believed belief, line net.Conn) error {
	once := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return line, nil },
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10, ResponseHeaderTimeout: answerLimit,
	}
	defer once.CloseIdleConnections()
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://grid"+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		return err
	}
	out.Header.Set(api.PassHeader, r.Header.Get(api.PassHeader))
	answer, err := once.RoundTrip(out)
	if err != nil {
		return fmt.Errorf("%w: the line through the grid broke: %w", grid.ErrUnavailable, err)
	}
	defer answer.Body.Close()
	unconfirmed, err := believed(answer.Header.Get(api.ProofHeader))
	if err != nil {
		return err
	}
	if unconfirmed != "" {
		w.Header().Set(api.UnconfirmedHeader, unconfirmed)
	}
	for name := range answer.Header {
		if api.Relayed(name) {
			w.Header().Set(name, answer.Header.Get(name))
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(answer.StatusCode)
	rc := http.NewResponseController(w)
	buffer := make([]byte, 64<<10)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			rc.SetWriteDeadline(time.Now().Add(time.Minute))
			if _, bad := w.Write(buffer[:n]); bad != nil {
				return nil // who asked is gone
			}
			rc.Flush()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil { // the length is not sent before: only a broken connection tells that this is not all
			panic(http.ErrAbortHandler)
		}
	}
}

// serveFar serves the one request of a line.
func (e elsewhere) serveFar(far http.Handler) func(grid.PeerID, net.Conn) {
	return func(_ grid.PeerID, c net.Conn) {
		ended := make(chan struct{})
		over := sync.OnceFunc(func() { close(ended) })
		srv := &http.Server{
			Handler: far, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10,
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed || s == http.StateHijacked {
					over()
				}
			},
		}
		srv.SetKeepAlivesEnabled(false)
		if err := srv.Serve(&single{conn: c, ended: ended}); !errors.Is(err, io.EOF) {
			e.site.log.Debug("serving a line", zap.Error(err))
		}
	}
}

// single is a listener with one connection.
type single struct {
	conn  net.Conn
	ended chan struct{}
	given bool
}

func (l *single) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.ended
	return nil, io.EOF
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// AllSites lists the neighbours, and the sites of the grid beyond them by what their records tell.
func (s service) AllSites(ctx context.Context) ([]api.SiteView, error) {
	list, err := s.Sites(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	offers, err := s.site.offers(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range offers {
		r := o.record
		if slices.ContainsFunc(list, func(v api.SiteView) bool { return v.Peer == r.Peer }) {
			continue // one of the file, which the rule does not choose
		}
		view := api.SiteView{
			Far: true, Peer: r.Peer, Age: max(0, grid.Span(time.Since(r.Made()))), Addresses: r.Addresses,
			Site: grid.Site{Name: r.Site, Processes: r.Cores, Speed: r.Speed, Draining: r.Draining,
				Load: grid.Load{Cores: r.Cores, Busy: r.Busy, Waiting: r.Waiting}},
		}
		for _, p := range o.by {
			view.ProposedBy = append(view.ProposedBy, s.SiteName(p))
		}
		list = append(list, view)
	}
	return list, nil
}

// offer is a site of the grid that is no neighbour, and the neighbours that have it as a member: those propose it.
type offer struct {
	record overlay.SiteRecord
	by     []grid.PeerID
}

// offers are the sites of the grid beyond the neighbours.
func (s *site) offers(ctx context.Context) (list []offer, err error) {
	records, err := s.overlay.Sites(ctx)
	if err != nil {
		return nil, err
	}
	by := map[grid.PeerID][]grid.PeerID{}
	for _, r := range records {
		if _, member := s.member(r.Peer); !member {
			continue
		}
		for _, p := range r.Members {
			by[p] = append(by[p], r.Peer)
		}
	}
	for _, r := range records {
		if _, member := s.member(r.Peer); !member && r.Peer != s.self {
			list = append(list, offer{r, by[r.Peer]})
		}
	}
	return list, nil
}
