package stage

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/grid"
)

// signed is a signature that only who holds the key could make: here, who says so.
func signed(by grid.PeerID, text []byte) []byte { return append([]byte(by+" "), text...) }

func verify(by grid.PeerID, text, signature []byte) bool {
	return bytes.Equal(signature, signed(by, text))
}

func granting(user grid.User, by, holder grid.PeerID, f grid.File, until time.Time) grid.Grant {
	g := grid.Grant{Holder: holder, Content: Content(f), Until: grid.InstantOf(until)}
	g.Signature = signed(by, g.Text(user))
	return g
}

// lender is a site that has run a job which left a large and a small file, and has forgotten it; and the manifest of these.
func lender(t *testing.T, n *network, name grid.PeerID, user grid.User, text []byte, keep bool) grid.Manifest {
	t.Helper()
	s := n.site(name, func(c *Config) { c.Cache, c.Self, c.Verify = 20<<20, name, verify })
	ran := grid.Job{ID: job, User: user, Outputs: []grid.Output{{Path: "big", Target: "big"}, {Path: "small", Target: "small"}}, Sharing: grid.Sharing{Keep: keep}}
	if err := s.Prepare(t.Context(), ran, false); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("work", "big"), text, 0o644)
	write(t, s.path("work", "small"), []byte("small"), 0o644)
	m, _, err := s.Collect(t.Context(), ran)
	if err != nil || len(m) != 2 {
		t.Fatalf("it left %v (%v)", m, err)
	}
	if err := s.Discard(job); err != nil {
		t.Fatal(err)
	}
	return m
}

