package stage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// A line of a ledger that is torn, or that no ledger has, ends what is believed of it.
func TestWhatALedgerIsBelieved(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	good := `{"path":"a","size":1,"ranges":["` + hash + `"]}` + "\n"
	for name, c := range map[string]struct {
		text  string
		files int
		whole bool
	}{
		"whole": {good + `{"sealed":true}` + "\n", 1, true}, "not sealed": {good, 1, false}, "torn seal": {good + `{"sealed":true}`, 1, false},
		"no JSON": {good + "x\n" + strings.Replace(good, "a", "b", 1), 1, false}, "a hash that is none": {strings.Replace(good, hash, "zz", 1), 0, false},
		"a short hash": {strings.Replace(good, hash, hash[2:], 1), 0, false}, "a path that leads out": {strings.Replace(good, `"a"`, `"../a"`, 1), 0, false},
		"more after a seal":  {good + `{"sealed":true}` + "\n" + strings.Replace(good, `"a"`, `"b"`, 1), 2, false},
		"the last line wins": {good + strings.Replace(good, `"size":1`, `"size":2`, 1), 1, false},
	} {
		s := newNetwork(t).site("a", nil)
		if err := s.MakeFolder(job); err != nil {
			t.Fatal(err)
		}
		write(t, s.path("in.log"), []byte(c.text), 0o600)
		root, err := s.folder(job)
		if err != nil {
			t.Fatal(err)
		}
		l, err := readLedger(root, Inputs)
		root.Close()
		if err != nil || len(l.files) != c.files || l.whole != c.whole {
			t.Errorf("%s: %+v, %v", name, l, err)
			continue
		}
		if name == "the last line wins" && l.files["a"].Size != 2 {
			t.Errorf("%s: %d bytes", name, l.files["a"].Size)
		}
		if name == "more after a seal" && (!l.sealed["a"] || l.sealed["b"]) {
			t.Errorf("%s: sealed are %v", name, l.sealed)
		}
	}
}

// An input that is not what it was is not given to the program, as a copy or moved, and no disk is filled with copies.
func TestPrepareTakesNoOtherInput(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{true, false} {
		s := newNetwork(t).site("a", nil)
		m := give(t, s, map[string][]byte{"d/in": []byte("right")})
		j := grid.Job{ID: job, Inputs: m}
		write(t, s.path("in", "d/in"), []byte("longer than that"), 0o600)
		if err := s.Prepare(t.Context(), j, keep); err == nil || !strings.Contains(err.Error(), "16 bytes instead of 5") {
			t.Errorf("keep %t: of another length: %v", keep, err)
		}
		write(t, s.path("in", "d/in"), []byte("right"), 0o600)
		j.Inputs = grid.Manifest{m[0], m[0]}
		if err := s.Prepare(t.Context(), j, keep); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("keep %t: twice: %v", keep, err)
		}
		s.cfg.MaxBytes, j.Inputs = 4, m
		if err := s.Prepare(t.Context(), j, keep); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("keep %t: more than a job may have: %v", keep, err)
		}
		s.cfg.MaxBytes = 5
		free := s.cfg.Free
		s.cfg.Free, s.cfg.Reserve = func() (int64, error) { return 4, nil }, 0
		if err := s.Prepare(t.Context(), j, keep); (err != nil) != keep || keep && !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("keep %t: on a full disk: %v", keep, err)
		}
		broken := errors.New("input/output error")
		s.cfg.Free = func() (int64, error) { return 0, broken }
		if err := s.Prepare(t.Context(), j, keep); keep && !errors.Is(err, broken) {
			t.Errorf("on a disk whose room is not known: %v", err)
		}
		s.cfg.Free = free
		if err := s.Prepare(t.Context(), j, keep); err != nil {
			t.Error(err)
		}
		want(t, s, Work, map[string][]byte{"d/in": []byte("right")})
	}
}

// An input that stands at its place in work/ under another name too, which a program may have linked there, keeps its mode: it may be anybody's.
func TestPrepareLeavesTheModeOfWhatIsLinked(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	m := give(t, s, map[string][]byte{"run.sh": random(5)})
	j := grid.Job{ID: job, Inputs: m}
	if err := s.Prepare(t.Context(), j, false); err != nil {
		t.Fatal(err)
	}
	outside := s.path("outside")
	write(t, outside, random(5), 0o600)
	if err := errors.Join(os.Remove(s.path("work", "run.sh")), os.Link(outside, s.path("work", "run.sh")), os.Remove(s.path(marker))); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context(), j, false); err != nil {
		t.Fatal(err)
	}
	if got := mode(t, outside); got != 0o600 {
		t.Errorf("what is linked has the mode %v", got)
	}
}

// A working directory in whose way a file stands is the user's mistake.
func TestAWorkingDirectoryInTheWay(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	m := give(t, s, map[string][]byte{"d": random(5)})
	if err := s.Prepare(t.Context(), grid.Job{ID: job, Inputs: m, Program: grid.Program{Directory: "d"}}, true); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("prepared: %v", err)
	}
}

