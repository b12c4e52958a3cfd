package overlay

import (
	"sync"
	"time"
)

// sparing keeps what others cause from filling the log: of each subject one line is
// written in each interval, and the next says how many were left out. New subjects
// beyond a bound wait until an interval of another has passed.
type sparing struct {
	every time.Duration
	most  int

	mu   sync.Mutex
	seen map[string]*spared
}

type spared struct {
	until   time.Time
	leftOut int
}

func newSparing(every time.Duration, most int) *sparing {
	return &sparing{every: every, most: most, seen: map[string]*spared{}}
}

// due tells whether a line about subject is to be written now, and how many about it
// were left out since the last one.
func (s *sparing) due(subject string, now time.Time) (leftOut int, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.seen[subject]
	switch {
	case known != nil && now.Before(known.until):
		known.leftOut++
		return 0, false
	case known == nil && len(s.seen) >= s.most && !s.drop(now):
		return 0, false
	case known == nil:
		known = &spared{}
		s.seen[subject] = known
	}
	leftOut, known.leftOut = known.leftOut, 0
	known.until = now.Add(s.every)
	return leftOut, true
}

// drop forgets the subjects whose interval has passed; s.mu is held.
func (s *sparing) drop(now time.Time) (some bool) {
	for subject, known := range s.seen {
		if !now.Before(known.until) {
			delete(s.seen, subject)
			some = true
		}
	}
	return some
}
