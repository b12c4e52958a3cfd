package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// A file counts with its present size, however often it was brought; all together do not pass what a sandbox holds.
func TestBroughtCountsOnce(t *testing.T) {
	t.Parallel()
	var b brought
	for i := range 9 * grid.MaxFiles {
		if err := b.charge("state", grid.MaxSandbox/2); err != nil {
			t.Fatalf("the checkpoint is refused the %dth time: %v", i+1, err)
		}
	}
	if err := b.charge("other", grid.MaxSandbox/2+1); err == nil {
		t.Error("two files that are more than a sandbox holds are taken")
	}
	b.set(keyOf("state"), 1)
	if err := b.charge("other", grid.MaxSandbox/2+1); err != nil {
		t.Errorf("a file that has become small takes the room of another: %v", err)
	}
	if err := b.charge("state", -1); err == nil {
		t.Error("a file of no size is taken")
	}
	var many brought
	last := error(nil)
	for i := 0; i <= 8*grid.MaxFiles && last == nil; i++ {
		last = many.charge(fmt.Sprint(i), 0)
	}
	if last == nil {
		t.Error("files without number are taken")
	}
}

// Strangers leave nothing in the log, for they are without number.
func TestStrangersAreNotLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	s := &System{log: zap.New(core)}
	w := httptest.NewRecorder()
	known(s, func(*http.Request, string, struct{}) (struct{}, error) { return struct{}{}, nil })(w, httptest.NewRequest(http.MethodPost, line.ReportPath, strings.NewReader("{}")))
	if w.Code != http.StatusForbidden || logs.Len() > 0 {
		t.Errorf("a stranger is answered with %d and leaves %v", w.Code, logs.All())
	}
}

// While the end of a job is being written its computer may say it again, for that may fail; and nobody else is given the job.
func TestWhileAnEndIsWritten(t *testing.T) {
	t.Parallel()
	e := &entry{tag: "t", stint: "s", ending: true, record: record{Rerunnable: true, Control: t.TempDir()}}
	c := &computer{name: "a", jobs: map[string]*entry{"t": e}}
	e.computer = c
	s := &System{log: zap.NewNop(), known: map[grid.AttemptID]*entry{e.id: e}, computers: map[string]*computer{"a": c}}
	if err := s.ended(c, "t", line.End{Stint: "s"}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("its end, said again: %v", err)
	}
	if err := s.ended(c, "t", line.End{Stint: "another"}); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("the end of another hold: %v", err)
	}
	if s.cutOff(e, "it is silent"); e.computer != c || len(s.queue) > 0 {
		t.Error("it is started again")
	}
	if err := s.finish(e, control.End{}, grid.Usage{}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("its end is written twice: %v", err)
	}
}

// A path is taken once at a time: there is room for one.
func TestOnePathAtATime(t *testing.T) {
	t.Parallel()
	var b brought
	end, err := b.begin("out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.begin("out"); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("the same at the same time: %v", err)
	}
	end()
	if _, err := b.begin("out"); err != nil {
		t.Errorf("the same later: %v", err)
	}
}

// What lay in the place of a piece is removed when the pool goes on already: it may be a hundred thousand files.
func TestWhatLayThereIsRemovedLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "out", "deep"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "out", "deep", "file"), nil, 0o644))
	files := func(all bool) (n int) {
		must(filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if !d.IsDir() && (all || d.Name() == "file") {
				n++
			}
			return err
		}))
		return n
	}
	s, e := &System{log: zap.NewNop()}, &entry{tag: "t", record: record{Work: dir}}
	sum := sha256.Sum256(nil)
	r := httptest.NewRequest(http.MethodPut, "/", http.NoBody)
	must(s.write(e, "", piece{path: "out", mode: 0o644, sum: hex.EncodeToString(sum[:])}, r, func(appear func() error) error {
		must(appear())
		if files(false) != 1 {
			t.Error("it is removed while the pool stands still")
		}
		return nil
	}))
	if info, err := os.Stat(filepath.Join(dir, "out")); err != nil || !info.Mode().IsRegular() || files(true) != 1 {
		t.Errorf("%v, %d files: %v", info, files(true), err)
	}
}

// What was put aside, or was on its way, when the pool was killed is nothing that a job has left.
func TestWhatIsOnItsWayIsNotInTheSandbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"mine", incoming + "t.a/deep/file", incoming + "t.b"} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	e := &entry{tag: "t", record: record{Work: dir}}
	s := &System{log: zap.NewNop(), computers: map[string]*computer{"a": {name: "a", jobs: map[string]*entry{"t": e}}}}
	got, err := s.inputs("a", "t")
	if err != nil || len(got.Files) != 1 || string(got.Files[0].Path) != "mine" {
		t.Errorf("%+v, %v", got, err)
	}
}
