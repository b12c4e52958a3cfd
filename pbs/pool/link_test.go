package pool

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"gbroker/pbs/pool/line"
)

// newTaker gives a function that takes pieces of a job into a sandbox, which has a secret beside it.
func newTaker(t *testing.T) (dir string, take func(piece) error) {
	dir = filepath.Join(t.TempDir(), "sandbox")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, e := &System{log: zap.NewNop()}, &entry{tag: "t", record: record{Work: dir}}
	return dir, func(p piece) error {
		p.mode = 0o755
		r := httptest.NewRequest(http.MethodPut, "/", http.NoBody)
		return s.write(e, "", p, r, func(appear func() error) error { return appear() })
	}
}

// A link that is refused is not made: behind a link it would lead out of the sandbox.
func TestLinkBehindALink(t *testing.T) {
	t.Parallel()
	dir, take := newTaker(t)
	for _, p := range []piece{{path: "a/b", folder: true}, {path: "a/b/d", link: "../.."}} {
		if err := take(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(piece{path: "a/b/d/x", link: "../secret"}); !errors.Is(err, line.ErrLimit) {
		t.Errorf("a link behind a link: %v", err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "x")); err == nil {
		t.Errorf("a link that was refused lies there, and leads to %s", to)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "x")); err == nil {
		t.Errorf("by a link in the sandbox one reads %q", data)
	}
}

// A piece that cannot appear leaves what lay in its place as it was.
func TestWhatCannotAppearMovesNothing(t *testing.T) {
	t.Parallel()
	dir, take := newTaker(t)
	for _, p := range []piece{{path: "a/b", folder: true}, {path: "a/b/d", link: "../.."}, {path: "a/x/mine", folder: true}} {
		if err := take(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(piece{path: "a/b/d/a/x", link: "b"}); !errors.Is(err, line.ErrLimit) {
		t.Errorf("a link behind a link: %v", err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "a/x/mine")); err != nil || !info.IsDir() {
		t.Errorf("a folder made way for a link that was refused: %v", err)
	}
}

// A link that goes up from behind a folder leads to the same as before; it never leads out, though a link takes the folder's place.
func TestLinkOverAFolder(t *testing.T) {
	t.Parallel()
	dir, take := newTaker(t)
	for _, p := range []piece{{path: "a/rel", folder: true}, {path: "a/cur", link: "rel/../data"}, {path: "a/data", folder: true}} {
		if err := take(p); err != nil {
			t.Fatal(err)
		}
	}
	if end, err := filepath.EvalSymlinks(filepath.Join(dir, "a/cur")); err != nil || end != filepath.Join(dir, "a/data") {
		t.Errorf("it leads to %s: %v", end, err)
	}
	for _, p := range []piece{{path: "b/rel", folder: true}, {path: "b/cur", link: "rel/../../secret"}, {path: "b/rel", link: ".."}} {
		if err := take(p); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "b/cur")); err == nil {
		t.Errorf("by a link in the sandbox one reads %q", data)
	}
	for _, to := range []string{"../../secret", "rel/../../../secret", "/etc"} {
		if err := take(piece{path: "b/out", link: to}); !errors.Is(err, line.ErrLimit) {
			t.Errorf("a link to %q: %v", to, err)
		}
	}
}
