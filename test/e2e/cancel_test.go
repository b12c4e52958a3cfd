package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

// pair is two neighbours; jobs for x86_64 run at a, those for arm at b. Each has one core.
func pair(t *testing.T, dir string, options ...string) (a, b site) {
	t.Helper()
	one := func(name, word string) site {
		return newSite(t, dir, name, cluster.Options{Nodes: 1, Cores: 1, More: machine(word)})
	}
	a, b = one("a", "x86_64"), one("b", "arm")
	start(t, a, b)
	know(t, line(a, b, options...), line(b, a, options...))
	must(t, a.Sees(t.Context(), patience, "b"))
	must(t, b.Sees(t.Context(), patience, "a"))
	return a, b
}

// killed cancels a job and checks that it is KILLED then, for certain.
func killed(t *testing.T, s site, id string) {
	t.Helper()
	if said := client(t, s, "cancel", id); said != id+" is cancelled: it will not run (again)\n" {
		becomes(t, s, id, "KILLED") // confirmed by the owner, its output on the way
	}
	st := status(t, s, id)
	if st.State != "KILLED" || !st.CancelRequested {
		t.Errorf("a cancelled job is %s, requested: %v", st.State, st.CancelRequested)
	}
	if again := client(t, s, "cancel", id); again != id+" is cancelled: it will not run (again)\n" {
		t.Errorf("cancelled again: %q", again)
	}
	if r := s.Client(t.Context(), "wait", id); r.Code == 0 || !strings.Contains(r.Stderr, "KILLED") {
		t.Errorf("gclient wait of a killed job ends with %d: %s", r.Code, r.Stderr)
	}
}

// A job is cancelled in each state that it can wait in, and its program never starts.
func TestCancelBeforeTheStart(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir, "--rate-limit", "300kB/s")
	ran := filepath.Join(dir, "ran")

	t.Run("STAGEIN", func(t *testing.T) {
		c, err := api.NewClient(api.ClientConfig{Address: a.Address()})
		must(t, err)
		defer c.Close()
		// What gclient does, but for sending the file.
		accepted, err := c.Submit(t.Context(), api.Submission{
			Key: "stagein", Name: "job.jsdl", Document: work{script: "touch " + ran, brings: []string{"f"}}.document("stagein"),
			Files: []api.File{{Path: "f", Size: 5, Mode: 0o644}},
		})
		must(t, err)
		id := string(accepted.ID)
		becomes(t, a, id, "STAGEIN")
		killed(t, a, id)
		if err := c.Upload(t.Context(), accepted.ID, "f", 5, strings.NewReader("hello")); err == nil {
			t.Error("a cancelled job took a file")
		}
	})
	t.Run("MOVING", func(t *testing.T) {
		noise(t, dir, "large.bin", 2*mebi)
		id := work{script: "touch " + ran, arch: "arm", brings: []string{"large.bin"}}.submit(t, a, dir, "moving")
		becomes(t, a, id, "MOVING")
		eventually(t, "the files do not begin to come", func() bool { return len(names(folder(b, id))) > 0 })
		killed(t, a, id)
		eventually(t, "the candidate keeps what it fetched", func() bool { return !cluster.Exists(folder(b, id)) })
	})
	t.Run("ASSIGNED", func(t *testing.T) {
		for _, arch := range []string{"x86_64", "arm"} {
			running := newWaiter(t, a, dir, "fills-"+arch, arch, 0)
			running.pid(t)
			id := work{script: "touch " + ran, arch: arch}.submit(t, a, dir, "waits-"+arch)
			becomes(t, a, id, "ASSIGNED")
			killed(t, a, id)
			running.letGo(t)
			exits(t, a, running.id, 0) // the place is free, and nobody took it
		}
	})
	t.Run("READY", func(t *testing.T) {
		b.Kill()
		id := work{script: "touch " + ran, arch: "arm"}.submit(t, a, dir, "ready")
		becomes(t, a, id, "READY")
		killed(t, a, id)
		start(t, b)
		must(t, a.Sees(t.Context(), patience, "b"))
	})
	after := newWaiter(t, a, dir, "after", "arm", 0) // what was cancelled would have come before it
	after.letGo(t)
	exits(t, a, after.id, 0)
	if cluster.Exists(ran) {
		t.Error("a cancelled job has run")
	}
}

