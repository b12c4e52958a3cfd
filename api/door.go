package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"gbroker/grid"
)

// Identity is who makes a request, as was found out at the door; what he may do follows of it.
type Identity struct {
	Name          string
	Administrator bool
	// Hook: he speaks for the batch system, and may say that something has changed there.
	Hook bool
	// Home is set for one who has shown a pass of another site: he is a user there, and nobody else here.
	Home grid.PeerID
}

// way is one way to find out who makes a request: by what the kernel says of the socket, by a token. Proofs of other
// kinds (a session, a key) are further ways. known is false where the request has no proof of its kind.
type way func(r *http.Request, from caller) (who Identity, known bool, err error)

// identify says who makes the request, by the first way that knows, or refuses it.
func (s *Server) identify(r *http.Request) (Identity, error) {
	from, ok := r.Context().Value(callerKey{}).(caller)
	if !ok {
		return Identity{}, fmt.Errorf("a connection without a caller: %w", grid.ErrForbidden)
	}
	if from.tcp {
		if err := s.checkHost(r); err != nil {
			return Identity{}, err
		}
	}
	for _, w := range s.ways {
		if who, known, err := w(r, from); known || err != nil {
			return who, err
		}
	}
	return Identity{}, &Fault{"over TCP every request needs the broker's token: give its file with --token-file or $GBROKER_TOKEN_FILE",
		"forbidden", http.StatusUnauthorized}
}

// checkHost lets a request over TCP in: from no web page, to this server by a loopback name.
func (s *Server) checkHost(r *http.Request) error {
	if r.Header.Get("Origin") != "" {
		return fmt.Errorf("requests with an Origin (from web pages) are not served: %w", grid.ErrForbidden)
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || !loopbackName(host) || port != s.tcpPort {
		return fmt.Errorf("host %.80q is not this broker's: %w", r.Host, grid.ErrForbidden)
	}
	return nil
}

// bySocket: on the unix socket one is who the kernel says.
func (s *Server) bySocket(_ *http.Request, from caller) (Identity, bool, error) {
	if from.tcp {
		return Identity{}, false, nil
	}
	name, err := s.names.of(from.uid)
	if err != nil {
		return Identity{}, false, err
	}
	chief := from.uid == 0 || from.uid == uint32(os.Geteuid()) || s.administrators[name]
	return Identity{Name: name, Administrator: chief, Hook: chief || s.hooks[name]}, true, nil
}

// byToken: who holds the token is the daemon's own user.
func (s *Server) byToken(r *http.Request, _ caller) (Identity, bool, error) {
	token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !given {
		return Identity{}, false, nil
	}
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
		return Identity{}, false, &Fault{"the token is not this broker's: its own is in the file api.token beside its gbroker.yaml", "forbidden", http.StatusUnauthorized}
	}
	name, err := s.names.of(uint32(os.Geteuid()))
	return Identity{Name: name, Administrator: true, Hook: true}, err == nil, err
}
