package stage

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// telling is a place that tells a checksum of its one file, to who has its token, and counts how often the file is taken.
type telling struct {
	mu     sync.Mutex
	file   []byte
	digest func([]byte) (string, string)
	heads  chan struct{}
	gets   map[string]int // by path
	before func()         // a file is sent
}

func (p *telling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer word" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	p.mu.Lock()
	b := p.file
	if p.digest != nil {
		w.Header().Set(p.digest(b))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if r.Method == http.MethodHead {
		p.mu.Unlock()
		p.heads <- struct{}{}
		return
	}
	p.gets[r.URL.Path]++
	p.mu.Unlock()
	if p.before != nil {
		p.before()
	}
	w.Write(b)
}

func (p *telling) taken(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.gets[path]
	p.gets[path] = 0
	return n
}

func (p *telling) tells(digest func([]byte) (string, string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.digest = digest
}

func sha(b []byte) (string, string) {
	sum := sha256.Sum256(b)
	return "Repr-Digest", "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func old(b []byte) (string, string) {
	sum := md5.Sum(b)
	return "Content-MD5", base64.StdEncoding.EncodeToString(sum[:])
}

// One that a place tells the checksum of comes once for all jobs of a user, also for those that wait for it at the same time; not for
// another user, nor for who has no right to it there, nor when it has changed, nor is damaged here, nor where nothing is told.
func TestSourcesThatAreKept(t *testing.T) {
	t.Parallel()
	p := &telling{file: random(1 << 20), digest: sha, gets: map[string]int{}, heads: make(chan struct{}, 100)}
	web := httptest.NewServer(p)
	defer web.Close()
	s := placed(t, t.TempDir(), func(c *Config) { c.Cache = 8 << 20 })
	n := 0
	bring := func(user, path, token string) error {
		p.mu.Lock()
		n++
		job := grid.Job{ID: grid.JobID(fmt.Sprintf("a.%026d", n)), User: grid.User{Home: "a", Name: user}, Sources: []grid.Source{{Path: "x", URI: web.URL + path}}}
		want := p.file
		p.mu.Unlock()
		if err := s.KeepSecrets(job.ID, []byte("- {for: '"+web.URL+"', token: "+token+"}")); err != nil {
			return err
		}
		if err := s.Bring(context.Background(), "", job); err != nil {
			return err
		}
		if err := s.Prepare(context.Background(), job, false); err != nil {
			return err
		}
		work, _ := s.Paths(job.ID)
		if got, err := os.ReadFile(filepath.Join(work, "x")); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("it has %d other bytes: %v", len(got), err)
		}
		return os.WriteFile(filepath.Join(work, "x"), []byte("spoilt"), 0o600) // it has a copy of its own
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	taken := func(what, path string, want int) {
		t.Helper()
		if got := p.taken(path); got != want {
			t.Errorf("%s: it was taken %d times, not %d", what, got, want)
		}
	}
	const jobs = 6
	waits := make(chan struct{})
	p.before = func() { <-waits }
	var all sync.WaitGroup
	for range jobs {
		all.Go(func() { must(bring("alice", "/a", "word")) })
	}
	for range jobs {
		<-p.heads
	}
	close(waits)
	all.Wait()
	taken("jobs at once", "/a", 1)
	must(bring("alice", "/b", "word"))
	taken("the same at another place", "/b", 0)
	must(bring("bob", "/a", "word"))
	taken("another user", "/a", 1)
	if err := bring("alice", "/a", "wrong"); !errors.Is(err, ErrSource) {
		t.Errorf("who has no right to it gets it: %v", err)
	}
	p.taken("/a")
	for name := range s.cache.entries {
		file := filepath.Join(s.cfg.Root, cacheDir, name)
		must(os.WriteFile(file, make([]byte, len(p.file)), 0o600))
	}
	must(bring("alice", "/a", "word"))
	taken("a damaged copy", "/a", 1)
	p.mu.Lock()
	p.file = random(1 << 20)
	p.mu.Unlock()
	must(bring("alice", "/a", "word"))
	taken("a changed file", "/a", 1)
	p.tells(old)
	must(bring("alice", "/a", "word"))
	must(bring("alice", "/a", "word"))
	taken("by MD5", "/a", 1)
	must(bring("alice", "/b", "word"))
	taken("by MD5 at another place", "/b", 1)
	p.tells(nil)
	must(bring("alice", "/a", "word"))
	must(bring("alice", "/a", "word"))
	taken("where nothing is told", "/a", 2)
	if s.cache.bytes > s.cfg.Cache || len(s.cache.coming) > 0 {
		t.Errorf("%d bytes are kept of %d, and %d come", s.cache.bytes, s.cfg.Cache, len(s.cache.coming))
	}
}

// Inputs that several jobs of a user bring from a peer at the same time come once.
func TestInputsAtOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Cache = 64 << 20 })
	m := give(t, a, map[string][]byte{"one": random(5 << 20), "two": random(5 << 20), "small": random(10)})
	alice := grid.User{Home: "a", Name: "alice"}
	var all sync.WaitGroup
	for i := range 6 {
		id := grid.JobID(fmt.Sprintf("alpha.%026d", i))
		if err := a.Share(id, job, m); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := b.Fetch(t.Context(), "a", id, Inputs, m, alice); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if came := n.read.Load(); came < 10<<20 || came > 11<<20 {
		t.Errorf("%d bytes came for six jobs with 10 MiB", came)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, err := b.cache.alone(ctx, []string{"x", "y", "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	cancel()
	if _, err := b.cache.alone(ctx, []string{"a", "y"}); !errors.Is(err, context.Canceled) || len(b.cache.coming) != 2 {
		t.Errorf("who waits does not end: %v, %d come", err, len(b.cache.coming))
	}
}

func TestSchemesThatTellChecksums(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{"https://h/x": true, "HTTP://h/x": true, "s3://b/k": true, "sftp://h/x": false, "file:///x": false, strings.Repeat("x", 9): false} {
		if transfer.TellsChecksums(uri) != want {
			t.Errorf("%s: %v", uri, !want)
		}
	}
}
