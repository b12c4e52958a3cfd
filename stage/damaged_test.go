package stage

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// uses are all ways to use the folder of a job; each gives its error.
func uses(s *Stager, m grid.Manifest) map[string]func(ctx context.Context) error {
	j := grid.Job{ID: job, Inputs: m, Outputs: []grid.Output{{Path: "out", Target: "out"}}}
	return map[string]func(ctx context.Context) error{
		"Prepare":    func(ctx context.Context) error { return s.Prepare(ctx, j, true) },
		"MakeFolder": func(context.Context) error { return s.MakeFolder(job) },
		"Collect":    func(ctx context.Context) error { _, _, err := s.Collect(ctx, j); return err },
		"Fetch":      func(ctx context.Context) error { return s.Fetch(ctx, "b", job, Inputs, m, grid.User{}) },
		"borrow":     func(ctx context.Context) error { return s.borrow(ctx, job, m, grid.User{}, nil) },
		"Bring": func(ctx context.Context) error {
			return s.Bring(ctx, "", grid.Job{ID: job, Sources: []grid.Source{{Path: "x", URI: "file:///x"}}})
		},
		"Export":      func(ctx context.Context) error { _, _, err := s.Export(ctx, j, m, nil); return err },
		"Lend":        func(ctx context.Context) error { return s.Lend(ctx, job, "root") },
		"Received":    func(context.Context) error { _, err := s.Received(job); return err },
		"Begun":       func(context.Context) error { _, err := s.Begun(job, "in"); return err },
		"KeepSecrets": func(context.Context) error { return s.KeepSecrets(job, nil) },
		"secrets":     func(context.Context) error { _, err := s.secretsText(job); return err },
		"End":         func(context.Context) error { return s.End(job) },
		"HasInputs":   func(context.Context) error { return s.HasInputs(job, m) },
		"Live":        func(context.Context) error { _, err := s.Live(j); return err },
		"ReadLive":    func(context.Context) error { _, err := s.ReadLive(j, "out", 0, 1); return err },
		"Share":       func(context.Context) error { return s.Share(job, "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", m) },
		"Share from":  func(context.Context) error { return s.Share("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", job, m) },
		"SetAside":    func(context.Context) error { _, err := s.SetAside(job, true, time.Now()); return err },
		"Discard":     func(context.Context) error { return s.Discard(job) },
		"Receive": func(ctx context.Context) error {
			_, err := s.Receive(ctx, job, "new", 3, 0o600, 0, strings.NewReader("new"))
			return err
		},
	}
}

// A job's folder in whose place something else stands is an error for all who use it, and what stands there stays.
func TestNoFolderWhereOneShouldBe(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", func(c *Config) { c.Places, c.As = placed(t, t.TempDir(), nil).cfg.Places, (&account{}).as })
	m := give(t, s, map[string][]byte{"in": random(3)})
	if err := s.Share("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", job, m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Discard(job), s.Discard("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", Inputs)); err != nil {
		t.Fatal(err)
	}
	write(t, s.path(), []byte("no folder"), 0o600)
	for name, use := range uses(s, m) {
		if err := use(t.Context()); err == nil || errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(s.path()); string(text) != "no folder" || err != nil {
		t.Errorf("what stood there is %q, %v", text, err)
	}
}

// Of a name that is no job's nothing is made.
func TestNoFolderOfWhatIsNoJob(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	for _, id := range []grid.JobID{"../x", "", "x"} {
		if _, err := s.Receive(t.Context(), id, "in", 0, 0o600, 0, strings.NewReader("")); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if err := s.Prepare(t.Context(), grid.Job{ID: id}, true); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if list, err := os.ReadDir(s.cfg.Root); err != nil || len(list) > 0 {
		t.Errorf("made: %v, %v", list, err)
	}
}

// A record of a job that cannot be read is an error, and no empty record: nothing is looked for, brought or thrown away by it.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for record, users := range map[string][]string{
		"in.log":          {"Received", "Receive", "Fetch", "borrow", "Share from"},
		"out.log":         {"Collect"},
		tenancy:           {"Collect", "Lend"},
		foundList:         {"Collect"},
		"ctl/credentials": {"secrets"},
	} {
		s := newNetwork(t).site("a", func(c *Config) { c.Places = placed(t, t.TempDir(), nil).cfg.Places })
		m := give(t, s, map[string][]byte{"in": random(3)})
		write(t, s.path("work", "out"), []byte("out"), 0o600)
		if err := os.RemoveAll(s.path(record)); err != nil {
			t.Fatal(err)
		}
		write(t, s.path(record, "in the way"), nil, 0o600)
		for _, name := range users {
			use := uses(s, m)[name]
			if record == foundList {
				use = func(ctx context.Context) error {
					_, _, err := s.Collect(ctx, grid.Job{ID: job, Bring: []grid.Bring{grid.Everything}})
					return err
				}
			}
			if err := use(t.Context()); err == nil {
				t.Errorf("%s without %s: no error", name, record)
			}
		}
		if _, err := os.Stat(s.path("in", "in")); err != nil {
			t.Errorf("without %s: %v", record, err)
		}
		if _, err := os.Stat(s.path("work", "out")); err != nil {
			t.Errorf("without %s: %v", record, err)
		}
	}
}

