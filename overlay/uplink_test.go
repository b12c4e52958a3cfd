package overlay

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
)

// Two peers are sent as much as goes: one has reserved three quarters of the uplink, and gets three times what the other
// gets; while the other takes nothing it gets all; without the reservation both get alike, and more. What came is counted where it came.
func TestReservedRateIsKept(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, mesh(3))
	a, b, c := all[0], all[1], all[2]
	const total = 1 << 20
	a.over.Share(map[grid.PeerID]int64{b.peer(): total * 3 / 4}, total/4)
	var came [2]atomic.Int64
	more := make(chan struct{}, 1)
	for i, to := range []*broker{b, c} {
		to.serve("/gbroker/sink/1", func(_ grid.PeerID, conn net.Conn) {
			piece := make([]byte, 16<<10)
			for {
				n, err := conn.Read(piece)
				came[i].Add(int64(n))
				poke(more)
				if err != nil {
					return
				}
			}
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var idle atomic.Bool
	for i, to := range []*broker{b, c} {
		conn, err := a.over.Open(ctx, to.peer(), "/gbroker/sink/1")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go io.Copy(conn, endlessly{ctx, func() bool { return i == 1 && idle.Load() }})
	}
	// between is what came to each until so much had come to the first.
	between := func(enough int64) (x, y int64) {
		x, y = came[0].Load(), came[1].Load()
		for limit := time.After(time.Minute); came[0].Load()-x < enough; {
			select {
			case <-more:
			case <-limit:
				t.Fatalf("%d bytes in a minute", came[0].Load()-x)
			}
		}
		return came[0].Load() - x, came[1].Load() - y
	}
	between(1 << 20) // bursts, and what was in the streams' windows
	x, y := between(total)
	for range 5 { // a machine that is busy sends less than may be sent, and then to both alike
		if ratio := float64(x) / float64(y); ratio > 2.4 && ratio < 3.6 {
			break
		}
		x, y = between(total)
	}
	if ratio := float64(x) / float64(y); ratio < 2.4 || ratio > 3.6 {
		t.Errorf("%d and %d bytes: %.2f times as much, not 3", x, y, ratio)
	}
	// What is reserved is no cap: c is sent nothing more, and b gets what that leaves.
	idle.Store(true)
	a.over.Share(map[grid.PeerID]int64{b.peer(): 16 << 10}, 64<<20)
	begin := time.Now()
	between(1 << 20)
	if took := time.Since(begin); took > 30*time.Second { // at the reserved rate alone it would be 64 s
		t.Errorf("1 MiB took %v while nobody else sent anything", took)
	}
	a.over.Share(map[grid.PeerID]int64{b.peer(): total * 3 / 4}, total/4)
	begin = time.Now()
	a.over.Share(nil, 0)
	between(32 << 20)
	if took := time.Since(begin); took > 24*time.Second { // with the reservation it would be 32 s
		t.Errorf("without a reservation 32 MiB took %v", took)
	}
}

// endlessly has zeroes until its context is done.
type endlessly struct {
	ctx  context.Context
	ends func() bool
}

func (e endlessly) Read(b []byte) (int, error) {
	if e.ctx.Err() != nil || e.ends() {
		return 0, io.EOF
	}
	return len(b), nil
}
