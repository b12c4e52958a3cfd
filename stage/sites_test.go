package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
)

const job grid.JobID = "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAV"

// network connects Stagers by name; between wraps the dialled end, if set.
type network struct {
	t       testing.TB
	mu      sync.Mutex
	sites   map[grid.PeerID]*Stager
	between func(net.Conn) net.Conn
	read    atomic.Int64 // bytes that dialling sides read
	dials   atomic.Int64
	wg      sync.WaitGroup
}

type port struct {
	n    *network
	self grid.PeerID
}

func (p port) Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	p.n.dials.Add(1)
	p.n.mu.Lock()
	s, between := p.n.sites[to], p.n.between
	p.n.mu.Unlock()
	if s == nil || protocol != Protocol {
		return nil, fmt.Errorf("no way to %s", to)
	}
	a, b := net.Pipe()
	p.n.wg.Go(func() { s.Serve(p.self, b) })
	a = counting{a, &p.n.read}
	if between != nil {
		a = between(a)
	}
	return a, nil
}

type counting struct {
	net.Conn
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func newNetwork(t testing.TB) *network {
	n := &network{t: t, sites: map[grid.PeerID]*Stager{}}
	t.Cleanup(n.wg.Wait)
	return n
}

// site adds a Stager that lets everybody have what is on disk by its ledgers.
func (n *network) site(name grid.PeerID, change func(*Config)) *Stager {
	n.t.Helper()
	cfg := Config{Root: n.t.TempDir(), Dialer: port{n, name}}
	var s *Stager
	var granted sync.Map // by set and state of the ledger: a broker has the manifest at hand
	cfg.Authorize = func(_ grid.PeerID, id grid.JobID, set Set) (Grant, error) {
		root, err := s.folder(id)
		if err != nil {
			return Grant{}, err
		}
		defer root.Close()
		info, err := root.Lstat(set.ledger())
		if err != nil {
			return Grant{}, kindOf(err)
		}
		key := fmt.Sprint(set, info.Size(), info.ModTime())
		if g, ok := granted.Load(key); ok {
			return g.(Grant), nil
		}
		l, err := readLedger(root, set)
		if err != nil {
			return Grant{}, err
		}
		g := Grant{Files: l.manifest()}
		granted.Store(key, g)
		return g, nil
	}
	if change != nil {
		change(&cfg)
	}
	s = n.open(name, cfg)
	return s
}

func (n *network) open(name grid.PeerID, cfg Config) *Stager {
	n.t.Helper()
	s, err := New(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	s.backoff = time.Millisecond
	n.t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.claimed != 0 {
			n.t.Errorf("%s: nothing is under way, and %d bytes are kept for it", name, s.claimed)
		}
		s.Close()
	})
	n.mu.Lock()
	n.sites[name] = s
	n.mu.Unlock()
	return s
}

// random is n bytes that no other call gives.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(seed.Add(1))}).Read(b)
	return b
}

var seed atomic.Int64

// give receives files as inputs and returns their manifest.
func give(t testing.TB, s *Stager, files map[string][]byte) grid.Manifest {
	t.Helper()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		mode := uint32(0o640)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if _, err := s.Receive(t.Context(), job, name, int64(len(files[name])), mode, 0, bytes.NewReader(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.Received(job)
	if err != nil {
		t.Fatal(err)
	}
	if len(m) != len(files) {
		t.Fatalf("received %d files, want %d", len(m), len(files))
	}
	return m
}

// want compares a set with files.
func want(t testing.TB, s *Stager, set Set, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		r, size, _, err := s.Open(job, set, name)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || size != int64(len(data)) || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes (size %d, %v), want %d, equal: %v", name, len(got), size, err, len(data), bytes.Equal(got, data))
		}
	}
}

func (s *Stager) path(parts ...string) string {
	return filepath.Join(append([]string{s.cfg.Root, string(job)}, parts...)...)
}

func write(t testing.TB, name string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func mode(t testing.TB, name string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