// What a job left at one site goes from there to the next by a grant, though its folder is gone there; without a good grant it comes from
// who offers the job, whole and right.
func TestBorrow(t *testing.T) {
	t.Parallel()
	alice := grid.User{Home: "home", Name: "alice"}
	for _, c := range []struct {
		name   string
		user   grid.User
		keep   bool
		change func(*testing.T, *network, *grid.Grant)
		why    error // why nothing is lent
	}{
		{"granted", alice, true, nil, nil},
		{"not kept", alice, false, nil, grid.ErrNotFound},
		{"run out", alice, true, func(_ *testing.T, _ *network, g *grid.Grant) {
			*g = grid.Grant{Holder: g.Holder, Content: g.Content, Until: grid.InstantOf(time.Now().Add(-time.Second))}
			g.Signature = signed("home", g.Text(alice))
		}, grid.ErrForbidden},
		{"signed by another", alice, true, func(_ *testing.T, _ *network, g *grid.Grant) { g.Signature = signed("eve", g.Text(alice)) }, grid.ErrForbidden},
		{"for another site", alice, true, func(_ *testing.T, _ *network, g *grid.Grant) {
			other := *g
			other.Holder = "elsewhere"
			g.Signature = signed("home", other.Text(alice))
		}, grid.ErrForbidden},
		{"of another user", grid.User{Home: "home", Name: "bob"}, true, nil, grid.ErrNotFound},
		{"of a user of the same name", grid.User{Home: "eve", Name: "alice"}, true, func(_ *testing.T, _ *network, g *grid.Grant) {
			g.Signature = signed("eve", g.Text(grid.User{Home: "eve", Name: "alice"}))
		}, grid.ErrNotFound},
		{"from nowhere", alice, true, func(_ *testing.T, _ *network, g *grid.Grant) {
			g.Holder = "nowhere"
			g.Signature = signed("home", g.Text(alice))
		}, grid.ErrUnavailable},
		{"damaged there", alice, true, func(t *testing.T, n *network, _ *grid.Grant) {
			s := n.sites["lender"]
			for name, e := range s.cache.entries {
				if err := os.WriteFile(filepath.Join(s.cfg.Root, cacheDir, name), make([]byte, e.size), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, grid.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			text := random(9<<20 + 5)
			m := lender(t, n, "lender", alice, text, c.keep)
			home, here := n.site("home", nil), n.site("here", nil)
			files := map[string][]byte{"big": text, "small": []byte("small")}
			for _, f := range m {
				if _, err := home.Receive(t.Context(), job, f.Path, f.Size, f.Mode, 0, bytes.NewReader(files[f.Path])); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := home.Received(job); err != nil {
				t.Fatal(err)
			}
			g := granting(c.user, "home", "lender", m[0], time.Now().Add(time.Hour))
			if c.change != nil {
				c.change(t, n, &g)
			}
			if err := here.borrow(t.Context(), job, m, c.user, []grid.Grant{g}); !errors.Is(err, c.why) {
				t.Errorf("it is not lent as %v, not %v", err, c.why)
			}
			before := n.read.Load()
			if err := here.Fetch(t.Context(), "home", job, Inputs, m, c.user); err != nil {
				t.Fatal(err)
			}
			want(t, here, Inputs, files)
			if came := n.read.Load() - before; (c.why == nil) != (came < 1000) {
				t.Errorf("%d bytes came from the home", came)
			}
		})
	}
}

// A token that is none, or asks for more than is there, or for what is damaged here, gets nothing.
func TestTokensThatAreNone(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	alice := grid.User{Home: "home", Name: "alice"}
	m := lender(t, n, "lender", alice, random(1<<20), true)
	s := n.sites["lender"]
	good := tokenOf(granting(alice, "home", "lender", m[0], time.Now().Add(time.Hour)), alice)
	ask := func(text string, kind byte, offset, length int64) error {
		f, err := s.openLent(request{kind: kind, set: lent, job: job, path: text, offset: offset, length: length})
		if err == nil {
			f.Close()
		}
		return err
	}
	plain := base64.RawURLEncoding.EncodeToString
	for name, c := range map[string]struct {
		err, want error
	}{
		"the end":          {ask(good, kindRead, 1<<20-5, 5), nil},
		"beyond":           {ask(good, kindRead, 1<<20-5, 6), grid.ErrInvalid},
		"a list":           {ask(good, kindList, 0, 0), grid.ErrInvalid},
		"no base64":        {ask("!", kindRead, 0, 1), grid.ErrInvalid},
		"base64, and more": {ask(good+"!", kindRead, 0, 1), grid.ErrInvalid},
		"no JSON":          {ask(plain([]byte("x")), kindRead, 0, 1), grid.ErrInvalid},
		"short content":    {ask(plain([]byte(`{"home":"home","content":"YQ"}`)), kindRead, 0, 1), grid.ErrInvalid},
		"long content":     {ask(plain([]byte(`{"home":"home","content":"`+base64.StdEncoding.EncodeToString(make([]byte, 33))+`"}`)), kindRead, 0, 1), grid.ErrInvalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	for name := range s.cache.entries {
		if err := os.WriteFile(filepath.Join(s.cfg.Root, cacheDir, name), []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(good, kindRead, 0, 1); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("what is torn: %v", err)
	}
	for name := range s.cache.entries {
		if err := os.Remove(filepath.Join(s.cfg.Root, cacheDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(good, kindRead, 0, 1); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("what is gone: %v", err)
	}
	s.cfg.Verify = nil
	if err := ask(good, kindRead, 0, 1); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("where nobody can tell who signed: %v", err)
	}
}

// Borrowing brings what there are grants for, touches nothing without any, keeps no room where there is none, and is never waited for longer
// than a candidate may take.
func TestBorrowIsBounded(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	alice := grid.User{Home: "home", Name: "alice"}
	text := random(1 << 20)
	m := lender(t, n, "lender", alice, text, true)
	full := n.site("full", func(c *Config) { c.Free = func() (int64, error) { return 0, nil } })
	grants := []grid.Grant{granting(alice, "home", "lender", m[0], time.Now().Add(time.Hour))}
	if err := full.borrow(t.Context(), job, m, alice, grants); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("on a full disk: %v", err)
	}
	here := n.site("here", nil)
	here.Borrow(t.Context(), job, m, alice, nil)
	if ids, err := here.Jobs(); err != nil || len(ids) > 0 {
		t.Errorf("without a grant: %v, %v", ids, err)
	}
	if err := here.borrow(t.Context(), job, grid.Manifest{m[1], m[0]}, alice, grants); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("files out of order: %v", err)
	}
	long := grants[0]
	long.Signature = make([]byte, grid.MaxPath)
	before := n.dials.Load()
	if err := here.borrow(t.Context(), job, m, alice, []grid.Grant{long}); !errors.Is(err, grid.ErrInvalid) || n.dials.Load() != before {
		t.Errorf("a grant that no request holds: %v", err)
	}
	here.Borrow(t.Context(), job, m, alice, grants)
	want(t, here, Inputs, map[string][]byte{"big": text})
	for bytes, want := range map[int64]time.Duration{0: 30 * time.Second, 9e6: 30 * time.Second, 10e6: 31 * time.Second, 1e9: 130 * time.Second, 1e12: 5 * time.Minute} {
		if got := patience(grid.Manifest{{Size: bytes / 2}, {Size: bytes - bytes/2}}); got != want {
			t.Errorf("%d bytes are waited for %v", bytes, got)
		}
	}
}
