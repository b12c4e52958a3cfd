package transfer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/internal/outbound"
)

// local lets tests reach this machine.
var local = outbound.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}}

// hasty is a client that gives up soon.
func hasty(c Config) *Client {
	c.Policy = local
	if c.Idle == 0 {
		c.Idle = 100 * time.Millisecond
	}
	if c.Patience == 0 {
		c.Patience = 300 * time.Millisecond
	}
	client := New(c)
	client.backoff = 5 * time.Millisecond
	return client
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// get brings a file and gives its bytes.
func get(t *testing.T, c *Client, p Place) ([]byte, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := c.Get(context.Background(), p, f, nil); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	return b, nil
}

// cutting serves content and cuts the first connections after half of what is to come.
type cutting struct {
	content []byte
	cuts    int32
	ranges  bool
	tag     func(request int32) string
	asked   atomic.Int32
	sent    atomic.Int64
}

func (s *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.asked.Add(1)
	tag := `"one"`
	if s.tag != nil {
		tag = s.tag(n)
	}
	w.Header().Set("ETag", tag)
	var from int
	if s.ranges && r.Header.Get("If-Range") == tag {
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	}
	rest := s.content[from:]
	w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	if n <= s.cuts {
		rest = rest[:len(rest)/2]
		defer panic(http.ErrAbortHandler)
	}
	k, _ := w.Write(rest)
	w.(http.Flusher).Flush()
	s.sent.Add(int64(k))
}

func TestBrokenConnections(t *testing.T) {
	content := random(1 << 20)
	for name, s := range map[string]*cutting{
		"whole":                 {},
		"cut, with ranges":      {cuts: 3, ranges: true},
		"cut, without ranges":   {cuts: 3},
		"changes in between":    {cuts: 3, ranges: true, tag: func(n int32) string { return fmt.Sprintf(`"%d"`, n) }},
		"a weak tag is no word": {cuts: 2, ranges: true, tag: func(int32) string { return `W/"one"` }},
	} {
		t.Run(name, func(t *testing.T) {
			s.content = content
			server := httptest.NewServer(s)
			defer server.Close()
			got, err := get(t, hasty(Config{}), Place{URI: server.URL})
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if s.ranges && s.tag == nil && s.sent.Load() > int64(len(content)) {
				t.Errorf("%d bytes were sent of %d: what came was not kept", s.sent.Load(), len(content))
			}
		})
	}
}

func TestBadServers(t *testing.T) {
	content := random(200 << 10)
	sha, wrong := sha256.Sum256(content), sha256.Sum256(nil)
	sum := md5.Sum(content)
	base := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	with := func(field, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(field, value); w.Write(content) }
	}
	answers := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	var busy atomic.Int32
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  error         // nil: the content
		once  bool          // it is not asked again
		idle  time.Duration // of a server on which too little comes; else none counts as such, however busy the machine
	}{
		"right digest":         {serve: with("Repr-Digest", "sha-256=:"+base(sha[:])+":")},
		"right old digest":     {serve: with("Digest", "SHA-256="+base(sha[:]))},
		"right MD5":            {serve: with("Content-MD5", base(sum[:]))},
		"unknown digest":       {serve: with("Repr-Digest", "sha-3=:AAAA:, sha-256=:"+base(sha[:])+":")},
		"wrong digest":         {serve: with("Repr-Digest", "sha-256=:"+base(wrong[:])+":"), want: grid.ErrUnavailable},
		"wrong content digest": {serve: with("Content-Digest", "sha-256=:"+base(wrong[:])+":"), want: grid.ErrUnavailable},
		"wrong MD5":            {serve: with("Content-MD5", base(make([]byte, 16))), want: grid.ErrUnavailable},
		"compressed":           {serve: with("Content-Encoding", "gzip"), want: grid.ErrInvalid, once: true},
		"404":                  {serve: answers(404), want: grid.ErrNotFound, once: true},
		"403":                  {serve: answers(403), want: grid.ErrForbidden, once: true},
		"400":                  {serve: answers(400), want: grid.ErrInvalid, once: true},
		"500":                  {serve: answers(500), want: grid.ErrUnavailable},
		"busy at first": {serve: func(w http.ResponseWriter, _ *http.Request) {
			if busy.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Write(content)
		}},
		"endless": {serve: func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(content); err != nil {
					return
				}
			}
		}, want: grid.ErrInvalid, once: true},
		"announces too much": {serve: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") }, want: grid.ErrInvalid, once: true},
		"says nothing":       {serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: grid.ErrUnavailable, idle: 100 * time.Millisecond},
		"drips": {serve: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte{1})
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		}, want: grid.ErrUnavailable, idle: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); c.serve(w, r) }))
			defer server.Close()
			patience := time.Second
			if c.want == nil {
				patience = time.Minute
			}
			got, err := get(t, hasty(Config{MaxBytes: 1 << 20, Idle: cmp.Or(c.idle, time.Minute), Patience: patience}), Place{URI: server.URL + "/f?secret=1"})
			if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(got, content) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if c.want != nil && (strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "/f?…")) {
				t.Errorf("the error is %v", err)
			}
			if n := asked.Load(); c.once && n != 1 || !c.once && c.want != nil && n < 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestRefusedPlaces(t *testing.T) {
	inside := httptest.NewServer(http.NotFoundHandler())
	defer inside.Close()
	c := New(Config{Patience: time.Nanosecond, Read: []string{"/tmp"}})
	for uri, want := range map[string]error{
		inside.URL: grid.ErrForbidden, "sftp://u@127.0.0.1/x": grid.ErrForbidden, "http://user:secret@host/": grid.ErrInvalid,
		"gopher://x/": grid.ErrInvalid, "": grid.ErrInvalid, "http:/x": grid.ErrInvalid, "http://": grid.ErrInvalid,
		"file:///etc/passwd": grid.ErrForbidden, "file:///tmp/../etc/passwd": grid.ErrInvalid, "file://other/tmp/x": grid.ErrInvalid,
		"file:///tmpx/y": grid.ErrForbidden, "s3://bucket": grid.ErrInvalid, "mailto:x@y": grid.ErrInvalid,
		"http://host/" + strings.Repeat("x", maxURI): grid.ErrInvalid,
	} {
		_, err := get(t, c, Place{URI: uri, Secrets: Secrets{{For: "sftp://127.0.0.1", HostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0vDmBDc1dvkDz6wmvoVHM2S5hxQzUPpHRJXlQjJsOn", Password: "x"}}})
		if !errors.Is(err, want) || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: %v", uri, err)
		}
	}
}

// What may not be kept ends at once, and with its own words.
func TestGrow(t *testing.T) {
	server := httptest.NewServer(&cutting{content: random(1 << 20)})
	defer server.Close()
	f, _ := os.Create(filepath.Join(t.TempDir(), "f"))
	defer f.Close()
	full := fmt.Errorf("%w: no space", grid.ErrUnavailable)
	var asked int64
	_, err := hasty(Config{Idle: time.Second}).Get(context.Background(), Place{URI: server.URL}, f, func(n int64) error {
		if asked += n; asked > 512<<10 {
			return full
		}
		return nil
	})
	if info, _ := f.Stat(); !errors.Is(err, full) || info.Size() > 512<<10 {
		t.Errorf("%v with %d bytes", err, info.Size())
	}
}
