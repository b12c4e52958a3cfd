package overlay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gbroker/grid"
)

// Bounds of a look over the whole grid.
const (
	maxSites = 1000
	atOnce   = 16          // look-ups at a time
	known    = time.Minute // a record is believed for so long where it leads somewhere
	fresh    = 2 * time.Second
)

// atlas is what the records of the sites tell of the grid: who is there, and who is whose member. It is a hint.
type atlas struct {
	mu    sync.Mutex
	sites map[grid.PeerID]charted
}

// charted is a record, and when it was asked for; one without a peer was not found then.
type charted struct {
	record SiteRecord
	at     time.Time
}

// look is the record of a peer, asked for again if it was before since.
func (s *session) look(ctx context.Context, p grid.PeerID, since time.Time) (SiteRecord, bool) {
	s.atlas.mu.Lock()
	c, ok := s.atlas.sites[p]
	s.atlas.mu.Unlock()
	if !ok || c.at.Before(since) {
		r, err := s.findSite(ctx, string(p))
		switch {
		case err == nil:
			c = charted{r, time.Now()}
		case ctx.Err() != nil:
			return c.record, c.record.Peer != ""
		default:
			c.at = time.Now()
		}
		s.atlas.mu.Lock()
		if len(s.atlas.sites) >= 2*maxSites {
			clear(s.atlas.sites)
		}
		s.atlas.sites[p] = c
		s.atlas.mu.Unlock()
	}
	return c.record, c.record.Peer != ""
}

// survey looks at the sites of the grid, the near ones first, until enough says that it is enough, or all are seen.
func (s *session) survey(ctx context.Context, since time.Time, enough func(SiteRecord) bool) []SiteRecord {
	var found []SiteRecord
	seen := map[grid.PeerID]bool{grid.PeerID(s.self.String()): true}
	wave := s.within(maxMembers)
	for len(wave) > 0 && ctx.Err() == nil {
		var next []grid.PeerID
		for _, r := range s.lookAll(ctx, wave, seen, since) {
			found = append(found, r)
			if enough(r) || len(found) >= maxSites {
				return found
			}
			next = append(next, r.Members...)
		}
		slices.Sort(next)
		wave = slices.DeleteFunc(slices.Compact(next), func(p grid.PeerID) bool { return seen[p] })
	}
	return found
}

// lookAll looks at several sites at a time, in the order of a wave.
func (s *session) lookAll(ctx context.Context, wave []grid.PeerID, seen map[grid.PeerID]bool, since time.Time) []SiteRecord {
	records := make([]SiteRecord, len(wave))
	turns := make(chan struct{}, atOnce)
	var looking sync.WaitGroup
	for i, p := range wave {
		seen[p] = true
		turns <- struct{}{}
		looking.Go(func() {
			defer func() { <-turns }()
			if r, ok := s.look(ctx, p, since); ok {
				records[i] = r
			}
		})
	}
	looking.Wait()
	return slices.DeleteFunc(records, func(r SiteRecord) bool { return r.Peer == "" })
}

// route is the shortest way to a peer from member to member, itself included, by the records at hand; nil is none. A way goes by
// none of the steps that were found closed.
func route(first []grid.PeerID, members func(grid.PeerID) []grid.PeerID, to grid.PeerID, closed map[[2]grid.PeerID]bool) []grid.PeerID {
	before := map[grid.PeerID]grid.PeerID{"": ""}
	wave := []grid.PeerID{""}
	for hops := 0; hops < maxHops && len(wave) > 0; hops++ {
		var next []grid.PeerID
		for _, at := range wave {
			steps := first
			if at != "" {
				steps = members(at)
			}
			for _, p := range steps {
				if _, seen := before[p]; seen || closed[[2]grid.PeerID{at, p}] {
					continue
				}
				if before[p] = at; p == to {
					return back(before, to)
				}
				next = append(next, p)
			}
		}
		wave = next
	}
	return nil
}

func back(before map[grid.PeerID]grid.PeerID, to grid.PeerID) (way []grid.PeerID) {
	for p := to; p != ""; p = before[p] {
		way = append(way, p)
	}
	slices.Reverse(way)
	return way
}

// Sites are the records of the sites that are known of in the grid, but for this one.
func (o *Overlay) Sites(ctx context.Context) ([]SiteRecord, error) {
	s := o.current.Load()
	if s == nil {
		return nil, errStopped
	}
	if !o.Grid() {
		return nil, fmt.Errorf("%w: no site beyond the neighbours can be known without a grid key (grid_key in neighbours.yaml)", grid.ErrInvalid)
	}
	found := s.survey(ctx, time.Now().Add(-fresh), func(SiteRecord) bool { return false })
	slices.SortFunc(found, func(a, b SiteRecord) int { return strings.Compare(string(a.Site), string(b.Site)) })
	return found, nil
}
