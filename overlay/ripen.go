package overlay

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// ripest is the longest pause between two looks over the whole grid for the routing table, that of the library itself.
const ripest = 10 * time.Minute

// ripen fills the routing table, soon at first and then more and more seldom. The library would ask for each part of it once in ten
// minutes, and as a broker starts, when brokers that have started with it have nothing to tell yet.
func (s *session) ripen(ctx context.Context) {
	pause := s.settings.retryMost
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if s.gate.key() == (GridKey{}) || s.dht.RoutingTable().Size() == 0 { // members alone, or nobody, to ask: all begins anew with the key, or who comes
			pause = s.settings.retryMost
			timer.Reset(pause)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case err := <-s.dht.ForceRefresh():
			if err != nil {
				s.log.Debug("filling the routing table", zap.Error(err))
			}
		}
		pause = min(2*pause, ripest)
		timer.Reset(pause)
	}
}
