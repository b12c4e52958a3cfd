package stage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
)

// What a user's job has brought does not come again for his next one, whatever the program did with its
// own copy, and after a restart; for another user, when it is damaged, or the cache has no room, it does.
func TestCache(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	cached := func(c *Config) { c.Cache = 20 << 20 }
	a, b := n.site("a", nil), n.site("b", cached)
	files := map[string][]byte{"big": random(9<<20 + 17), "run.sh": random(100 << 10), "small": random(10)}
	m := give(t, a, files)
	alice, bob := grid.User{Home: "a", Name: "alice"}, grid.User{Home: "a", Name: "bob"}
	// bring fetches them for a new job, tells how many bytes came, and runs a program that writes into them.
	bring := func(user grid.User) int64 {
		t.Helper()
		before := n.read.Load()
		if err := b.Fetch(t.Context(), "a", job, Inputs, m, user); err != nil {
			t.Fatal(err)
		}
		want(t, b, Inputs, files)
		if err := b.Prepare(t.Context(), grid.Job{ID: job, Inputs: m}, false); err != nil {
			t.Fatal(err)
		}
		write(t, b.path("work", "big"), []byte("spoilt"), 0o600)
		if err := b.Discard(job); err != nil {
			t.Fatal(err)
		}
		return n.read.Load() - before
	}
	const all, none = 9 << 20, 1000
	if came := bring(alice); came < all {
		t.Errorf("%d bytes came first", came)
	}
	if came := bring(alice); came > none {
		t.Errorf("%d bytes came again", came)
	}
	if came := bring(bob); came < all {
		t.Errorf("another user's files are used: %d bytes came", came)
	}
	again := cache{}
	again.entries, b.cache.entries, b.cache.bytes = b.cache.entries, nil, 0
	if err := b.openCache(); err != nil || len(b.cache.entries) != len(again.entries) {
		t.Fatalf("after a restart %d entries of %d: %v", len(b.cache.entries), len(again.entries), err)
	}
	if came := bring(bob); came > none {
		t.Errorf("%d bytes came after a restart", came)
	}
	for name := range b.cache.entries {
		file := filepath.Join(b.cfg.Root, cacheDir, name)
		info, err := os.Stat(file)
		if err == nil {
			err = os.Chmod(file, 0o600)
		}
		if err == nil {
			err = os.WriteFile(file, make([]byte, info.Size()), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if came := bring(alice); came < all {
		t.Errorf("damaged bytes were believed: %d came", came)
	}
	if came := bring(alice); came > none {
		t.Errorf("what was mended is not kept: %d came", came)
	}
	if b.cache.bytes > b.cfg.Cache {
		t.Errorf("%d bytes are kept of %d", b.cache.bytes, b.cfg.Cache)
	}
	b.cache.mu.Lock()
	b.evict(10 << 20) // alice's was used last
	b.cache.mu.Unlock()
	if came := bring(alice); came > none {
		t.Errorf("what was used last went first: %d came", came)
	}
	if !b.emptyCache() {
		t.Error("nothing was kept")
	}
	if came := bring(alice); came < all {
		t.Errorf("%d came with an empty cache", came)
	}
}

// A candidate gets the credentials of a job by the right that it has to the inputs, as a file for it alone.
func TestCredentialsTravel(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	give(t, a, map[string][]byte{"x": random(10)})
	const text = "- for: https://host/\n  token: hidden\n"
	pull := func() (string, error) {
		root, err := b.makeFolder(job)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		err = b.pullSecrets(t.Context(), root, "a", job)
		got, bad := readSecrets(root)
		if bad != nil {
			t.Fatal(bad)
		}
		return string(got), err
	}
	if got, err := pull(); err != nil || got != "" {
		t.Errorf("where there are none: %q %v", got, err)
	}
	if err := a.KeepSecrets(job, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, err := pull(); err != nil || got != text {
		t.Errorf("%q %v", got, err)
	}
	if mode(t, b.path("ctl", "credentials")) != 0o600 {
		t.Error("others may read them")
	}
	if err := a.KeepSecrets(job, []byte("- nonsense")); err == nil {
		t.Error("nonsense is kept")
	}
}

// What is kept for other jobs makes room where files need it, and for a smaller cache after a restart; an entry whose file is gone comes again.
func TestTheCacheMakesRoom(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	const disk = 4 << 20
	var b *Stager
	a := n.site("a", nil)
	b = n.site("b", func(c *Config) { c.Cache, c.Reserve = 20<<20, 1 })
	files := map[string][]byte{"one": random(1 << 20), "two": random(1 << 20)}
	m := give(t, a, files)
	bring := func() int64 {
		t.Helper()
		before := n.read.Load()
		if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{Home: "a", Name: "alice"}); err != nil {
			t.Fatal(err)
		}
		want(t, b, Inputs, files)
		if err := b.Discard(job); err != nil {
			t.Fatal(err)
		}
		return n.read.Load() - before
	}
	bring()
	for name := range b.cache.entries {
		if err := os.Remove(filepath.Join(b.cfg.Root, cacheDir, name)); err != nil {
			t.Fatal(err)
		}
		break
	}
	if came := bring(); came < 1<<20 || came > 3<<19 {
		t.Errorf("one of two entries is gone, and %d bytes come", came)
	}
	if came := bring(); came > 1000 {
		t.Errorf("both are there again, and %d bytes come", came)
	}
	b.cfg.Free = func() (int64, error) { return disk - b.cache.bytes, nil }
	space, err := b.claim(disk - 1<<20)
	if err != nil || b.cache.bytes != 0 {
		t.Fatalf("%d bytes are kept: %v", b.cache.bytes, err)
	}
	if list, err := filepath.Glob(filepath.Join(b.cfg.Root, cacheDir, "*", "*")); err != nil || len(list) > 0 {
		t.Errorf("on the disk are %v, %v", list, err)
	}
	space.release()
	bring()
	if _, err := b.claim(disk); err == nil {
		t.Error("the reserve is given away")
	}
	b.cfg.Free = nil
	bring()
	b.cfg.Cache, b.cache.bytes = 1<<20, 0
	if err := b.openCache(); err != nil || len(b.cache.entries) != 1 {
		t.Errorf("of a cache that became smaller %d are kept, %v", len(b.cache.entries), err)
	}
}

// Credentials that are not the broker's own file are given to nobody, nor more than a peer can take; who may not have the inputs may not have
// them, and a broker that cannot get them says so.
func TestCredentialsThatAreNotOurs(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	const text = "- for: https://host/\n  token: hidden\n"
	a := n.site("a", func(c *Config) {
		c.Authorize = func(p grid.PeerID, _ grid.JobID, set Set) (Grant, error) {
			if p != "b" || set != Inputs {
				return Grant{}, grid.ErrForbidden
			}
			return Grant{}, nil
		}
	})
	b, c := n.site("b", nil), n.site("c", nil)
	if err := a.KeepSecrets(job, []byte(text)); err != nil {
		t.Fatal(err)
	}
	pull := func(s *Stager, from grid.PeerID) error {
		root, err := s.makeFolder(job)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		return s.pullSecrets(t.Context(), root, from, job)
	}
	if err := pull(c, "a"); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("a stranger: %v", err)
	}
	if err := pull(b, "nowhere"); err == nil {
		t.Error("they came from nowhere")
	}
	if err := pull(b, "a"); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir() + "/other"
	write(t, other, []byte(text), 0o600)
	for name, put := range map[string]func() error{
		"a link":       func() error { return os.Symlink(other, a.path("ctl", "credentials")) },
		"another name": func() error { return os.Link(other, a.path("ctl", "credentials")) },
		"too long":     func() error { return os.WriteFile(a.path("ctl", "credentials"), make([]byte, 1<<20), 0o600) },
	} {
		if err := errors.Join(os.Remove(a.path("ctl", "credentials")), put()); err != nil {
			t.Fatal(err)
		}
		if err := pull(b, "a"); err == nil {
			t.Errorf("%s: given", name)
		}
		if got, err := b.secretsText(job); err != nil || string(got) != text {
			t.Errorf("%s: what was there is %q, %v", name, got, err)
		}
	}
	if err := errors.Join(os.Remove(a.path("ctl", "credentials")), pull(b, "a")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.secretsText(job); err != nil || got != nil {
		t.Errorf("when the peer has none any more there is %q, %v", got, err)
	}
	if err := c.End("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW"); err != nil {
		t.Errorf("the end of a job without a folder: %v", err)
	}
}

// What a job has used since goes last, though it came first.
func TestTheCacheKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Cache = 5 << 19 })
	alice := grid.User{Home: "a", Name: "alice"}
	files := map[string][]byte{"1": random(1 << 20), "2": random(1 << 20), "3": random(1 << 20)}
	m := give(t, a, files)
	fetch := func(f grid.File) int64 {
		t.Helper()
		before := n.read.Load()
		if err := b.Fetch(t.Context(), "a", job, Inputs, grid.Manifest{f}, alice); err != nil {
			t.Fatal(err)
		}
		if err := b.Discard(job); err != nil {
			t.Fatal(err)
		}
		return n.read.Load() - before
	}
	fetch(m[0])
	fetch(m[1])
	root, err := b.makeFolder(job)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := b.recall(root, job, alice, m[:1]); err != nil { // the first is used, by a job that ends before it has all
		t.Fatal(err)
	}
	if err := b.Discard(job); err != nil {
		t.Fatal(err)
	}
	fetch(m[2])
	if came := fetch(m[0]); came > 1000 {
		t.Errorf("what was used last went first: %d bytes came", came)
	}
}
