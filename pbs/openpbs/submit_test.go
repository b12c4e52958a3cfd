package openpbs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// A whole order as it is handed over.
func TestSubmission(t *testing.T) {
	t.Parallel()
	o := order()
	o.Demand = grid.Demand{
		Chunks: []grid.Chunk{
			{Count: 2, Processes: 4, Cores: 8, Memory: 1<<30 + 1, Resources: []grid.Resource{{Name: "gpu", Amount: 2}, {Name: "fpga", Amount: 1}}},
			{Count: 1, Processes: 1, Cores: 1},
		},
		Properties: []string{"bigmem", "host:n01"}, Exclusive: true,
	}
	o.Queue, o.Account, o.Held, o.Rerunnable, o.Limit, o.As = "long", "my project", true, true, grid.Hour+1, "alice"
	call, err := plain(t).submission(o)
	want := []string{
		"-N", "gabcdefghijklmn",
		"-l", "select=2:ncpus=8:mpiprocs=4:mem=1048577kb:ngpus=2:fpga=1:bigmem=True:host=n01+1:ncpus=1:mpiprocs=1:bigmem=True:host=n01",
		"-l", "place=free:excl", "-l", "walltime=01:00:01", "-r", "y", "-j", "oe", "-o", "localhost:/dev/null",
		"-v", "GBROKER_ATTEMPT=here/site.01ABCDEFGHJKMNPQRSTVWXYZ00@1.0#1", "-S", "/bin/sh",
		"-q", "long", "-A", "my project", "-h",
	}
	if err != nil || call.Name != "qsub" || !slices.Equal(call.Args, want) || !bytes.Contains(call.Stdin, []byte("exec >>'/var/spool/x/log' 2>&1\n")) || call.As != "alice" {
		t.Errorf("%q, %v", call, err)
	}
	o.Reservation = "R42.pbs1" // has a queue of its own
	call, err = plain(t).submission(o)
	if i := slices.Index(call.Args, "-q"); err != nil || call.Args[i+1] != "R42" || slices.Contains(call.Args, "long") {
		t.Errorf("%q, %v", call, err)
	}
}

// What OpenPBS would misread, or what blocks everything, is refused before it is handed over.
func TestSubmissionRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *external.Order){
		"no walltime":         func(o *external.Order) { o.Limit = 0 },
		"no name":             func(o *external.Order) { o.Tag = "" },
		"a name of two words": func(o *external.Order) { o.Tag = "a b" },
		"an option as name":   func(o *external.Order) { o.Tag = "-I" },
		"no script":           func(o *external.Order) { o.Script = nil },
		"a log with a host":   func(o *external.Order) { o.Log = "host:/x" },
		"a log nowhere":       func(o *external.Order) { o.Log = "x" },
		"no chunk":            func(o *external.Order) { o.Demand.Chunks = nil },
		"a queue at a server": func(o *external.Order) { o.Queue = "q@other" },
		"no reservation":      func(o *external.Order) { o.Reservation = "12.pbs1" },
		"an odd property":     func(o *external.Order) { o.Demand.Properties = []string{"a=b"} },
		"a deep property":     func(o *external.Order) { o.Demand.Properties = []string{"a:b:c"} },
		"an odd resource": func(o *external.Order) {
			o.Demand.Chunks[0].Resources = []grid.Resource{{Name: "gpu:a100", Amount: 1}}
		},
	} {
		o := order()
		change(&o)
		if call, err := plain(t).submission(o); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v, %v", name, call, err)
		}
	}
}

// -r is read back: a job that the system would start again against our word is removed.
func TestRerunnableIsReadBack(t *testing.T) {
	t.Parallel()
	is := recorded(t, "qstat", "-x -E -f -F json 41.pbs1", "21-multi-id.qstat-xEf-json-with-unknown") // all of them are rerunnable
	c, asked := replay(t, Config{}, answer{"qsub", "*", "41.pbs1\n", "", 0}, is, answer{"qdel", "41.pbs1", "", "", 0})
	o := order()
	if id, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrInvalid) || id != "" || !strings.Contains(asked(), "qdel 41.pbs1") {
		t.Errorf("%q, %v, asked:\n%s", id, err, asked())
	}
	o.Rerunnable = true
	if id, err := c.Submit(t.Context(), o); err != nil || id != "41.pbs1" {
		t.Errorf("%q, %v", id, err)
	}
	c, _ = replay(t, Config{}, answer{"qsub", "*", "41.pbs1 or so\n", "", 0})
	if id, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrUnavailable) || id != "" {
		t.Errorf("another answer: %q, %v", id, err)
	}
}

// Refusals are told in the system's words.
func TestSubmitRefusedByTheSystem(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		answer
		kind error
		way  string
	}{
		{recorded(t, "qsub", "*", "09-errors.qsub-root"), grid.ErrInvalid, "submit as another account"},
		{answer{"qsub", "*", "", "qsub: Unknown queue\n", 170}, grid.ErrInvalid, "Unknown queue"},
		{answer{"qsub", "*", "", "qsub: Unknown resource: nosuch\n", 187}, grid.ErrInvalid, "resources in gbroker.yaml"},
		{answer{"qsub", "*", "", "qsub: Job violates queue and/or server resource limits\n", 188}, grid.ErrInvalid, "violates"},
		{answer{"qsub", "*", "", "qsub: Unauthorized Request \n", 159}, grid.ErrInvalid, "acl_users"},
		{answer{"qsub", "*", "", "usage: qsub\n", 2}, grid.ErrInvalid, "usage"},
		{answer{"qsub", "*", "", "qsub: would exceed queue generic's per-user limit\n", 38}, grid.ErrUnavailable, "per-user limit"},
		{answer{"qsub", "*", "", "qsub: Queue is not enabled\n", 173}, grid.ErrUnavailable, "not enabled"},
		{answer{"qsub", "*", "", "who knows\n", 77}, grid.ErrUnavailable, "who knows"},
	} {
		c, _ := replay(t, Config{}, r.answer)
		if _, err := c.Submit(t.Context(), order()); !errors.Is(err, r.kind) || !strings.Contains(err.Error(), r.way) {
			t.Errorf("%d: %v", r.exit, err)
		}
	}
}

