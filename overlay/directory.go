package overlay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"go.uber.org/zap"

	"gbroker/grid"
)

// maxAsked is how many members are asked for a record, or told it.
const maxAsked = 20

// place is where a key or a peer lies; see the package comment.
type place [sha256.Size]byte

func placeOf(name string) place { return sha256.Sum256([]byte(name)) }

func (a place) distance(b place) place {
	for i := range a {
		a[i] ^= b[i]
	}
	return a
}

// nearest are the members that can be asked now and lie nearest to key, without one.
func (s *session) nearest(key string, without peer.ID) []*neighbour {
	s.mu.RLock()
	var found []*neighbour
	for id, n := range s.neighbours {
		if id != without && n.answers() {
			found = append(found, n)
		}
	}
	s.mu.RUnlock()
	at := placeOf(key)
	slices.SortFunc(found, func(a, b *neighbour) int {
		x, y := at.distance(a.place), at.distance(b.place)
		return bytes.Compare(x[:], y[:])
	})
	return found[:min(len(found), maxAsked)]
}

// file puts a record on the shelf here, if it is valid and none is newer.
func (s *session) file(writer peer.ID, key string, value []byte) error {
	judge := judge{s.gate}
	if _, err := judge.rank(key, value); err != nil {
		return err
	}
	return s.shelf.put(writer, key, value, judge.newest)
}

// put writes a signed record. Where no member took it it is kept here alone, and
// the error is grid.ErrUnavailable; where one knows a newer record there is an error
// too.
func (s *session) put(ctx context.Context, key string, r record.Record) error {
	value, err := sealRecord(r, s.config.Key)
	if err == nil {
		err = s.file(s.self, key, value)
	}
	if err != nil {
		return fmt.Errorf("publishing %s: %w", key, err)
	}
	kept := false
	for _, a := range s.askNearest(ctx, frame{what: putRecord, key: key, value: value}, "") {
		switch a.what {
		case isOlder:
			return fmt.Errorf("publishing %s: %w", key, errOlder)
		case isKept:
			kept = true
		}
	}
	if !kept {
		return fmt.Errorf("publishing %s: no member has taken it: %w", key, grid.ErrUnavailable)
	}
	return nil
}

// get looks a record up here and at the members near to its key.
func (s *session) get(ctx context.Context, key string) ([]byte, error) {
	answers := s.askNearest(ctx, frame{what: getRecord, hops: 1, key: key}, "")
	value := s.pick(key, append(answers, s.held(key)))
	switch {
	case value != nil:
		return value, nil
	case len(answers) == 0:
		return nil, fmt.Errorf("looking up %s: no member answered: %w", key, grid.ErrUnavailable)
	}
	return nil, fmt.Errorf("looking up %s: %w", key, grid.ErrNotFound)
}

// held is what the shelf here has under key, as an answer.
func (s *session) held(key string) frame {
	if value := s.shelf.get(key); value != nil {
		return frame{what: isFound, value: value}
	}
	return frame{what: isNowhere}
}

// pick is the newest valid record among answers, or nil.
func (s *session) pick(key string, answers []frame) []byte {
	var values [][]byte
	for _, a := range answers {
		if a.what == isFound {
			values = append(values, a.value)
		}
	}
	if i, err := (judge{s.gate}).newest(key, values...); err == nil {
		return values[i]
	}
	return nil
}

func (s *session) publishSite(ctx context.Context) error {
	r := &SiteRecord{
		Site: s.config.Site.Name, Peer: grid.PeerID(s.self.String()),
		Addresses: dialable(s.host), Sequence: time.Now().UnixMilli(),
	}
	return errors.Join(
		s.put(ctx, siteKey(string(r.Peer)), r),
		s.put(ctx, siteKey(string(r.Site)), r))
}

// findSite looks a site up by its name or its peer ID.
func (s *session) findSite(ctx context.Context, subject string) (SiteRecord, error) {
	key := siteKey(subject)
	value, err := s.get(ctx, key)
	if err != nil {
		return SiteRecord{}, err
	}
	return judge{s.gate}.site(key, value)
}

func (s *session) publishOwner(ctx context.Context, job grid.JobID, epoch grid.Epoch) error {
	if _, err := grid.ParseJobID(string(job)); err != nil {
		return err
	}
	return s.put(ctx, ownerKey(job), &OwnerRecord{
		Job: job, Owner: grid.PeerID(s.self.String()),
		Term: epoch.Term, Hop: epoch.Hop, Sequence: time.Now().UnixMilli(),
	})
}

func (s *session) findOwner(ctx context.Context, job grid.JobID) (OwnerRecord, error) {
	if _, err := grid.ParseJobID(string(job)); err != nil {
		return OwnerRecord{}, err
	}
	key := ownerKey(job)
	value, err := s.get(ctx, key)
	if err != nil {
		return OwnerRecord{}, err
	}
	return judge{s.gate}.owner(key, value)
}

// announce publishes the site record when a member comes alive, when the addresses
// change, and at intervals. It also saves what was remembered.
func (s *session) announce(ctx context.Context) {
	var published []string
	var at time.Time
	calm := max(s.settings.republish/10, 200*time.Millisecond)
	timer := time.NewTimer(calm)
	defer timer.Stop()
	for {
		arrived := false
		select {
		case <-ctx.Done():
			return
		case <-s.arrived:
			arrived = true
		case <-timer.C:
		}
		timer.Reset(calm)
		if err := s.memory.save(); err != nil {
			s.log.Warn("ports and addresses are not remembered", zap.Error(err))
		}
		now := dialable(s.host)
		if !arrived && slices.Equal(now, published) && time.Since(at) < s.settings.republish {
			continue
		}
		published = nil // until it is done
		if err := s.publishSite(ctx); err != nil {
			if ctx.Err() == nil {
				s.log.Debug("the site record was not published", zap.Error(err))
			}
			timer.Reset(min(calm, s.settings.retryMost))
			continue
		}
		published, at = now, time.Now()
	}
}
