package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/store"
	"gbroker/test/cluster"
)

// Twenty jobs wait, move and run while each daemon in turn is killed and started
// again. Each job's program must start once and end once, whatever happened, and all
// must be told so.
func TestEachJobOnceThroughKills(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2, More: machine("arm")})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 4, More: machine("mips")})
	sites := []site{a, b, c}
	start(t, sites...)
	var lines []cluster.Line
	for _, s := range sites {
		for _, o := range sites {
			if s != o {
				lines = append(lines, line(s, o, "--rate-limit", "500kB/s")) // they are on their way for a while
			}
		}
	}
	know(t, lines...)
	must(t, a.Sees(t.Context(), patience, "b", "c"))
	must(t, b.Sees(t.Context(), patience, "a", "c"))
	must(t, c.Sees(t.Context(), patience, "a", "b"))

	noise(t, dir, "large.bin", 2*mebi)
	ledger := filepath.Join(dir, "ledger")
	goOn := filepath.Join(dir, "go-on") // until it is there no job ends, so that others wait
	var ids []string
	hand := func(s site, n int, arch string, brings ...string) {
		for range n {
			name := fmt.Sprintf("job%02d", len(ids))
			ids = append(ids, work{
				script: fmt.Sprintf("echo start %[1]s >> %[2]s; until [ -e %[3]s ]; do sleep 0.2; done; echo end %[1]s >> %[2]s; echo this was %[1]s", name, ledger, goOn),
				arch:   arch, brings: brings, output: "out.txt", walltime: 300,
			}.submit(t, s, dir, name))
		}
	}
	hand(a, 2, "arm", "large.bin")
	hand(a, 5, "x86_64")
	hand(a, 2, "")
	hand(b, 3, "mips", "large.bin")
	hand(b, 2, "arm")
	hand(c, 3, "x86_64", "large.bin")

	for _, victim := range sites {
		eventually(t, "no job waits, another moves and a third runs before "+victim.Name+" is killed", func() bool {
			var states []string
			for _, st := range jobs(t, a) {
				states = append(states, st.State)
			}
			if !slices.Contains(states, "MOVING") && len(ids) < 30 {
				large := fmt.Sprintf("large%02d.bin", len(ids)) // what a site has had already does not travel again
				noise(t, dir, large, 2*mebi)
				hand(a, 1, "arm", large) // however fast the others were
			}
			return slices.Contains(states, "MOVING") && slices.Contains(states, "ASSIGNED") && slices.Contains(states, "RUNNING")
		})
		victim.Kill()
		start(t, victim)
	}
	must(t, os.WriteFile(goOn, nil, 0o644))

	at := map[string]site{"a": a, "b": b, "c": c}
	for k, id := range ids {
		inTime(t, 3*time.Minute, id+" is to end", func() bool { st := status(t, at[home(id)], id); return st.Terminal() }) // a site that refused it is asked again after a minute
		st := exits(t, at[home(id)], id, 0)
		if got, want := output(t, at[home(id)], dir, id, "out.txt"), fmt.Sprintf("this was job%02d\n", k); got != want {
			t.Errorf("job %s, run at %s, left %q and not %q", id, st.Owner, got, want)
		}
	}
	onceEach(t, ledger, len(ids))
	agree(t, sites, ids)
	for _, s := range sites {
		must(t, s.Stop())
		settled(t, s)
		if left := names(filepath.Join(s.Dir, "data", "batch", "jobs")); len(left) > 0 {
			t.Errorf("the batch system of %s still holds %v", s.Name, left)
		}
	}
	if left := cluster.Leftovers(dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// onceEach checks that the ledger has one start and then one end of each job.
func onceEach(t *testing.T, ledger string, n int) {
	t.Helper()
	text, err := os.ReadFile(ledger)
	must(t, err)
	for k := range n {
		name := fmt.Sprintf("job%02d", k)
		start, end := "start "+name+"\n", "end "+name+"\n"
		if strings.Count(string(text), start) != 1 || strings.Count(string(text), end) != 1 ||
			strings.Index(string(text), end) < strings.Index(string(text), start) {
			t.Errorf("%s has not started and ended once:\n%s", name, text)
		}
	}
}

// agree waits until every broker that knows a job says of it what its home says, and
// only the home keeps its files.
func agree(t *testing.T, sites []site, ids []string) {
	t.Helper()
	var differ []string
	err := cluster.Until(t.Context(), patience, func() bool {
		differ = nil
		for _, s := range sites {
			for _, st := range jobs(t, s) {
				if st.State != "COMPLETED" {
					differ = append(differ, fmt.Sprintf("%s says that %s is %s", s.Name, st.ID, st.State))
				}
			}
			for _, id := range names(filepath.Join(s.Dir, "data", "jobs")) {
				if id != "cache" && home(id) != s.Name {
					differ = append(differ, fmt.Sprintf("%s keeps files of %s", s.Name, id))
				} else if left := names(filepath.Join(folder(s, id), "work")); len(left) > 0 {
					differ = append(differ, fmt.Sprintf("%s keeps the working tree of %s: %v", s.Name, id, left))
				}
			}
		}
		return len(differ) == 0
	})
	if err != nil {
		t.Errorf("the brokers do not agree on %d ended jobs:\n%s", len(ids), strings.Join(differ, "\n"))
	}
}

// settled checks the journal of a stopped daemon: nothing is under way in it.
func settled(t *testing.T, s site) {
	t.Helper()
	j, err := store.Open(t.Context(), filepath.Join(s.Dir, "data"))
	must(t, err)
	defer j.Close()
	records, err := j.Load(t.Context())
	must(t, err)
	if len(records) == 0 {
		t.Errorf("the journal of %s is empty", s.Name)
	}
	for _, r := range records {
		over := r.State.Terminal() || r.Started == 0 // of a former owner that never ran it
		switch r.Role {
		case grid.Owning, grid.Watching:
			over = r.State.Terminal()
		case grid.Prepared:
			over = false
		}
		if !over || r.Handoff.Phase != grid.NoHandoff {
			t.Errorf("the journal of %s leaves job %s %v as %v, handoff %v", s.Name, r.Job.ID, r.State, r.Role, r.Handoff.Phase)
		}
	}
}

// waiter is a job that says its process in a file and ends when told.
type waiter struct{ id, pidFile, goFile string }

// newWaiter hands in a job that ends with the code once it is let go.
func newWaiter(t *testing.T, s site, dir, name, arch string, code int) waiter {
	t.Helper()
	w := waiter{pidFile: filepath.Join(dir, name+".pid"), goFile: filepath.Join(dir, name+".go")}
	w.id = work{
		script: fmt.Sprintf("echo $$ >> %s; while [ ! -e %s ]; do sleep 0.2; done; echo was %s; exit %d", w.pidFile, w.goFile, name, code),
		arch:   arch, output: "out.txt",
	}.submit(t, s, dir, name)
	return w
}

// pid is the process of the job, which must have been started once only.
func (w waiter) pid(t *testing.T) int {
	t.Helper()
	var pid int
	eventually(t, "job "+w.id+" does not start", func() bool {
		text, _ := os.ReadFile(w.pidFile)
		n, _ := fmt.Sscan(string(text), &pid)
		if strings.Count(string(text), "\n") > 1 {
			t.Fatalf("job %s was started more than once: %q", w.id, text)
		}
		return n == 1
	})
	return pid
}

func (w waiter) letGo(t *testing.T) { must(t, os.WriteFile(w.goFile, nil, 0o644)) }

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func goes(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d does not end", pid), func() bool { return !alive(pid) })
}

// Whatever ends the daemon, its jobs go on: after its next start those that wait wait
// on, those that run are found, those that have ended meanwhile are told of.
func TestJobsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(t *testing.T, s site){
		"kill": func(_ *testing.T, s site) { s.Kill() },
		"stop": func(t *testing.T, s site) {
			began := time.Now()
			must(t, s.Stop())                                     // ends with 0
			if took := time.Since(began); took > 10*time.Second { // it waits for no job
				t.Errorf("the daemon took %v to stop", took)
			}
			if _, err := s.Ready(); !os.IsNotExist(err) {
				t.Errorf("the ready file of a stopped daemon: %v", err)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 3})
			start(t, s)
			stays := newWaiter(t, s, dir, "stays", "", 7)
			ends := newWaiter(t, s, dir, "ends", "", 9)
			dies := newWaiter(t, s, dir, "dies", "", 0)
			pids := []int{stays.pid(t), ends.pid(t), dies.pid(t)}
			waits := newWaiter(t, s, dir, "waits", "", 5)
			becomes(t, s, waits.id, "ASSIGNED")

			end(t, s)
			ends.letGo(t)
			goes(t, pids[1])
			must(t, syscall.Kill(pids[2], syscall.SIGKILL))
			goes(t, pids[2])
			start(t, s)

			exits(t, s, ends.id, 9)
			st := becomes(t, s, dies.id, "COMPLETED")
			if st.Signal == nil || *st.Signal != 9 || st.ExitCode == nil || *st.ExitCode != 137 {
				t.Errorf("a job killed while the daemon was down: signal %v, exit code %v", deref(st.Signal), deref(st.ExitCode))
			}
			if st, _ := asked(t, s, stays.id); st.State != "RUNNING" || stays.pid(t) != pids[0] || !alive(pids[0]) {
				t.Errorf("the running job is %s, its process was %d and is %d", st.State, pids[0], stays.pid(t))
			}
			waits.pid(t) // two places are free now
			waits.letGo(t)
			exits(t, s, waits.id, 5)
			stays.letGo(t)
			exits(t, s, stays.id, 7)
			for name, w := range map[string]waiter{"stays": stays, "ends": ends, "waits": waits} {
				if got := output(t, s, dir, w.id, "out.txt"); got != "was "+name+"\n" {
					t.Errorf("the job that %s left %q", name, got)
				}
			}
		})
	}
}

