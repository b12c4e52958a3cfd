package daemon

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"gbroker/grid"
)

// mostLives bounds what is kept of one neighbour.
const mostLives = 16

// lives are the boot nonces that came with the hellos of a neighbour, in order. One that comes again after another is of a broker that runs
// beside that one: a start draws a new nonce. The word is over when a start that was not heard before says hello, as it does when an
// administrator has stopped one of the two.
type lives struct {
	heard   []uint64
	doubled bool
}

// hear tells whether it has just shown that there are two.
func (l *lives) hear(boot uint64) bool {
	n := len(l.heard)
	if boot == 0 || n > 0 && l.heard[n-1] == boot {
		return false
	}
	before := l.doubled
	l.doubled = slices.Contains(l.heard, boot)
	l.heard = append(l.heard, boot)
	l.heard = l.heard[max(0, len(l.heard)-mostLives):]
	return l.doubled && !before
}

// hearLife keeps which life of its broker a neighbour says hello from.
func (s *site) hearLife(p grid.PeerID, boot uint64) {
	s.mu.Lock()
	l := s.lives[p]
	if l == nil {
		l = &lives{}
		s.lives[p] = l
	}
	found := l.hear(boot)
	s.mu.Unlock()
	if found {
		s.log.Error("two brokers run under the identity of a neighbour", zap.String("site", service{s}.SiteName(p)), zap.String("peer", string(p)))
	}
}

// doubled is an alarm for each neighbour of which two brokers run.
func (s *site) doubled() (alarms []string) {
	for _, m := range s.memberList() {
		s.mu.Lock()
		l := s.lives[m.Peer]
		twice := l != nil && l.doubled
		s.mu.Unlock()
		if twice {
			alarms = append(alarms, fmt.Sprintf("two brokers run under the identity of %s, and both stop: its administrator stops the wrong one for good, and says `gbroker resume` at the other", m.Name))
		}
	}
	return alarms
}
