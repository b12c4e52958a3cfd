package overlay

import (
	"container/list"
	"context"
	"slices"
	"sync"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
)

// maxShelf bounds the records one broker keeps for the DHT: with their keys some
// 20 MB at the very most, and about 700 bytes for each record in practice.
const maxShelf = 16384

// shelf keeps the DHT's records in memory; when it is full the one that was
// written longest ago goes. Members could else fill the memory.
type shelf struct {
	mu    sync.Mutex
	most  int
	byKey map[ds.Key]*list.Element
	order *list.List // of shelved, the newest in front
}

type shelved struct {
	key   ds.Key
	value []byte
}

var _ ds.Batching = (*shelf)(nil)

func newShelf(most int) *shelf {
	return &shelf{most: most, byKey: map[ds.Key]*list.Element{}, order: list.New()}
}

func (s *shelf) Put(_ context.Context, key ds.Key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		s.order.Remove(e)
	}
	s.byKey[key] = s.order.PushFront(shelved{key, slices.Clone(value)})
	if s.order.Len() > s.most {
		last := s.order.Remove(s.order.Back()).(shelved)
		delete(s.byKey, last.key)
	}
	return nil
}

func (s *shelf) Get(_ context.Context, key ds.Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byKey[key]
	if !ok {
		return nil, ds.ErrNotFound
	}
	return e.Value.(shelved).value, nil
}

func (s *shelf) Has(ctx context.Context, key ds.Key) (bool, error) {
	return ds.GetBackedHas(ctx, s, key)
}

func (s *shelf) GetSize(ctx context.Context, key ds.Key) (int, error) {
	return ds.GetBackedSize(ctx, s, key)
}

func (s *shelf) Delete(_ context.Context, key ds.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		s.order.Remove(e)
		delete(s.byKey, key)
	}
	return nil
}

func (s *shelf) Query(_ context.Context, q query.Query) (query.Results, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []query.Entry
	for e := s.order.Front(); e != nil; e = e.Next() {
		r := e.Value.(shelved)
		entries = append(entries, query.Entry{Key: r.key.String(), Value: r.value, Size: len(r.value)})
	}
	return query.NaiveQueryApply(q, query.ResultsWithEntries(q, entries)), nil
}

func (s *shelf) Sync(context.Context, ds.Key) error { return nil }
func (s *shelf) Close() error                       { return nil }
func (s *shelf) Batch(context.Context) (ds.Batch, error) {
	return ds.NewBasicBatch(s), nil
}