// An owner that is stopped (SIGSTOP) for long is thought dead; its job's home says
// since when. Once it goes on, all is told.
func TestStoppedOwner(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{More: machine("arm")})
	start(t, a, b)
	introduce(t, a, b)
	w := newWaiter(t, a, dir, "remote", "arm", 3)
	pid := w.pid(t)
	becomes(t, a, w.id, "RUNNING")
	must(t, b.Signal(syscall.SIGSTOP))
	eventually(t, "the home does not notice that the owner is silent", func() bool {
		return status(t, a, w.id).ContactLostSince != 0
	})
	if st := status(t, a, w.id); st.State != "RUNNING" || !alive(pid) {
		t.Errorf("after the loss of contact the job is %s; its process lives: %v", st.State, alive(pid))
	}
	w.letGo(t)
	goes(t, pid)
	must(t, b.Signal(syscall.SIGCONT))
	if st := exits(t, a, w.id, 3); st.ContactLostSince != 0 || w.pid(t) != pid {
		t.Errorf("at the end contact is lost since %v", st.ContactLostSince)
	}
	if got := output(t, a, dir, w.id, "out.txt"); got != "was remote\n" {
		t.Errorf("the job left %q", got)
	}
}

// What the user was told is true: a job whose identifier was printed is there after a
// kill -9 at that very moment.
func TestAcceptedSurvives(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	file := work{script: "echo run >> " + dir + "/runs"}.write(t, dir, "job")
	var ids []string
	for range 5 {
		ids = append(ids, submitAndKill(t, s, file))
		start(t, s)
	}
	for _, id := range ids {
		exits(t, s, id, 0)
	}
	if text, _ := os.ReadFile(dir + "/runs"); string(text) != strings.Repeat("run\n", len(ids)) {
		t.Errorf("%d jobs were run as %q", len(ids), text)
	}
}

