package api

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gbroker/grid"
)

// A pass lets a user ask any broker of the grid for the jobs that he handed in at one: the home of his jobs signs that who
// holds a private key is that user. The user signs each request with that key; whoever answers verifies both
// signatures, and believes no broker between:
//
//	Gbroker-Pass: base64url(JSON of Shown)
//	signed by the user: "gbroker request\n" METHOD "\n" REQUEST-URI "\n" HOME "\n" AT
//	signed by the home: "gbroker pass\n" USER "\n" KEY "\n" UNTIL
//
// A request is believed for ten minutes around AT, by the clock of who answers.

// ProofHeader carries, in an answer from another broker than the home, what proves that it was given the job: see [Elsewhere].
const ProofHeader = "Gbroker-Owner"

// UnconfirmedHeader says, in words, why an answer may not be true: another broker than the home has given it.
const UnconfirmedHeader = "Gbroker-Unconfirmed"

// PassHeader carries a pass with the proof of who shows it.
const PassHeader = "Gbroker-Pass"

// Relayed tells whether a header of an answer is passed on to a user elsewhere: all of ours but those that brokers say to each other.
func Relayed(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case ProofHeader, UnconfirmedHeader, PassHeader:
		return false
	case "Content-Type", "Retry-After":
		return true
	}
	return strings.HasPrefix(name, "Gbroker-")
}

// Bounds of passes.
const (
	PassDays    = 90               // how long a pass holds
	passAge     = 10 * time.Minute // of a request
	maxPassText = 2048
)

// Pass says that who holds the private key of Key is a user of Home.
type Pass struct {
	User      string            `json:"user"`
	Home      grid.PeerID       `json:"home"`
	Site      grid.SiteName     `json:"site"` // how the home calls itself
	Key       ed25519.PublicKey `json:"key"`
	Until     int64             `json:"until"` // seconds since the Unix epoch
	Signature []byte            `json:"signature"`
}

// Text is what the home signs.
func (p Pass) Text() []byte {
	return fmt.Appendf(nil, "gbroker pass\n%s\n%s\n%d", p.User, base64.StdEncoding.EncodeToString(p.Key), p.Until)
}

// Shown is a pass with the proof that its user makes this very request.
type Shown struct {
	Pass      Pass   `json:"pass"`
	At        int64  `json:"at"` // seconds since the Unix epoch
	Signature []byte `json:"signature"`
}

func (s Shown) text(method, uri string) []byte {
	return fmt.Appendf(nil, "gbroker request\n%s\n%s\n%s\n%d", method, uri, s.Pass.Home, s.At)
}

