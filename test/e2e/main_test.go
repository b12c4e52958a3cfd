package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
	"gbroker/test/mounts"
)

// programs are the built programs, made once for all tests.
var programs cluster.Programs

func TestMain(m *testing.M) {
	mounts.Own()
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gb-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Tests mostly wait for daemons: more of them side by side than there are cores.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "10")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if programs, err = cluster.Build(ctx, "../..", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return slurmtest.Main(m)
}

// place is a folder that is gone after the test. Its path is short, since that of a
// unix socket has at most 107 bytes.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Most sites send nothing to learn the bandwidth, which on loopback takes more of the processor than all else they do in
// their first minute: 20 MiB go to each neighbour. Who is about it has measuring as the More of its options.
const (
	quiet     = "netmon: {bytes_per_hour: 0}\n"
	measuring = "netmon: {bytes_per_hour: 3MiB}\n" // as is the default
)

// seldom lets a daemon collect garbage a fourth as often, as it lives for seconds; not where its memory is looked at.
const seldom = "GOGC=400"

// newSite makes a site in a folder of dir (see [place]); [start] starts it. After the
// test its daemon and its jobs are ended; a failed test shows the end of its log.
func newSite(t *testing.T, dir, name string, o cluster.Options) *cluster.Site {
	t.Helper()
	if !strings.Contains(o.More, "netmon:") {
		o.More = quiet + o.More
	}
	s, err := cluster.Init(t.Context(), programs, dir, name, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Env = []string{seldom}
	t.Cleanup(func() {
		if s.PID() != 0 {
			s.Signal(syscall.SIGCONT) // a test may have stopped it
		}
		err := s.Stop()
		s.EndJobs()
		most := 6000
		if err != nil {
			t.Error(err)
			most = 200_000 // all its goroutines
		}
		if t.Failed() {
			log, _ := os.ReadFile(s.Log)
			t.Logf("the end of the log of %s:\n%s", name, log[max(0, len(log)-most):])
		}
	})
	return s
}

// start starts daemons, side by side, and waits until all serve.
func start(t *testing.T, sites ...*cluster.Site) {
	t.Helper()
	errs := make([]error, len(sites))
	var all sync.WaitGroup
	for i, s := range sites {
		all.Go(func() { errs[i] = s.Start(t.Context()) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// introduce makes all sites members of each other and waits until all see all.
func introduce(t *testing.T, sites ...*cluster.Site) {
	t.Helper()
	must(t, cluster.Mesh(t.Context(), sites...))
	for _, s := range sites {
		var others []string
		for _, o := range sites {
			if o != s {
				others = append(others, o.Name)
			}
		}
		must(t, s.Sees(t.Context(), patience, others...))
	}
}

// line is a line about a site in the file of another, with flags of `gbroker neighbour add`.
func line(at, of *cluster.Site, options ...string) cluster.Line {
	return cluster.Line{At: at, Of: of, Options: options}
}

// know adds such lines, as [cluster.Introduce] does.
func know(t *testing.T, lines ...cluster.Line) {
	t.Helper()
	must(t, cluster.Introduce(t.Context(), lines...))
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client runs gclient against a site and ends the test if it ends with another status
// than 0; it gives its output.
func client(t *testing.T, s *cluster.Site, args ...string) string {
	t.Helper()
	r := s.Client(t.Context(), args...)
	if r.Code != 0 {
		t.Fatalf("gclient %s at %s: exit status %d\n%s%s", strings.Join(args, " "), s.Name, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// patience bounds what takes a moment on an idle machine, or a few seconds through Slurm: on a busy one a process starts in seconds.
const patience = 3 * time.Minute

// eventually ends the test if ok does not come true within our patience.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	inTime(t, patience, what, ok)
}

// inTime ends the test if ok does not come true within the limit.
func inTime(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if err := cluster.Until(t.Context(), limit, ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