// A list of what was found that is torn is an error: another look might find other files, after some of the first are taken.
func TestATornListOfWhatWasFound(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("work", "x"), nil, 0o600)
	write(t, s.path(foundList), []byte(`{"Paths":["x"`), 0o600)
	if _, _, err := s.Collect(t.Context(), grid.Job{ID: job, Bring: []grid.Bring{grid.Everything}}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("collected: %v", err)
	}
}

// Who waits for the files of a job while others use them ends with his patience, and has changed nothing.
func TestWhoWaitsForFilesInUseEnds(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", func(c *Config) { c.Places, c.As = placed(t, t.TempDir(), nil).cfg.Places, (&account{}).as })
	m := give(t, s, map[string][]byte{"in": random(3)})
	_, end, err := s.begin(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := cancelled(t)
	defer cancel()
	for _, name := range []string{"Prepare", "Collect", "Fetch", "borrow", "Bring", "Export", "Lend"} {
		if err := uses(s, m)[name](ctx); err == nil || !strings.Contains(err.Error(), "which are in use") {
			t.Errorf("%s: %v", name, err)
		}
	}
	end()
	if err := s.Prepare(t.Context(), grid.Job{ID: job, Inputs: m}, true); err != nil {
		t.Errorf("when they are free: %v", err)
	}
	if len(s.jobs) > 0 {
		t.Errorf("%d desks are left", len(s.jobs))
	}
}

// What has been given up does no more work with files.
func TestWhatIsGivenUpStops(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	m := give(t, s, map[string][]byte{"in": random(3)})
	write(t, s.path("work", "out"), []byte("out"), 0o600)
	ctx, cancel := cancelled(t)
	defer cancel()
	if _, err := s.Receive(ctx, job, "new", 3, 0o600, 0, strings.NewReader("new")); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive: %v", err)
	}
	root, err := s.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := s.copyInputs(ctx, root, grid.Job{ID: job, Inputs: m}); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare: %v", err)
	}
	if err := s.placeSources(ctx, root, grid.Job{ID: job, Sources: []grid.Source{{Path: "x"}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare of what came by URI: %v", err)
	}
	if _, err := s.hashFile(ctx, strings.NewReader("out"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("hashing: %v", err)
	}
}

func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// A file that is shorter than it was, or cannot be read, has no hash.
func TestNoHashOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	if sums, err := s.hashFile(t.Context(), strings.NewReader("12"), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, %v", sums, err)
	}
	broken := errors.New("input/output error")
	if sums, err := s.hashFile(t.Context(), bad{broken}, 3); !errors.Is(err, broken) {
		t.Errorf("%v, %v", sums, err)
	}
	if good, err := s.goodRanges(t.Context(), strings.NewReader("12"), grid.File{Size: 3, Ranges: make([]grid.Hash, 1)}); err != nil || good[0] {
		t.Errorf("%v, %v", good, err)
	}
}

type bad struct{ err error }

func (b bad) ReadAt([]byte, int64) (int, error) { return 0, b.err }
