package overlay

import (
	"container/list"
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// maxShelf bounds the records one broker keeps: with their keys some 70 MB at the
	// very most, and about 700 bytes for each record in practice.
	maxShelf = 16384
	// maxOfWriter bounds how many of them one broker may have written.
	maxOfWriter = maxShelf / 4
	// recordAge is how long a record is kept that nobody writes again.
	recordAge = 48 * time.Hour
)

// errOlder refuses a record where a newer one is known.
var errOlder = errors.New("a newer record is known")

// shelf keeps records in memory. When it is full, or has its fill from one writer,
// what was written longest ago goes.
type shelf struct {
	mu          sync.Mutex
	most, ofOne int
	byKey       map[string]*list.Element
	order       *list.List // of shelved, the newest in front
	count       map[peer.ID]int
}

type shelved struct {
	key    string
	value  []byte
	writer peer.ID
	at     time.Time
}

func newShelf(most, ofOne int) *shelf {
	return &shelf{most: most, ofOne: ofOne, byKey: map[string]*list.Element{}, order: list.New(), count: map[peer.ID]int{}}
}

// put files value under key, unless newest prefers what is there.
func (s *shelf) put(writer peer.ID, key string, value []byte, newest func(key string, values ...[]byte) (int, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if e, ok := s.byKey[key]; ok {
		i, err := newest(key, value, e.Value.(shelved).value)
		switch {
		case err != nil:
			return err
		case i != 0:
			return errOlder
		}
		s.remove(e)
	}
	s.byKey[key] = s.order.PushFront(shelved{key, value, writer, time.Now()})
	s.count[writer]++
	if s.count[writer] > s.ofOne {
		s.removeOldest(writer)
	}
	if s.order.Len() > s.most {
		s.remove(s.order.Back())
	}
	return nil
}

// get is the record under key, or nil.
func (s *shelf) get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if e, ok := s.byKey[key]; ok {
		return e.Value.(shelved).value
	}
	return nil
}

// expire drops what is too old; call it with s.mu held, as those below.
func (s *shelf) expire() {
	for e := s.order.Back(); e != nil && time.Since(e.Value.(shelved).at) >= recordAge; e = s.order.Back() {
		s.remove(e)
	}
}

func (s *shelf) removeOldest(of peer.ID) {
	for e := s.order.Back(); e != nil; e = e.Prev() {
		if e.Value.(shelved).writer == of {
			s.remove(e)
			return
		}
	}
}

func (s *shelf) remove(e *list.Element) {
	r := s.order.Remove(e).(shelved)
	delete(s.byKey, r.key)
	if s.count[r.writer]--; s.count[r.writer] == 0 {
		delete(s.count, r.writer)
	}
}
