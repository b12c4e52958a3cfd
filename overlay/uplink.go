package overlay

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gbroker/grid"
)

// uplink shares what this site has for bulk streams while some of it is reserved: the streams with a peer that has
// reserved have that rate for themselves, each way, and all others share the rest. What a reservation leaves of it nobody else takes;
// what nobody takes of the rest goes to those that have reserved. While nothing is reserved it holds nobody up.
//
//	uplink ──┬── reserved for b ──► all bulk streams with b
//	         └── the rest ────────► those with all others ── what is left ──► those with b
type uplink struct {
	mu       sync.Mutex
	reserved map[grid.PeerID]*bothWays
	rest     *bothWays
}

// limit is what holds for one way of the streams with a peer: a rate of its own, and another of which it has what is left.
type limit struct{ own, left *rate.Limiter }

// spare takes up to n bytes of what is left.
func (l limit) spare(n int) int {
	if l.left == nil {
		return 0
	}
	if n = min(n, l.left.Burst()); !l.left.AllowN(time.Now(), n) {
		return 0
	}
	return n
}

// bothWays are the limits of what is read and what is written.
type bothWays struct{ read, write *rate.Limiter }

func newBothWays(bytesPerSecond int64) *bothWays {
	b := &bothWays{rate.NewLimiter(rate.Inf, 0), rate.NewLimiter(rate.Inf, 0)}
	b.set(bytesPerSecond)
	return b
}

func (b *bothWays) set(bytesPerSecond int64) {
	setRate(b.read, bytesPerSecond)
	setRate(b.write, bytesPerSecond)
}

func newUplink() *uplink {
	return &uplink{reserved: map[grid.PeerID]*bothWays{}, rest: newBothWays(0)}
}

// share gives each of some peers its rate, in bytes per second, and all others the rest; 0 is no limit. Streams that are open
// keep to it from their next piece on.
func (u *uplink) share(reserved map[grid.PeerID]int64, rest int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.reserved {
		if reserved[p] == 0 {
			delete(u.reserved, p)
		}
	}
	for p, r := range reserved {
		if is := u.reserved[p]; is != nil {
			is.set(r)
		} else {
			u.reserved[p] = newBothWays(r)
		}
	}
	u.rest.set(rest)
}

// of are the limits that hold for streams with a peer now.
func (u *uplink) of(p grid.PeerID) (read, write limit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if b := u.reserved[p]; b != nil {
		return limit{b.read, u.rest.read}, limit{b.write, u.rest.write}
	}
	return limit{own: u.rest.read}, limit{own: u.rest.write}
}