// A file is received by one at a time, and who only asks how far it has come makes nothing.
func TestReceiveOneAtATime(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	if n, err := s.Begun(job, "x"); n != 0 || err != nil {
		t.Errorf("of a job without files %d bytes have come, %v", n, err)
	}
	if ids, err := s.Jobs(); err != nil || len(ids) > 0 {
		t.Errorf("folders: %v, %v", ids, err)
	}
	if _, err := s.Begun(job, "../x"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("of a path that leads out: %v", err)
	}
	r, w := io.Pipe()
	first := make(chan error, 1)
	go func() {
		_, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, r)
		first <- err
	}()
	io.WriteString(w, "12") // it is under way
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, strings.NewReader("abcd")); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time at once: %v", err)
	}
	if _, err := s.Receive(t.Context(), job, "y", 4, 0o600, 0, strings.NewReader("abcd")); err != nil {
		t.Errorf("another file at once: %v", err)
	}
	if m, err := s.Received(job); len(m) != 1 || err != nil {
		t.Errorf("so far there are %v, %v", m, err)
	}
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, strings.NewReader("abcd")); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time, after all were listed: %v", err)
	}
	io.WriteString(w, "34")
	w.Close()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	want(t, s, Inputs, map[string][]byte{"x": []byte("1234"), "y": []byte("abcd")})
	if n, err := s.Begun(job, "x"); n != 0 || err != nil {
		t.Errorf("of a file that is whole %d bytes have come, %v", n, err)
	}
	hung := errors.New("the user hung up")
	if _, err := s.Receive(t.Context(), job, "z", 4, 0o600, 0, io.MultiReader(strings.NewReader("1234"), failing{hung})); !errors.Is(err, hung) {
		t.Errorf("one whose end is not known: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A job has so many files and no more; one that is sent again is not one more.
func TestReceiveSoManyFiles(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	give(t, s, map[string][]byte{"x": random(5)})
	root, err := s.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, leave := s.hold(job)
	defer leave()
	if err := d.load(root); err != nil {
		t.Fatal(err)
	}
	for i := range grid.MaxFiles - 1 {
		d.uploads.ledger.files[strings.Repeat("x", 2+i%100)+time.Duration(i).String()] = grid.File{}
	}
	if err := s.admit(d, root, "y", 0, 1); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one more of %d: %v", len(d.uploads.ledger.files), err)
	}
	if err := s.admit(d, root, "x", 0, 1); err != nil {
		t.Errorf("one again: %v", err)
	}
}

// What was collected is read in parts, and none beyond its end.
func TestReadOutput(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("out", "x"), []byte("0123456789"), 0o600)
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 3, "012"}, {8, 5, "89"}, {10, 5, ""}, {1 << 40, 5, ""}, {0, 100, "0123456789"}} {
		if got, err := s.ReadOutput(job, "x", c.offset, c.length); err != nil || string(got) != c.want {
			t.Errorf("%d bytes at %d: %q, %v", c.length, c.offset, got, err)
		}
	}
	if _, err := s.ReadOutput(job, "y", 0, 1); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	if _, _, _, err := s.Open(job, Outputs, "../in.log"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a path that leads out: %v", err)
	}
	if _, _, _, err := s.Open(job, credentials, "credentials"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("credentials as a file: %v", err)
	}
}

// A file that its program still writes ends where it ended when it was opened.
func TestOpenLive(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "x", Target: "got/x"}}}
	write(t, s.path("work", "x"), []byte("first"), 0o640)
	r, size, mode, err := s.OpenLive(j, "got/x")
	if err != nil || size != 5 || mode != 0o640 {
		t.Fatal(size, mode, err)
	}
	write(t, s.path("work", "x"), []byte("first and more"), 0o640)
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(text) != "first" {
		t.Errorf("it is %q, %v", text, err)
	}
	for _, target := range []string{"x", "got/y"} {
		if _, _, _, err := s.OpenLive(j, target); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, _, err := s.Collect(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadLive(j, "got/x", 6, 3); err != nil || string(got) != "and" {
		t.Errorf("once it was collected it reads %q, %v", got, err)
	}
}

// What a Stager cannot work with is said when it is made; where it lists jobs and space it does so without what is not theirs.
func TestNew(t *testing.T) {
	t.Parallel()
	all := func(grid.PeerID, grid.JobID, Set) (Grant, error) { return Grant{}, nil }
	file := t.TempDir() + "/file"
	write(t, file, nil, 0o600)
	for name, c := range map[string]Config{
		"nobody to ask": {Root: t.TempDir()}, "no root": {Authorize: all}, "a file as root": {Authorize: all, Root: file}, "below a file": {Authorize: all, Root: file + "/x"},
	} {
		if s, err := New(c); err == nil {
			s.Close()
			t.Errorf("%s: made", name)
		}
	}
	root := t.TempDir() + "/made"
	s, err := New(Config{Root: root, Authorize: all, Passable: true, Reserve: 10, Free: func() (int64, error) { return 30, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := []grid.JobID{job, "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", "beta.01ARZ3NDEKTSV4RRFFQ69G5FAV"}
	for i := range ids {
		if err := s.MakeFolder(ids[len(ids)-1-i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(root+"/lost+found", 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Jobs(); err != nil || !reflect.DeepEqual(got, ids) {
		t.Errorf("jobs: %v, %v", got, err)
	}
	if mode(t, root) != os.ModeDir|0o711 || mode(t, s.path()) != os.ModeDir|0o711 || mode(t, s.path("in")) != os.ModeDir|0o700 {
		t.Errorf("modes %v, %v, %v", mode(t, root), mode(t, s.path()), mode(t, s.path("in")))
	}
	if n, err := s.Space(); n != 20 || err != nil {
		t.Errorf("%d bytes are free, %v", n, err)
	}
	s.cfg.Reserve = 40
	if n, err := s.Space(); n != 0 || err != nil {
		t.Errorf("%d bytes are free, %v", n, err)
	}
	if sums, size, err := Hash(bytes.NewReader(make([]byte, grid.RangeSize+1))); err != nil || len(sums) != 2 || size != grid.RangeSize+1 {
		t.Errorf("%d ranges of %d bytes, %v", len(sums), size, err)
	}
}
