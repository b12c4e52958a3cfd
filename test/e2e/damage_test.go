package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"gbroker/test/cluster"
)

// refusesToRun checks that a daemon that is started says why it does not serve.
func refusesToRun(t *testing.T, s site, says ...string) {
	t.Helper()
	r := s.Admin(t.Context(), "run", "--config", s.Config())
	for _, text := range says {
		if r.Code != 3 || !strings.Contains(r.Stderr, text) {
			t.Errorf("gbroker run ends with %d and says %q; it should say %q", r.Code, r.Stderr, text)
		}
	}
}

// Two daemons on one folder would be two brokers with one journal: the second is
// refused, and the first does not notice.
func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	refusesToRun(t, s, "in use by another daemon", filepath.Join(s.Dir, "data", "lock"))
	if r, err := s.Ready(); err != nil || r.PID != s.PID() {
		t.Errorf("after the second daemon the ready file is of %d: %v", r.PID, err)
	}
	goodJob(t, s, dir)
}

// A journal that this program cannot read in full is left as it is, and nothing runs
// on it: as it was, all is there again.
func TestUnreadableJournal(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	goodJob(t, s, dir)
	w := newWaiter(t, s, dir, "waiter", "", 4)
	w.pid(t)
	becomes(t, s, w.id, "RUNNING")
	must(t, s.Stop())
	file := filepath.Join(s.Dir, "data", "journal.db")

	version := func(n int) (was int) {
		db, err := sql.Open("sqlite", file)
		must(t, err)
		defer db.Close()
		must(t, db.QueryRow("PRAGMA user_version").Scan(&was))
		_, err = db.Exec(fmt.Sprintf("PRAGMA user_version = %d", n))
		must(t, err)
		return was
	}
	is := version(99)
	refusesToRun(t, s, file, "newer gbroker", "99")
	version(is)

	whole, err := os.ReadFile(file)
	must(t, err)
	damaged := append([]byte{}, whole...)
	for k := 4096; k < len(damaged); k++ {
		damaged[k] ^= byte(k)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"garbage":   {damaged, "damaged"},
		"truncated": {whole[:len(whole)/2], "damaged"},
		"no header": {append([]byte(strings.Repeat("x", 100)), whole[100:]...), "damaged"},
		"a text":    {[]byte("this is no database, but it is long enough to be looked at\n"), ""},
	} {
		must(t, os.WriteFile(file, c.data, 0o600))
		refusesToRun(t, s, file, c.says)
		if now, err := os.ReadFile(file); err != nil || string(now) != string(c.data) {
			t.Errorf("%s: the journal was changed: %v", name, err)
		}
	}
	must(t, os.WriteFile(file, whole, 0o600))
	start(t, s)
	w.letGo(t)
	exits(t, s, w.id, 4)
	if len(jobs(t, s)) != 2 {
		t.Errorf("of two jobs %d are left", len(jobs(t, s)))
	}
}

// Files of the embedded batch system that cannot be read are put aside: the jobs that
// wait are submitted again, those that run are found by their control files.
func TestDamagedSpool(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 1})
	start(t, s)
	runs := newWaiter(t, s, dir, "runs", "", 4)
	pid := runs.pid(t)
	waits := newWaiter(t, s, dir, "waits", "", 5)
	becomes(t, s, waits.id, "ASSIGNED")
	spool := filepath.Join(s.Dir, "data", "batch", "jobs")
	var list []string
	eventually(t, "the batch system is to hold both", func() bool { // it is told a moment after the job is assigned
		list = names(spool)
		return len(list) == 2
	})
	s.Kill()
	for k, name := range list {
		path := filepath.Join(spool, name)
		text, err := os.ReadFile(path)
		must(t, err)
		damage := [][]byte{text[:len(text)/2], []byte("\x00\xffgarbage")}[k]
		must(t, os.WriteFile(path, damage, 0o600))
	}
	start(t, s)
	if !alive(pid) {
		t.Error("the running job is gone")
	}
	runs.letGo(t)
	exits(t, s, runs.id, 4)
	waits.pid(t)
	waits.letGo(t)
	exits(t, s, waits.id, 5)
	goodJob(t, s, dir)
}

// On a full disk nothing new is taken, and what was taken goes on; once there is room
// again all is as before.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk: run the tests as root to see a full one")
	}
	dir := place(t)
	disk := filepath.Join(dir, "disk")
	must(t, os.Mkdir(disk, 0o755))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v): a full one is not tested", err)
	}
	t.Cleanup(func() {
		eventually(t, "the small disk stays in use", func() bool { return syscall.Unmount(disk, 0) == nil })
	})
	s := newSite(t, disk, "s", cluster.Options{Nodes: 1, Cores: 2})
	s.Log = filepath.Join(dir, "s.log")
	start(t, s)
	runs, longer := newWaiter(t, s, dir, "runs", "", 4), newWaiter(t, s, dir, "longer", "", 5)
	runs.pid(t)
	longer.pid(t)
	waits := newWaiter(t, s, dir, "waits", "", 7)
	becomes(t, s, waits.id, "ASSIGNED")
	unwanted := newWaiter(t, s, dir, "unwanted", "", 6)

	refused := func(name string, w work) {
		t.Helper()
		r := s.Client(t.Context(), "submit", w.write(t, dir, name))
		if r.Code != 3 || !strings.Contains(r.Stderr, "disk") || !strings.Contains(r.Stderr, "is full") || r.Stdout != "" {
			t.Errorf("%s: gclient submit ends with %d: %s%s", name, r.Code, r.Stdout, r.Stderr)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "big.bin"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(dir, "big.bin"), 120*mebi))
	refused("a large input", work{script: "true", brings: []string{"big.bin"}})

	fill := filepath.Join(disk, "fill")
	var st syscall.Statfs_t
	must(t, syscall.Statfs(disk, &st))
	must(t, os.WriteFile(fill, make([]byte, int64(st.Bavail)*st.Bsize-16*mebi), 0o600))
	refused("below the reserve", work{script: "true"})
	runs.letGo(t) // its end and its output are written in the reserve
	exits(t, s, runs.id, 4)

	for err := error(nil); err == nil; { // to the last byte
		var f *os.File
		f, err = os.OpenFile(fill, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.Write(make([]byte, 4096))
		f.Close()
	}
	refused("no byte left", work{script: "true"})
	eventually(t, "gclient sites shows no alarm", func() bool {
		r := s.Client(t.Context(), "sites")
		return strings.Contains(r.Stdout+r.Stderr, "no new job, offer or file is taken")
	})
	if r := s.Client(t.Context(), "cancel", unwanted.id); r.Code != 0 {
		t.Errorf("a cancel on a full disk ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	becomes(t, s, unwanted.id, "KILLED")
	if r := s.Client(t.Context(), "remove", runs.id); r.Code != 0 {
		t.Errorf("a removal on a full disk ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if st := status(t, s, waits.id); st.State != "ASSIGNED" {
		t.Errorf("on a full disk the job whose turn it is is %s", st.State)
	}
	longer.letGo(t)
	must(t, os.Remove(fill))
	if got := exits(t, s, longer.id, 5); got.Signal != nil {
		t.Errorf("the job that ended on a full disk: signal %d", *got.Signal)
	}
	waits.pid(t)
	waits.letGo(t)
	exits(t, s, waits.id, 7)
	goodJob(t, s, dir)
}
