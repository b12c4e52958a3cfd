package overlay

import (
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/wire"
)

// BenchmarkRoundTrip is one message there and one back over loopback.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := pair(b)
	y.mu.Lock()
	y.onGet = func(from grid.PeerID, m wire.Message) {
		if err := y.over.Send(from, m); err != nil {
			b.Error(err)
		}
	}
	y.mu.Unlock()
	back := make(chan struct{}, 1)
	x.mu.Lock()
	x.onGet = func(grid.PeerID, wire.Message) { back <- struct{}{} }
	x.mu.Unlock()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := x.over.Send(y.peer(), wire.EstimateRequest{Round: 1}); err != nil {
			b.Fatal(err)
		}
		<-back
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkBulk is one bulk stream without a rate limit.
func BenchmarkBulk(b *testing.B) {
	x, y := pair(b)
	done := make(chan int64, 1)
	y.serve("/gbroker/bench/1", func(_ grid.PeerID, c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		done <- n
	})
	c, err := x.over.Open(b.Context(), y.peer(), "/gbroker/bench/1")
	if err != nil {
		b.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		if _, err := c.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	<-done
}

// BenchmarkMemory is the heap of three overlays that are each other's neighbours,
// a third of it for each.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		all := several(b, 3)
		connect(b, all, mesh(3))
		after := heap()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/3/1024, "KiB-heap")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/3/1024, "KiB-stack")
		b.ReportMetric(float64(runtime.NumGoroutine())/3, "goroutines")
		for _, x := range all {
			x.stop()
		}
	}
}

func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