// Remove of what is gone is no trouble; Hold of it is told apart.
func TestActs(t *testing.T) {
	t.Parallel()
	gone := recorded(t, "qdel", "*", "06-finished.qdel-finished")
	c, asked := replay(t, Config{}, gone, answer{"qhold", "*", "", "qhold: Unknown Job Id 12.pbs1\n", 153}, answer{"qrls", "*", "", "", 0})
	if err := c.Remove(t.Context(), "", "12.pbs1"); err != nil {
		t.Errorf("Remove of a job that has ended: %v", err)
	}
	if err := c.Hold(t.Context(), "", "12.pbs1"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("Hold of an unknown job: %v", err)
	}
	if err := c.Release(t.Context(), "", "20[1].pbs1"); err != nil {
		t.Errorf("Release: %v", err)
	}
	for _, bad := range []grid.LocalID{"", "12", "-W", "12.pbs1 13.pbs1", "all", "12.p;q"} {
		if err := c.Remove(t.Context(), "", bad); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("Remove of %q: %v", bad, err)
		}
	}
	if want := "qdel 12.pbs1\nqhold -h u 12.pbs1\nqrls -h u 20[1].pbs1\n"; asked() != want {
		t.Errorf("asked was\n%s", asked())
	}
}

// A demand that is written as select and read again is the same.
func TestSelectionReadsBack(t *testing.T) {
	t.Parallel()
	w := plain(t)
	for _, d := range []grid.Demand{
		{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
		{Chunks: []grid.Chunk{{Count: 3, Processes: 2, Cores: 4, Memory: 5 << 20, Resources: []grid.Resource{{Name: "gpu", Amount: 2}}}}, Properties: []string{"fast", "host:n01"}, Exclusive: true},
		{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 2}, {Count: 2, Processes: 2, Cores: 2}, {Count: 1, Processes: 1, Cores: 2}}},
	} {
		chunks, place, err := w.selection(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.demand(chunks, place)
		if err != nil || !slices.EqualFunc(got.Chunks, d.Chunks, func(a, b grid.Chunk) bool {
			return a.Count == b.Count && a.Processes == b.Processes && a.Cores == b.Cores && a.Memory == b.Memory && slices.Equal(a.Resources, b.Resources)
		}) || !slices.Equal(got.Properties, d.Properties) || got.Exclusive != d.Exclusive {
			t.Errorf("%s: %+v, %v", chunks, got, err)
		}
	}
}

// What the wrapper says is in the log, also of a name with odd characters; where the log
// cannot be written the script runs all the same.
func TestTheLogIsWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a 'b' $c")
	log := filepath.Join(dir, "log")
	run := func() (string, error) {
		cmd := exec.Command("sh")
		cmd.Stdin = bytes.NewReader(logged([]byte("#!/bin/sh\necho said; echo loudly >&2; exit 3\n"), log))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil || err.Error() != "exit status 3" || out != "said\nloudly\n" {
		t.Errorf("without the folder: %q, %v", out, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := run()
	text, _ := os.ReadFile(log)
	if err == nil || err.Error() != "exit status 3" || out != "" || string(text) != "said\nloudly\n" {
		t.Errorf("with it: %q, %v, and the log has %q", out, err, text)
	}
	if script := logged([]byte("x"), "/dev/null"); string(script) != "x" {
		t.Errorf("without a log: %q", script)
	}
}

// What a command has said is not cut off behind its arguments; a job that is ending need not
// be removed.
func TestWhatWasSaidIsKept(t *testing.T) {
	t.Parallel()
	call, err := plain(t).submission(order())
	if err != nil {
		t.Fatal(err)
	}
	said := trouble(call, command.Result{Exit: 188, Stderr: []byte("qsub: Job violates queue and/or server resource limits\n")}).Error()
	if i := strings.Index(said, "Job violates"); i < 0 || i > 150 {
		t.Errorf("at %d of %q", i, said)
	}
	c, _ := replay(t, Config{}, answer{"qdel", "*", "", "qdel: Request invalid for state of job 253.pbs1\n", 168})
	if err := c.Remove(t.Context(), "", "253.pbs1"); err != nil {
		t.Errorf("one in state E: %v", err)
	}
}

// A job that a routing queue took, and no destination of it, is gone: that is a refusal.
func TestSubmitIntoNowhere(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} { // before a listing it is not known that ended jobs are remembered
		c, _ := replay(t, Config{}, idleSystem(t, answer{"qsub", "*", "273.pbs1\n", "", 0},
			answer{"qstat", "-x -E -f -F json 273.pbs1", emptyJSON, "", 0})...)
		if listed {
			if _, err := c.Listing(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if id, err := c.Submit(t.Context(), order()); listed != errors.Is(err, grid.ErrInvalid) || listed && !strings.Contains(err.Error(), "no destination") {
			t.Errorf("listed %v: %q, %v", listed, id, err)
		}
	}
}
