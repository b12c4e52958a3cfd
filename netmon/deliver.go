package netmon

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
)

const (
	probeStreams = 4         // at most, of one message: what a peer serves of old
	partSize     = 256 << 10 // messages of one that goes over several streams
)

// arrival is a part of a message that is there.
type arrival struct {
	at    time.Time
	bytes int64
}

// deliver sends a message as a file of that size goes: over as many streams, each after the first, which is p, on a connection of its
// own. It takes the time until all is there. Of one over several streams tail is the rate, in bytes per second, at which its
// second half arrived: larger files go on at that.
func (m *Monitor) deliver(ctx context.Context, to grid.PeerID, p *prober, size int64, deadline time.Time) (took time.Duration, tail float64, err error) {
	n := int64(min(m.cfg.Streams(size), probeStreams))
	if n <= 1 {
		took, err = p.send(size, deadline)
		return took, 0, err
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	start := time.Now()
	came, errs := make([][]arrival, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			q := p
			if i > 0 {
				c, err := m.openApart(ctx, to)
				if err != nil {
					errs[i] = err
					return
				}
				q = &prober{c: c}
				defer c.Close()
				defer context.AfterFunc(ctx, q.end)()
			}
			came[i], errs[i] = q.parts(size*(i+1)/n-size*i/n, deadline)
		})
	}
	wg.Wait()
	took = time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return took, 0, err
	}
	return took, laterHalf(slices.Concat(came...)), nil
}

// openApart opens a probe stream over a connection of its own, where the dialer has such.
func (m *Monitor) openApart(ctx context.Context, to grid.PeerID) (net.Conn, error) {
	if a, ok := m.cfg.Dialer.(Apart); ok {
		return a.OpenApart(ctx, to, Protocol)
	}
	return m.cfg.Dialer.Open(ctx, to, Protocol)
}

// parts sends size bytes as messages that follow each other, and tells when each was there.
func (p *prober) parts(size int64, deadline time.Time) (came []arrival, err error) {
	p.deadline(deadline)
	written := make(chan error, 1)
	go func() {
		var err error
		for left := size; left > 0 && err == nil; left -= partSize {
			err = p.write(min(left, partSize))
		}
		written <- err
	}()
	for left := size; left > 0 && err == nil; left -= partSize {
		if err = p.answered(); err == nil {
			came = append(came, arrival{time.Now(), min(left, partSize)})
		}
	}
	if err != nil {
		p.end() // frees who writes
	}
	return came, errors.Join(err, <-written)
}

// laterHalf is the rate of the second half of the bytes, in bytes per second; 0 if it took no time.
func laterHalf(came []arrival) float64 {
	slices.SortFunc(came, func(a, b arrival) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.bytes, b.bytes)) })
	var all, first int64
	for _, a := range came {
		all += a.bytes
	}
	for _, a := range came {
		if first += a.bytes; 2*first >= all {
			if d := came[len(came)-1].at.Sub(a.at).Seconds(); d > 0 {
				return float64(all-first) / d
			}
			break
		}
	}
	return 0
}
