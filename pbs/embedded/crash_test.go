package embedded_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/pbstest"
	"gbroker/plan"

	"golang.org/x/sys/unix"
)

const daemonVariable = "GBROKER_EMBEDDED_TEST_DAEMON"

// TestMain makes this binary a daemon with one running and one waiting job, for the
// test that kills it.
func TestMain(m *testing.M) {
	if dir := os.Getenv(daemonVariable); dir != "" {
		os.Exit(daemon(dir))
	}
	if len(os.Args) > 1 && os.Args[1] == supervise.Command {
		os.Exit(supervise.ExitUsage) // it is no supervisor, and would run these tests, each of which calls another
	}
	debug.SetGCPercent(100) // the memory of a program is told where it is more than that of who starts it
	os.Exit(m.Run())
}

func smallSite(dir string, supervisor []string, changed func(grid.AttemptID)) (*embedded.System, error) {
	return embedded.New(embedded.Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 1}},
		Spool: filepath.Join(dir, "spool"), Changed: changed, Supervisor: supervisor, Grace: 200 * time.Millisecond,
	})
}

func shellJob(dir, ulid, script string) grid.Submission {
	id := grid.NewJobID("here", strings.Repeat("0", 26-len(ulid))+ulid)
	j := grid.Submission{
		ID:   grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 1},
		Work: filepath.Join(dir, ulid, "w"), Control: filepath.Join(dir, ulid, "c"), Limit: grid.Minute,
	}
	j.Job = grid.Job{ID: id, Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}}}
	j.Job.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}
	os.MkdirAll(j.Work, 0o755)
	os.MkdirAll(j.Control, 0o755)
	return j
}

const waitForGo = "echo up; while [ ! -e go ]; do sleep 0.01; done; exit 7"

func daemon(dir string) int {
	s, err := smallSite(dir, nil, nil)
	if err != nil {
		return 1
	}
	for _, j := range []grid.Submission{shellJob(dir, "A", waitForGo), shellJob(dir, "B", "exit 8")} {
		if _, err := s.Submit(context.Background(), j); err != nil {
			return 1
		}
	}
	s.Run(context.Background()) // until it is killed
	return 1
}

func submit(t *testing.T, s pbs.System, jobs ...grid.Submission) {
	t.Helper()
	for _, j := range jobs {
		if _, err := s.Submit(context.Background(), j); err != nil {
			t.Fatal(err)
		}
	}
}

// during runs s while something is done.
func during(t *testing.T, s pbs.System, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	do()
}

// awaitEnds runs s until all jobs have ended and gives how.
func awaitEnds(t *testing.T, s pbs.System, changed <-chan grid.AttemptID, jobs ...grid.Submission) (ends []grid.Progress) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	during(t, s, func() {
		for _, j := range jobs {
			for {
				p, err := s.Progress(context.Background(), j.ID, j.Control)
				if err != nil {
					t.Fatal(err)
				}
				if p.Phase == grid.Ended {
					ends = append(ends, p)
					break
				}
				select {
				case <-changed:
				case <-deadline:
					t.Fatalf("%s is %s for ever", j.ID, p.Phase)
				}
			}
		}
		for { // what has ended is gone from the system a moment later
			all, err := s.Attempts(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(jobs, func(j grid.Submission) bool { return slices.Contains(all, j.ID) }) {
				return
			}
			select {
			case <-changed:
			case <-deadline:
				t.Fatalf("the system still has %v, which have ended", all)
			}
		}
	})
	return ends
}

func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), daemonVariable+"="+dir, "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running, waiting := shellJob(dir, "A", waitForGo), shellJob(dir, "B", "")
	awaitPath(t, filepath.Join(running.Work, "stdout"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	changed := make(chan grid.AttemptID, 100)
	s, err := smallSite(dir, quick(t), func(at grid.AttemptID) { changed <- at })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(running.Work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ends := awaitEnds(t, s, changed, running, waiting)
	if ends[0].ExitCode != 7 || ends[0].Cause != grid.ByItself {
		t.Errorf("what ran ended %+v", ends[0])
	}
	if ends[1].ExitCode != 8 || ends[1].Started < ends[0].Finished {
		t.Errorf("what waited ended %+v, the one before it %+v", ends[1], ends[0])
	}
	if left, err := os.ReadDir(filepath.Join(dir, "spool", "jobs")); err != nil || len(left) > 0 {
		t.Errorf("left in the spool: %v, %v", left, err)
	}
}

func awaitPath(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never comes", name)
		}
	}
}

func TestCorruptSpoolFileIsMovedAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := smallSite(dir, quick(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	torn, swapped, good := shellJob(dir, "A", "exit 1"), shellJob(dir, "B", "exit 2"), shellJob(dir, "C", "exit 3")
	file := func(j grid.Submission) string { return filepath.Join(dir, "spool", "jobs", j.ID.Tag()+".job") }
	for _, j := range []grid.Submission{torn, swapped, good} {
		if _, err := s.Submit(context.Background(), j); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file(good))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(torn), data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(swapped), data, 0o600); err != nil {
		t.Fatal(err)
	}
	changed := make(chan grid.AttemptID, 100)
	if s, err = smallSite(dir, quick(t), func(at grid.AttemptID) { changed <- at }); err != nil {
		t.Fatal(err)
	}
	if ends := awaitEnds(t, s, changed, good); ends[0].ExitCode != 3 {
		t.Errorf("the good one ended %+v", ends[0])
	}
	for _, j := range []grid.Submission{torn, swapped} {
		if p, err := s.Progress(context.Background(), j.ID, j.Control); err != nil || p.Phase != grid.Unknown {
			t.Errorf("the bad one is %s, %v: the broker must submit it again", p.Phase, err)
		}
		if _, err := os.Stat(file(j) + ".corrupt"); err != nil {
			t.Error(err)
		}
	}
}

