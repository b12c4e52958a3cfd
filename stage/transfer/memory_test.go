package transfer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// large serves a file of so many zeros at every path, by HTTP and as an object of S3, and takes what it is sent; it
// keeps nothing.
func large(tb testing.TB, size int64) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodPost && query.Has("uploads"):
			io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
		case r.Method == http.MethodPost:
			io.WriteString(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>f</Key><ETag>x</ETag></CompleteMultipartUploadResult>")
		case r.Method == http.MethodPut:
			io.Copy(io.Discard, r.Body)
			w.Header().Set("ETag", `"x"`)
		default:
			w.Header().Set("ETag", `"x"`)
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
			if r.Method == http.MethodGet {
				io.CopyN(w, zeros{}, size)
			}
		}
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// hole is a file of so many zeros that takes no disk.
func hole(tb testing.TB, name string, size int64) string {
	f, err := os.Create(name)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return name
}

// larger is by how much the heap is larger at its largest while something is done.
func larger(do func() error) (bytes int64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // what is not collected yet counts
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return bytes, err
		case <-tick.C:
			runtime.ReadMemStats(&now)
			bytes = max(bytes, int64(now.HeapAlloc)-int64(before.HeapAlloc))
		}
	}
}

// ways brings a file of size bytes from a place of each scheme, and to one; each gives the growth of the heap.
func ways(tb testing.TB, size int64) map[string]func() (int64, error) {
	dir := tb.TempDir()
	hole(tb, filepath.Join(dir, "f"), size)
	web := large(tb, size)
	list := map[string]struct {
		place  string
		secret Secret
	}{
		"file": {"file://" + dir + "/f", Secret{}},
		"http": {web + "/f", Secret{}},
		"s3":   {"s3://bucket/f", Secret{For: "s3://bucket", AccessKey: "key", SecretKey: "hidden", Endpoint: web, Region: "us-east-1"}},
	}
	if address, secret := sshd(tb); address != "" {
		list["sftp"] = struct {
			place  string
			secret Secret
		}{"sftp://" + address + dir + "/f", secret}
	}
	c := New(Config{Policy: local, Read: []string{dir}, Write: []string{dir}, Patience: time.Second})
	ctx := context.Background()
	all := map[string]func() (int64, error){}
	for name, w := range list {
		p := Place{URI: w.place}
		if w.secret.For != "" {
			p.Secrets = Secrets{w.secret}
		}
		all[name+" from"] = func() (int64, error) {
			f, err := os.Create(filepath.Join(dir, "got"))
			if err != nil {
				return 0, err
			}
			defer os.Remove(f.Name())
			defer f.Close()
			grown, err := larger(func() error { _, err := c.Get(ctx, p, f, nil); return err })
			if info, bad := f.Stat(); err == nil && (bad != nil || info.Size() != size) {
				err = fmt.Errorf("it has another size: %v", bad)
			}
			return grown, err
		}
		all[name+" to"] = func() (int64, error) {
			f, err := os.Open(filepath.Join(dir, "f"))
			if err != nil {
				return 0, err
			}
			defer f.Close()
			p := p
			p.URI += "-put"
			defer os.Remove(filepath.Join(dir, "f-put"))
			return larger(func() error { return c.Put(ctx, p, f, size, grid.Overwrite) })
		}
	}
	return all
}

// Whatever the scheme, a file is never in memory as a whole.
func TestLargeFilesInLittleMemory(t *testing.T) {
	const size, most = 96 << 20, 48 << 20
	for name, bring := range ways(t, size) {
		t.Run(strings.ReplaceAll(name, " ", "/"), func(t *testing.T) {
			switch grown, err := bring(); {
			case err != nil:
				t.Error(err)
			case grown > most:
				t.Errorf("for a file of %d MiB the heap grows by %d", size>>20, grown>>20)
			}
		})
	}
	if grown, _ := larger(func() error { b, err := io.ReadAll(io.LimitReader(zeros{}, size)); runtime.KeepAlive(b); return err }); grown < most {
		t.Errorf("a program that reads all of it grows by %d MiB alone: the bound tells nothing", grown>>20)
	}
}

// One GiB by each scheme, there and back.
func BenchmarkFiles1GiB(b *testing.B) {
	const size = 1 << 30
	for name, bring := range ways(b, size) {
		b.Run(strings.ReplaceAll(name, " ", "/"), func(b *testing.B) {
			b.SetBytes(size)
			grown := int64(0)
			for b.Loop() {
				more, err := bring()
				if err != nil {
					b.Fatal(err)
				}
				grown = max(grown, more)
			}
			b.ReportMetric(float64(grown)/(1<<20), "MiB-grown")
		})
	}
}
