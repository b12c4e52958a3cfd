package embedded_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded"
)

// What programs are given is in the spool alone while they wait, also after a new start, and reaches them. It is alone in its
// process when it measures: not parallel.
func TestWhatProgramsAreGivenIsInTheSpool(t *testing.T) {
	const n, each, perJob = 50, 64 << 10, 8 << 10
	dir := t.TempDir()
	given := func(r grid.Submission) grid.Submission {
		r.Job.Program.Arguments = []string{"-c", "echo ${#1} > $GBROKER_SITE", "sh", strings.Repeat("x", each)}
		r.Job.Program.Environment = []grid.Variable{{Name: "LONG", Value: strings.Repeat("y", each)}}
		return r
	}
	var s *embedded.System
	var all []grid.Submission
	for range n {
		all = append(all, shellJob(dir, unique(), ""))
	}
	before := heap()
	open := func() (err error) {
		s, err = smallSite(dir, quick(t), func(grid.AttemptID) {})
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	for _, j := range all {
		submit(t, s, given(j))
	}
	for _, when := range []string{"when they were handed in", "after a new start"} {
		if took := (heap() - before) / n; took > perJob {
			t.Errorf("%s a waiting job takes %d bytes", when, took)
		}
		runtime.KeepAlive(s)
		if err := open(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.KeepAlive(all)
	// It is written again and again, and is whole each time.
	for _, j := range all {
		if err := s.Hold(t.Context(), j.ID, j.Control); err != nil {
			t.Fatal(err)
		}
	}
	first := all[0]
	if err := s.Unhold(t.Context(), first.ID, first.Control); err != nil {
		t.Fatal(err)
	}
	during(t, s, func() { awaitPath(t, filepath.Join(first.Control, "end.1.0.1")) })
	if said, err := os.ReadFile(filepath.Join(first.Work, "here")); string(said) != "65536\n" {
		t.Errorf("the program was given %q, %v", said, err)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A waiting job whose file is gone from the spool is not known here any more: who handed it in does so again.
func TestAWaitingJobThatIsGoneFromTheSpool(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(string) error{
		"deleted": os.Remove,
		"torn":    func(f string) error { return os.Truncate(f, 40) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := smallSite(dir, quick(t), func(grid.AttemptID) {})
			if err != nil {
				t.Fatal(err)
			}
			j := shellJob(dir, unique(), "exit 7")
			submit(t, s, j)
			files, _ := filepath.Glob(filepath.Join(dir, "spool", "jobs", "*"))
			if len(files) != 1 {
				t.Fatalf("the spool has %v", files)
			}
			if err := harm(files[0]); err != nil {
				t.Fatal(err)
			}
			during(t, s, func() {
				awaitPhase(t, s, j, grid.Unknown)
				submit(t, s, j)
				if p, err := awaitPhase(t, s, j, grid.Ended); p.ExitCode != 7 || err != nil {
					t.Errorf("handed in again it ended %+v, %v", p, err)
				}
			})
		})
	}
}
