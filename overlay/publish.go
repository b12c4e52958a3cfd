package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	kadrecord "github.com/libp2p/go-libp2p-record"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"github.com/libp2p/go-libp2p/core/routing"

	"gbroker/grid"
)

// putRounds is how often the brokers nearest to a key are asked whether they keep its record.
const putRounds = 3

// put writes a signed record, and sees to it that more than half of the brokers nearest to its key keep it. Where they do
// not, as where they have a newer one, the error is grid.ErrUnavailable; what was written is kept here, and by some perhaps.
func (s *session) put(ctx context.Context, key string, r record.Record) error {
	value, err := sealRecord(r, s.config.Key)
	if err != nil {
		return err
	}
	nearest, err := s.store(ctx, key, value)
	if err == nil {
		err = s.confirm(ctx, key, value, nearest)
	}
	if err != nil {
		return fmt.Errorf("publishing %s: %w", key, errors.Join(grid.ErrUnavailable, err))
	}
	return nil
}

// store gives a record to the brokers nearest to its key, and tells who they are. The library does not tell whether they took it.
func (s *session) store(ctx context.Context, key string, value []byte) (nearest []peer.ID, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.lookup)
	defer cancel()
	ctx, events := routing.RegisterForQueryEvents(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for e := range events { // closed when ctx has ended
			if e.Type == routing.Value {
				nearest = append(nearest, e.ID)
			}
		}
	})
	err = s.dht.PutValue(ctx, key, value)
	cancel()
	listening.Wait()
	return nearest, err
}

// confirm gives a record once more to those that are to keep it, since their answer tells whether they do; to those that do not,
// again after a pause.
func (s *session) confirm(ctx context.Context, key string, value []byte, nearest []peer.ID) error {
	ask, err := pb.NewProtocolMessenger(s.dht.MessageSender())
	if err != nil {
		return err
	}
	r := kadrecord.MakePutRecord(key, value)
	missing := slices.Clone(nearest)
	last := errors.New("nobody was asked")
	for round := range putRounds {
		if round > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(s.settings.retry):
			}
		}
		errs := make([]error, len(missing))
		var asking sync.WaitGroup
		for i, p := range missing {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, s.settings.lookup/putRounds)
				defer cancel()
				errs[i] = ask.PutValue(ctx, p, r)
			})
		}
		asking.Wait()
		var left []peer.ID
		for i, p := range missing {
			if errs[i] != nil {
				left, last = append(left, p), errs[i]
			}
		}
		if missing = left; 2*len(missing) < len(nearest) {
			return nil
		}
	}
	return fmt.Errorf("of the %d brokers nearest to it %d keep it: %w", len(nearest), len(nearest)-len(missing), last)
}