// mpirun here is a script that says it is Open MPI, or MPICH, and shows its arguments.
func TestParallelUnderMpirun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, variation, want string }{
		{"mpirun (Open MPI) 4.1.4", "MPI", "-n 3 ./prog a"},
		{"mpirun (Open MPI) 4.1.4", "OpenMPI", "--oversubscribe"},
		{"HYDRA build details:", "MPICH2", "-n 3 ./prog a"},
		{"HYDRA build details:", "OpenMPI", ""},
		{"", "MPI", ""},
	} {
		dir := t.TempDir()
		bin := filepath.Join(dir, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if c.version != "" {
			script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + c.version + "'; else echo \"$*\"; fi\n"
			if err := pbstest.WriteFile(filepath.Join(bin, "mpirun"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		changed := make(chan grid.AttemptID, 100)
		s, err := embedded.New(embedded.Config{
			Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}}, Path: bin,
			Spool: filepath.Join(dir, "spool"), Changed: func(at grid.AttemptID) { changed <- at }, Supervisor: quick(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		j := shellJob(dir, "A", "")
		j.Job.Program = grid.Program{Executable: "prog", Arguments: []string{"a"}, Parallel: c.variation}
		j.Job.Demand.Chunks[0].Count = 3
		if err := pbstest.WriteFile(filepath.Join(j.Work, "prog"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		end := awaitEnds(t, s, changed, j)[0]
		if c.want == "" {
			if end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "mpirun is not installed at site here") {
				t.Errorf("%q for %s: ended %+v", c.version, c.variation, end)
			}
			continue
		}
		out, err := os.ReadFile(filepath.Join(j.Work, "stdout"))
		if err != nil || end.ExitCode != 0 || !strings.Contains(string(out), c.want) {
			t.Errorf("%q for %s: %q, %v, ended %+v", c.version, c.variation, out, err, end)
		}
	}
}

// A supervisor that cannot be started is tried again, then the attempt ends with the reason.
func TestSupervisorCannotStart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the pauses between the trials, 4 s")
	}
	t.Parallel()
	dir := t.TempDir()
	changed := make(chan grid.AttemptID, 100)
	s, err := smallSite(dir, []string{"/no/such/supervisor"}, func(at grid.AttemptID) { changed <- at })
	if err != nil {
		t.Fatal(err)
	}
	j := shellJob(dir, "A", "exit 0")
	if _, err := s.Submit(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	if end := awaitEnds(t, s, changed, j)[0]; end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "/no/such/supervisor") {
		t.Errorf("ended %+v", end)
	}
}

// A full disk ends no job: what cannot be started for it is started when there is room.
func TestFullDiskIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	changed := make(chan grid.AttemptID, 100)
	s, err := smallSite(dir, quick(t), func(at grid.AttemptID) { changed <- at })
	if err != nil {
		t.Fatal(err)
	}
	// The host file is the first that is written after the token: its disk is full.
	late, killed := shellJob(dir, "A", "exit 4"), shellJob(dir, "B", "exit 5")
	for _, j := range []grid.Submission{late, killed} {
		if err := os.Symlink("/dev/full", control.HostFile(j.Control, j.ID)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(context.Background(), j); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		awaitToken(t, late)
		os.Remove(control.HostFile(late.Control, late.ID))
		awaitToken(t, killed)
		s.Kill(context.Background(), killed.ID, killed.Control)
	}()
	ends := awaitEnds(t, s, changed, late, killed)
	if ends[0].ExitCode != 4 || ends[0].Cause != grid.ByItself {
		t.Errorf("the job that waited for room ended %+v", ends[0])
	}
	if ends[1].Cause != grid.ByRequest {
		t.Errorf("the job that was killed while it waited for room ended %+v", ends[1])
	}
}

func awaitToken(t *testing.T, j grid.Submission) {
	awaitPath(t, filepath.Join(j.Control, "start.1.0.1"))
}

// The trials of a supervisor do not count while the disk of the spool is full.
func TestFullSpoolIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("small", dir, "tmpfs", 0, "size=1M"); err != nil {
		t.Skipf("no small disk can be mounted (%v): run it as root", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	changed := make(chan grid.AttemptID, 100)
	s, err := smallSite(dir, quick(t), func(at grid.AttemptID) { changed <- at })
	if err != nil {
		t.Fatal(err)
	}
	j := shellJob(dir, "A", "exit 6")
	if _, err := s.Submit(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	os.WriteFile(ballast, make([]byte, 2<<20), 0o600) // as much as there is room for
	room := time.AfterFunc(5*time.Second, func() { os.Remove(ballast) })
	defer room.Stop()
	if end := awaitEnds(t, s, changed, j)[0]; end.ExitCode != 6 || end.Cause != grid.ByItself {
		t.Errorf("it ended %+v", end)
	}
}