// Show is the header of a request that the holder of a pass makes.
func (p Pass) Show(key ed25519.PrivateKey, now time.Time, method, uri string) (string, error) {
	s := Shown{Pass: p, At: now.Unix()}
	s.Signature = ed25519.Sign(key, s.text(method, uri))
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("writing a pass as JSON: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// ReadPass is the pass that a request shows, verified; verify tells whether a peer has signed a text. shown is false where there is none.
func ReadPass(r *http.Request, now time.Time, verify func(by grid.PeerID, text, signature []byte) bool) (p Pass, shown bool, err error) {
	text := r.Header.Get(PassHeader)
	if text == "" {
		return p, false, nil
	}
	refused := func(format string, args ...any) (Pass, bool, error) {
		return Pass{}, true, fmt.Errorf("%w: the pass is refused: %s", grid.ErrForbidden, fmt.Sprintf(format, args...))
	}
	var s Shown
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(text) <= maxPassText {
		err = json.Unmarshal(b, &s)
	}
	p = s.Pass
	switch off := now.Sub(time.Unix(s.At, 0)); {
	case err != nil || len(text) > maxPassText || len(p.Key) != ed25519.PublicKeySize || p.User == "" || strings.ContainsAny(p.User, "\n\x00"):
		return refused("it is none that gclient writes")
	case !verify(p.Home, p.Text(), p.Signature):
		return refused("its home has not signed it")
	case !ed25519.Verify(p.Key, s.text(r.Method, r.URL.RequestURI()), s.Signature):
		return refused("who shows it does not hold its key, or signed another request")
	case now.Unix() > p.Until:
		return refused("it held until %s: get a new one with `gclient pass` at its home", time.Unix(p.Until, 0).UTC().Format(time.RFC3339))
	case off.Abs() > passAge:
		return refused("the request was signed %s from now by the clock here: set the clocks", off.Abs().Round(time.Second))
	}
	return p, true, nil
}

// PassRequest asks for a pass.
type PassRequest struct {
	Key ed25519.PublicKey `json:"key"`
}

// Elsewhere answers requests for jobs that are not known here.
type Elsewhere interface {
	// Pass makes a pass for a user of here.
	Pass(who Identity, key ed25519.PublicKey) (Pass, error)
	// ReadPass is the pass that a request shows, verified.
	ReadPass(r *http.Request) (p Pass, shown bool, err error)
	// Proof proves that this broker was given a job of the user of a pass, whose home is another; "" where it cannot.
	Proof(ctx context.Context, p Pass, id grid.JobID) string
	// Forward has a request that shows a pass answered by who knows the job: known is false where nobody does. What another than
	// the home answers has the [UnconfirmedHeader].
	Forward(w http.ResponseWriter, r *http.Request, p Pass) (known bool, err error)
}

// passable are the routes that a pass opens.
var passable = map[string]bool{
	"GET /v1/jobs/{id}": true, "GET /v1/jobs/{id}/wait": true, "POST /v1/jobs/{id}/cancel": true, "GET /v1/jobs/{id}/explain": true,
	"GET /v1/jobs/{id}/history": true, "GET /v1/jobs/{id}/log": true, "GET /v1/jobs/{id}/outputs": true,
	"GET /v1/jobs/{id}/outputs/{path...}": true,
	"GET /v1/groups/{id}":                 true, "GET /v1/groups/{id}/wait": true, "POST /v1/groups/{id}/cancel": true, "GET /v1/groups/{id}/history": true,
}

// passed serves a request that shows a pass: by the record here, if it is that user's; else by who knows the job.
func (s *Server) passed(r *request, handle func(*request) error) (served bool, err error) {
	if s.elsewhere == nil {
		return false, nil
	}
	p, shown, err := s.elsewhere.ReadPass(r.Request)
	if !shown || err != nil {
		return shown, err
	}
	if _, self := s.service.Self(); p.Home == self {
		return false, nil
	} else if r.PathValue("id") != "" && !strings.HasPrefix(r.URL.Path, "/v1/groups/") {
		far := *r
		far.who = Identity{Name: p.User, Home: p.Home}
		if bad := handle(&far); bad == nil || !errors.Is(bad, grid.ErrNotFound) {
			return true, bad
		}
	}
	return s.elsewhere.Forward(r.w, r.Request, p)
}

// Far serves what brokers of the grid pass on: requests that show a pass, and nothing else.
func (s *Server) Far() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range s.userTable() {
		if !passable[pattern] {
			continue
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, hr *http.Request) {
			p, shown, err := s.elsewhere.ReadPass(hr)
			if err == nil && !shown {
				err = fmt.Errorf("%w: a request from another site needs a pass", grid.ErrForbidden)
			}
			if err != nil {
				s.refuse(w, hr, err)
				return
			}
			who := Identity{Name: p.User, Home: p.Home}
			if _, self := s.service.Self(); p.Home != self && strings.HasPrefix(hr.URL.Path, "/v1/groups/") {
				s.refuse(w, hr, fmt.Errorf("%w: a group is known at its home alone", grid.ErrNotFound))
				return
			}
			if _, self := s.service.Self(); p.Home == self {
				who.Home = ""
			}
			if who.Home != "" {
				w.Header().Set(ProofHeader, s.elsewhere.Proof(hr.Context(), p, grid.JobID(hr.PathValue("id"))))
			}
			rc := http.NewResponseController(w)
			extend(rc.SetWriteDeadline, s.limits.LongPoll+s.limits.Cancel+s.limits.Body)
			if err := handle(&request{hr, w, rc, who}); err != nil {
				s.refuse(w, hr, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, fmt.Errorf("%w: from another site only jobs and groups are asked for, by their users", grid.ErrForbidden))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // none of these has a body; what does not come is not waited for
			extend(http.NewResponseController(w).SetReadDeadline, time.Second)
			s.refuse(w, r, fmt.Errorf("%w: a request from another site has no body", grid.ErrInvalid))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// pass makes a pass for who asks.
func (s *Server) pass(r *request) error {
	if s.elsewhere == nil {
		return fmt.Errorf("%w: this broker is of no grid: there is no grid key", grid.ErrInvalid)
	}
	var q PassRequest
	if err := json.NewDecoder(http.MaxBytesReader(r.w, r.Body, maxPassText)).Decode(&q); err != nil || len(q.Key) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: a pass is asked for with {\"key\": an Ed25519 public key in base64}", grid.ErrInvalid)
	}
	p, err := s.elsewhere.Pass(r.who, q.Key)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, p)
	return nil
}
