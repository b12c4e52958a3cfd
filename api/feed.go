package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// The change feed: GET /v1/changes, as server-sent events.
//
//	event: job           data: a Status                    the job as it is now
//	event: group         data: a GroupStatus               likewise, and so on: each as the list of its kind has it
//	event: reservation   data: a HeldReservation
//	event: flow          data: a FlowStatus
//	event: removed       data: {"id": ID, "kind": KIND}    it is not there any more, or has left this site, which is not its home
//	event: here          id: POSITION                      all before was told; the first event, after each piece, and when nothing
//	                                                       came for half a minute
//	event: reset         id: POSITION                      what came behind the position asked for is not known any more
//
// What is told is durable, and what changed several times meanwhile is told once. A client that has lost the connection
// goes on behind the last position that it got (Last-Event-ID, which counts more, or after=); after a reset it lists what it follows,
// and has missed nothing. A feed begins at "now", ends after Limits.Stream, and counts as a long poll.
//
// A client names the kinds that it follows: kinds=job,group. Without that it gets jobs alone, as from brokers that told of nothing else,
// so that nobody who follows those gets what he does not know, or pays for it: the jobs of a group are counted each time that it is told.
// Positions are of all kinds together: one that was got with some is good for others. A broker that is older ignores kinds=.

// Position is a place in the feed: a life of the journal, and how many changes, of any kind, the broker has noted by then. These are not
// numbers of the journal: the count never goes back in one run of the program. The zero value is "now".
type Position struct{ Life, Sequence uint64 }

// String is the form in which positions travel; "" for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return fmt.Sprintf("%016x.%d", p.Life, p.Sequence)
}

// MarshalText is String.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// ParsePosition is the inverse of String.
func ParsePosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	life, sequence, ok := strings.Cut(text, ".")
	var err1, err2 error
	p.Life, err1 = strconv.ParseUint(life, 16, 64)
	p.Sequence, err2 = strconv.ParseUint(sequence, 10, 64)
	if !ok || err1 != nil || err2 != nil || p.String() != text {
		return Position{}, fmt.Errorf("%.60q is no position in the feed of changes: %w", text, grid.ErrInvalid)
	}
	return p, nil
}

// Kind is what a change is of. An event that tells how something is has its kind as its name.
type Kind string

// Kinds.
const (
	KindJob         Kind = "job"         // the data is a [Status]
	KindGroup       Kind = "group"       // a [GroupStatus] without members
	KindReservation Kind = "reservation" // a [HeldReservation]
	KindFlow        Kind = "flow"        // a [FlowStatus] without tasks
)

// Kinds are all of them.
var Kinds = []Kind{KindJob, KindGroup, KindReservation, KindFlow}

// ParseKinds reads a list of kinds, KIND,KIND; "" is jobs alone.
func ParseKinds(text string) (list []Kind, err error) {
	if text == "" {
		return []Kind{KindJob}, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(Kinds, Kind(word)) {
			return nil, fmt.Errorf("%.60q is no kind of what changes; there are %s: %w", word, joined(Kinds), grid.ErrInvalid)
		}
		list = append(list, Kind(word))
	}
	return list, nil
}

func joined(list []Kind) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}

// Change is how something is now: that of its kind is set, or it was removed.
type Change struct {
	Kind        Kind
	ID          string
	Removed     bool
	Job         *grid.Record
	Group       *GroupRecord
	Reservation *grid.Reservation
	Flow        *FlowStatus
}

// Changes is a piece of the feed.
type Changes struct {
	// Reset tells that what came behind the position asked for is not known any more; List is empty then.
	Reset bool
	List  []Change
	Next  Position // behind the piece
}

// The names of the feed's events, besides the kinds.
const (
	EventRemoved = "removed" // the data is a [Removal]
	EventReset   = "reset"   // list what is followed, then go on here; there is no data
	EventHere    = "here"    // only the position: the first event, and whenever nothing came for a while
)

// Removal names what is not there any more.
type Removal struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
}

// changes answers until the client goes, the server stops, or Limits.Stream is over: then the client comes again.
func (s *Server) changes(r *request) error {
	text := r.Header.Get("Last-Event-ID") // a browser that comes again sends it, with the address that it began with
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	at, err := ParsePosition(text)
	if err != nil {
		return err
	}
	kinds, err := ParseKinds(strings.Join(r.URL.Query()["kinds"], ","))
	if err != nil {
		return err
	}
	return s.patiently(r, s.limits.Stream, func(ctx context.Context) error { return s.stream(ctx, r, at, kinds) })
}

func (s *Server) stream(ctx context.Context, r *request, at Position, kinds []Kind) error {
	piece, err := s.piece(ctx, r, at, kinds)
	if err != nil {
		return err // nothing was written: it gets an answer like any other
	}
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("Cache-Control", "no-store")
	r.w.Header().Set("X-Content-Type-Options", "nosniff")
	r.w.WriteHeader(http.StatusOK)
	for {
		extend(r.rc.SetWriteDeadline, s.limits.Body)
		if s.write(r.w, piece) != nil || r.rc.Flush() != nil || ctx.Err() != nil {
			return nil // the answer has begun: who reads it sees its end
		}
		if piece, err = s.piece(ctx, r, piece.Next, kinds); err != nil {
			s.log.Debug("a feed of changes ends", "user", r.who.Name, "error", err)
			return nil
		}
	}
}

// piece waits for no longer than a long poll, the first one too: a client takes a broker that is silent for long to be lost.
func (s *Server) piece(ctx context.Context, r *request, at Position, kinds []Kind) (Changes, error) {
	quiet, cancel := context.WithTimeout(ctx, s.limits.LongPoll)
	defer cancel()
	return s.service.Changes(quiet, r.who, at, kinds)
}

// write writes a piece, event by event: of who takes nothing there is one that waits. Only the last has a position: who has got no
// more than some of them gets them again.
func (s *Server) write(w io.Writer, piece Changes) error {
	for i := range piece.List {
		c := &piece.List[i]
		name, data := string(c.Kind), any(Removal{c.ID, c.Kind})
		if c.Removed {
			name = EventRemoved
		} else {
			data = s.told(c)
		}
		text, err := json.Marshal(data)
		if err != nil {
			s.log.Error("a change cannot be written as JSON", "error", err)
			continue
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text); err != nil {
			return err
		}
	}
	last := EventHere
	if piece.Reset {
		last = EventReset
	}
	_, err := fmt.Fprintf(w, "event: %s\nid: %s\ndata: {}\n\n", last, piece.Next)
	return err
}

// told is how something is, as the list of its kind has it.
func (s *Server) told(c *Change) any {
	switch c.Kind {
	case KindJob:
		return newStatus(c.Job, s.service.SiteName)
	case KindGroup:
		return newGroupStatus(*c.Group, s.service.SiteName)
	case KindReservation:
		return s.heldReservation(c.Reservation)
	default:
		return c.Flow
	}
}
