package overlay

import (
	"container/list"
	"context"
	"slices"
	"sync"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
	recpb "github.com/libp2p/go-libp2p-record/pb"
	"github.com/libp2p/go-libp2p/core/record"
	"google.golang.org/protobuf/proto"
)

// maxShelf bounds the records one broker keeps for the DHT: with their keys some
// 20 MB at the very most, and about 700 bytes for each record in practice.
const maxShelf = 16384

// shelf keeps the DHT's records in memory. When it is full, who has written the most of them
// loses what he wrote longest ago: nobody pushes the records of others out.
type shelf struct {
	mu    sync.Mutex
	most  int
	byKey map[ds.Key]*list.Element
	by    map[string]*list.List // of shelved, by who signed them, the newest in front
}

type shelved struct {
	key   ds.Key
	value []byte
	by    string
}

var _ ds.Batching = (*shelf)(nil)

func newShelf(most int) *shelf {
	return &shelf{most: most, byKey: map[ds.Key]*list.Element{}, by: map[string]*list.List{}}
}

// signer is the public key of who has signed what the DHT keeps; its signature was verified before.
func signer(value []byte) string {
	var kept recpb.Record
	if proto.Unmarshal(value, &kept) != nil {
		return ""
	}
	e, err := record.UnmarshalEnvelope(kept.GetValue())
	if err != nil {
		return ""
	}
	raw, err := e.PublicKey.Raw()
	if err != nil {
		return ""
	}
	return string(raw)
}

func (s *shelf) Put(_ context.Context, key ds.Key, value []byte) error {
	by := signer(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	if len(s.byKey) >= s.most {
		s.drop(s.by[s.greatest()].Back().Value.(shelved).key)
	}
	if s.by[by] == nil {
		s.by[by] = list.New()
	}
	s.byKey[key] = s.by[by].PushFront(shelved{key, slices.Clone(value), by})
	return nil
}

// greatest is who has the most records; s.mu is held, as by drop.
func (s *shelf) greatest() (most string) {
	n := -1
	for by, l := range s.by {
		if l.Len() > n {
			most, n = by, l.Len()
		}
	}
	return most
}

func (s *shelf) drop(key ds.Key) {
	e, ok := s.byKey[key]
	if !ok {
		return
	}
	delete(s.byKey, key)
	by := e.Value.(shelved).by
	if s.by[by].Remove(e); s.by[by].Len() == 0 {
		delete(s.by, by)
	}
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
	s.drop(key)
	return nil
}

func (s *shelf) Query(_ context.Context, q query.Query) (query.Results, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []query.Entry
	for _, l := range s.by {
		for e := l.Front(); e != nil; e = e.Next() {
			r := e.Value.(shelved)
			entries = append(entries, query.Entry{Key: r.key.String(), Value: r.value, Size: len(r.value)})
		}
	}
	return query.NaiveQueryApply(q, query.ResultsWithEntries(q, entries)), nil
}

func (s *shelf) Sync(context.Context, ds.Key) error { return nil }
func (s *shelf) Close() error                       { return nil }
func (s *shelf) Batch(context.Context) (ds.Batch, error) {
	return ds.NewBasicBatch(s), nil
}
