package stage

import (
	"time"

	"gbroker/grid"
)

// worthTelling is from how many bytes on a delivery tells of the way rather than of what is done beside.
const worthTelling = 1 << 20

// idleBeside is for how long after the last bytes were sent the end of a delivery is its own.
const idleBeside = 5 * time.Second

// delivery is what a peer fetches of one job, over all streams on which it does so.
type delivery struct {
	began   time.Time
	last    time.Time // bytes were sent
	bytes   int64
	streams int
	broken  bool // a stream of it ended with an error: its time says nothing
}

// fetched is whose a delivery is.
type fetched struct {
	peer grid.PeerID
	job  grid.JobID
	set  Set
}

// deliver counts bytes that a stream is about to send.
func (v *server) deliver(q request, bytes int64) {
	of := fetched{v.from, q.job, q.set}
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.deliveries[of]
	if d == nil {
		d = &delivery{began: time.Now()}
		s.deliveries[of] = d
	}
	if v.of == nil {
		v.of = map[fetched]bool{}
	}
	if !v.of[of] {
		v.of[of] = true
		d.streams++
	}
	d.bytes += bytes
	d.last = time.Now()
}

// delivered takes a stream out of its deliveries, and tells of those that have ended with it: the peer closes the last stream
// when all is there.
func (v *server) delivered(broken bool) {
	s := v.s
	s.mu.Lock()
	ended := map[fetched]*delivery{}
	for of := range v.of {
		d := s.deliveries[of]
		d.broken = d.broken || broken
		if d.streams--; d.streams == 0 {
			ended[of] = d
			delete(s.deliveries, of)
		}
	}
	s.mu.Unlock()
	for of, d := range ended {
		if time.Since(d.last) > idleBeside { // a peer that is silent tells nothing of the way
			continue
		}
		if s.cfg.Delivered != nil && !d.broken && d.bytes >= worthTelling {
			s.cfg.Delivered(of.peer, of.set, d.bytes, time.Since(d.began))
		}
	}
}

// Moving tells that files go to a peer, or come from one.
func (s *Stager) Moving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.deliveries) > 0 || s.pulls > 0
}
