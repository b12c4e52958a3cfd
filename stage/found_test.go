package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// What a job made or changed comes back by patterns: no input that is as it came, nothing behind a link that leads out,
// no pipe, nothing hidden. Collected again after anything it is the same.
func TestCollectByPattern(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Program: grid.Program{Directory: "d"}, Outputs: []grid.Output{{Path: "d/stdout", Target: "stdout"}},
		Bring: []grid.Bring{{Pattern: "**"}, {Pattern: ".rc"}, {Pattern: "no/*.such"}}}
	for _, in := range []string{"script", "same", "changed", "longer"} {
		write(t, s.path("in", "d", in), []byte(in), 0o600)
		j.Inputs = append(j.Inputs, grid.File{Path: "d/" + in, Size: int64(len(in)), Mode: 0o600, Ranges: make([]grid.Hash, 1)})
	}
	slices.SortFunc(j.Inputs, func(a, b grid.File) int { return strings.Compare(a.Path, b.Path) })
	if err := s.Prepare(t.Context(), j, true); err != nil {
		t.Fatal(err)
	}
	work := func(name string) string { return s.path("work", "d", name) }
	for name, text := range map[string]string{"stdout": "out", "made": "made", "deep/er/made": "deep", ".rc": "rc", ".hidden": "no", "changed": "CHANGED", "longer": "longer than it was", "../above": "no"} {
		write(t, work(name), []byte(text), 0o600)
	}
	if err := errors.Join(os.Chtimes(work("changed"), time.Now(), time.Now().Add(time.Minute)), os.Chtimes(work("longer"), time.Now(), time.Unix(1, 0)),
		os.Symlink("/etc/passwd", work("outside")), os.Symlink("made", work("inside")), os.Symlink("/etc", work("folder")), os.Symlink("deep", work("loop")), unix.Mkfifo(work("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	free := s.cfg.Free
	s.cfg.Free = func() (int64, error) { return 0, nil }
	if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
		t.Fatalf("collected without room for what is behind a link: %v", err)
	}
	s.cfg.Free = free
	write(t, work("late"), nil, 0o600) // after the look
	for range 2 {
		_, missing, err := s.Collect(t.Context(), j)
		if err != nil || len(missing) != 1 || missing[0].Path != "no/*.such" {
			t.Fatalf("missing %v, %v", missing, err)
		}
		want(t, s, Outputs, map[string][]byte{"stdout": []byte("out"), "made": []byte("made"), "inside": []byte("made"), "deep/er/made": []byte("deep"),
			".rc": []byte("rc"), "changed": []byte("CHANGED"), "longer": []byte("longer than it was")})
	}
}

// What is too much stays behind and is told, in the order of the paths.
func TestCollectByPatternIsBounded(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Bring: []grid.Bring{{Pattern: "*.dat", Bytes: 25}, {Pattern: "c*"}}}
	for i, name := range []string{"a.dat", "b.dat", "c.dat", "d.dat", "e"} {
		write(t, s.path("work", name), []byte(fmt.Sprintf("%010d", i)), 0o600)
	}
	_, missing, err := s.Collect(t.Context(), j)
	if err != nil || len(missing) != 1 || missing[0].Path != "*.dat" || !strings.Contains(missing[0].Why, "1 files of 10 bytes") {
		t.Errorf("missing %v, %v", missing, err)
	}
	want(t, s, Outputs, map[string][]byte{"a.dat": []byte("0000000000"), "b.dat": []byte("0000000001"), "c.dat": []byte("0000000002")})
	if _, err := os.Stat(s.path("work", "d.dat")); err != nil {
		t.Error("what stays behind is gone")
	}
}

// A run that is begun anew is looked through anew.
func TestFoundIsOfOneRun(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Bring: []grid.Bring{grid.Everything}}
	for _, name := range []string{"first", "second"} {
		write(t, s.path("work", name), []byte(name), 0o600)
		if _, _, err := s.Collect(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		want(t, s, Outputs, map[string][]byte{name: []byte(name)})
		if err := s.Discard(job, Work, Outputs); err != nil {
			t.Fatal(err)
		}
	}
}

// An input by URI that nobody has touched is not brought back, one that was is; nor is what would stand where outputs lie that go elsewhere.
// A pattern whose files come by their names, or by another, brought something.
func TestFoundBesideOthers(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Program: grid.Program{Directory: "d"}, Sources: []grid.Source{{Path: "d/same"}, {Path: "d/changed"}},
		Outputs: []grid.Output{{Path: "d/named.log", Target: "named.log"}}, Bring: []grid.Bring{grid.Everything, {Pattern: "*.log"}, {Pattern: "made*"}}}
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same", "changed", "made", "named.log", grid.ElsewhereDir + "/x", "named.log2"} {
		write(t, s.path("work", "d", name), []byte(name), 0o600)
	}
	write(t, s.path(marker), nil, 0o600)
	at := time.Now().Add(time.Hour)
	before := at.Add(-time.Minute)
	if err := errors.Join(os.Chtimes(s.path(marker), at, at), os.Chtimes(s.path("work", "d", "changed"), at, at.Add(time.Minute)), os.Chtimes(s.path("work", "d", "same"), before, before)); err != nil {
		t.Fatal(err)
	}
	m, missing, err := s.Collect(t.Context(), j)
	var names []string
	for _, f := range m {
		names = append(names, f.Path)
	}
	if err != nil || len(missing) > 0 || strings.Join(names, " ") != "changed made named.log named.log2" {
		t.Errorf("%v come, missing %v, %v", names, missing, err)
	}
}

// What was found stays found when the inputs go: Collect gives the same again after a crash.
func TestFoundStaysWhenInputsGo(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("work", "made"), []byte("made"), 0o600)
	write(t, s.path(foundList), []byte(`{"Paths":["made"],"Left":[{"Path":"*.dat","Why":"too many"}]}`), 0o600)
	if err := s.Discard(job, Inputs); err != nil {
		t.Fatal(err)
	}
	if m, missing, err := s.Collect(t.Context(), grid.Job{ID: job, Bring: []grid.Bring{grid.Everything}}); err != nil || len(m) != 1 || len(missing) != 1 {
		t.Errorf("%v, missing %v, %v", m, missing, err)
	}
}