// family is a job whose program has a child and does not heed SIGTERM.
func family(t *testing.T, s site, dir, name, arch string) (id string, pids []int) {
	t.Helper()
	file := filepath.Join(dir, name+".pids")
	id = work{
		script: fmt.Sprintf("trap '' TERM; (trap '' TERM; sleep 300) & echo $$ $! > %[1]s.new; mv %[1]s.new %[1]s; wait", file),
		arch:   arch, output: "out.txt",
	}.submit(t, s, dir, name)
	var first, second int
	eventually(t, "job "+id+" does not start", func() bool {
		text, _ := os.ReadFile(file)
		n, _ := fmt.Sscan(string(text), &first, &second)
		return n == 2
	})
	return id, []int{first, second}
}

// After KILLED was told nothing of a job runs any more, wherever it was.
func TestCancelOfARunningJob(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir)
	for where, arch := range map[string]string{"local": "x86_64", "remote": "arm"} {
		id, pids := family(t, a, dir, where, arch)
		becomes(t, a, id, "RUNNING")
		killed(t, a, id)
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("%s: process %d of a killed job runs", where, pid)
			}
		}
	}
	eventually(t, "the owner does not say KILLED", func() bool {
		list := jobs(t, b)
		return len(list) == 1 && list[0].State == "KILLED"
	})
}

// While the owner cannot be reached a cancel is recorded, and told to be no more than
// that; it is followed when the owner is back.
func TestCancelWhileTheOwnerIsDown(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir)
	id, pids := family(t, a, dir, "job", "arm")
	becomes(t, a, id, "RUNNING")
	b.Kill()
	r := a.Client(t.Context(), "cancel", id)
	if r.Code != 3 || !strings.Contains(r.Stderr, "recorded, not yet confirmed") {
		t.Errorf("cancel ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if st := status(t, a, id); st.State != "RUNNING" || !st.CancelRequested {
		t.Errorf("an unconfirmed cancel: the job is %s, requested: %v", st.State, st.CancelRequested)
	}
	a.Kill() // the wish is on disk
	start(t, a, b)
	becomes(t, a, id, "KILLED")
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d of a killed job runs", pid)
		}
	}
}

// An ended job is removed with its files, at its user's word; one that runs is not.
func TestRemove(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	w := newWaiter(t, s, dir, "job", "", 0)
	w.pid(t)
	if r := s.Client(t.Context(), "remove", w.id); r.Code != 3 || !strings.Contains(r.Stderr, "cancel it first") {
		t.Errorf("removing a running job ends with %d: %s", r.Code, r.Stderr)
	}
	w.letGo(t)
	exits(t, s, w.id, 0)
	client(t, s, "remove", w.id)
	if r := s.Client(t.Context(), "status", w.id); r.Code != 1 || !strings.Contains(r.Stderr, "was removed") {
		t.Errorf("the status of a removed job ends with %d: %s", r.Code, r.Stderr)
	}
	if r := s.Client(t.Context(), "remove", w.id); r.Code != 1 {
		t.Errorf("removing it again ends with %d: %s", r.Code, r.Stderr)
	}
	eventually(t, "the files of a removed job stay", func() bool { return !cluster.Exists(folder(s, w.id)) })
	s.Kill()
	start(t, s)
	if list := jobs(t, s); len(list) != 0 {
		t.Errorf("after a restart the removed job is back: %+v", list)
	}
}

// Of ended jobs whose files are more than retention allows the oldest go first. A
// broker looks a minute after its start.
func TestRetention(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1, More: "retention: {bytes: 1MiB}\n"})
	start(t, s)
	noise(t, dir, "half.bin", 600<<10)
	var ids []string
	for k := range 3 {
		id := work{script: "true", brings: []string{"half.bin"}}.submit(t, s, dir, fmt.Sprint("job", k))
		exits(t, s, id, 0)
		ids = append(ids, id)
	}
	eventually(t, "the oldest two are kept", func() bool { return len(jobs(t, s)) == 1 })
	if left := jobs(t, s)[0].ID; left != grid.JobID(ids[2]) {
		t.Errorf("of %v the job %s was kept", ids, left)
	}
	eventually(t, "the folders of the others are kept", func() bool { // they go after the records
		kept := names(filepath.Join(s.Dir, "data", "jobs"))
		return len(kept) == 1 && kept[0] == ids[2]
	})
}
