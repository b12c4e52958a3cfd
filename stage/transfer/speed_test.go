package transfer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// One GiB by HTTP, to a file, with its checksum; grown is by how much the heap is larger at its largest.
func BenchmarkGet1GiB(b *testing.B) {
	const size = 1 << 30
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		io.CopyN(w, zeros{}, size)
	}))
	defer server.Close()
	c := New(Config{Policy: local})
	b.SetBytes(size)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	grown := uint64(0)
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.Get(context.Background(), Place{URI: server.URL}, f, nil)
			done <- err
		}()
		tick := time.NewTicker(20 * time.Millisecond)
		for open := true; open; {
			select {
			case err = <-done:
				open = false
			case <-tick.C:
				runtime.ReadMemStats(&now)
				grown = max(grown, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
			}
		}
		tick.Stop()
		if info, bad := f.Stat(); err != nil || bad != nil || info.Size() != size {
			b.Fatal(err, bad)
		}
		f.Close()
		os.Remove(f.Name())
	}
	b.ReportMetric(float64(grown)/(1<<20), "MiB-grown")
}