// submitAndKill kills the daemon as soon as gclient submit has said the identifier.
func submitAndKill(t *testing.T, s site, args ...string) (id string) {
	t.Helper()
	cmd := s.Command(t.Context(), append([]string{"submit"}, args...)...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	s.Kill()
	cmd.Wait() // its status does not matter: it may still have been sending files
	must(t, err)
	return strings.TrimSpace(line)
}

// A submission that lost its broker while it sent files is completed by the same
// command with its key, and is one job.
func TestSameKeyIsTheSameJob(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	must(t, os.WriteFile(filepath.Join(dir, "big.bin"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(dir, "big.bin"), 64*mebi))
	file := work{script: "wc -c < big.bin; echo run >> " + dir + "/runs", brings: []string{"big.bin"}, output: "out.txt"}.write(t, dir, "job")

	id := submitAndKill(t, s, "--key", "one", file)
	start(t, s)
	for range 2 { // the second time there is nothing left to send
		if again := strings.TrimSpace(client(t, s, "submit", "--key", "one", file)); again != id {
			t.Fatalf("the same key made %s and %s", id, again)
		}
	}
	exits(t, s, id, 0)
	s.Kill()
	start(t, s)
	if again := strings.TrimSpace(client(t, s, "submit", "--key", "one", file)); again != id {
		t.Errorf("after its end the same key made %s and not %s", again, id)
	}
	if other := strings.TrimSpace(client(t, s, "submit", "--key", "two", file)); other == id {
		t.Errorf("another key made the same job %s", id)
	} else {
		exits(t, s, other, 0)
	}
	if got := output(t, s, dir, id, "out.txt"); strings.TrimSpace(got) != fmt.Sprint(64*mebi) {
		t.Errorf("the job saw %q bytes", got)
	}
	if text, _ := os.ReadFile(dir + "/runs"); string(text) != "run\nrun\n" {
		t.Errorf("two jobs were run as %q", text)
	}
	if list := jobs(t, s); len(list) != 2 {
		t.Errorf("two keys made %d jobs", len(list))
	}
}
