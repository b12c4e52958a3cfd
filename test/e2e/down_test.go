package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/test/cluster"
)

// A site that was never started, and one that is killed while it fetches the files of
// a job: the job runs elsewhere, and the decision says why.
func TestSitesThatAreDown(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a death is doubted, about 15 s: left out with -short")
	}
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	never := newSite(t, dir, "never", cluster.Options{Nodes: 1, Cores: 2, Speed: 9})
	killed := newSite(t, dir, "killed", cluster.Options{Nodes: 1, Cores: 2, Speed: 9})
	honest := newSite(t, dir, "honest", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, killed, honest)
	introduce(t, home, honest)
	know(t, line(home, never), line(home, killed, "--rate-limit", "1MB/s"), line(killed, home))
	must(t, home.Measured(t.Context(), patience, 128<<10, "killed"))

	noise(t, dir, "data", 6*mebi)
	ledger := filepath.Join(dir, "ran")
	w := work{script: "echo ran >>" + ledger + "; wc -c <data", cpus: 2, walltime: 60, brings: []string{"data"}}
	id := w.submit(t, home, dir, "job")
	fetches(t, killed, id)
	killed.Kill()
	completed(t, home, id, "honest")
	d := first(t, home, id, "killed")
	refused(t, d, "never", "the site is not alive")
	list := decisions(t, home, id)
	refused(t, list[len(list)-1], "killed", "the site is not alive")
	event(t, history(t, home, id), "the offer died: killed is dead")

	start(t, killed) // it must not take up what went elsewhere
	must(t, home.Sees(t.Context(), patience, "killed"))
	w.brings, w.script = nil, "true"
	completed(t, home, w.submit(t, home, dir, "next"), "killed")
	ranOnce(t, ledger)
}

// fetches waits until a site has begun to fetch the files of a job.
func fetches(t *testing.T, s site, id string) {
	t.Helper()
	eventually(t, s.Name+" is to fetch the files of "+id, func() bool {
		var n int64
		filepath.WalkDir(folder(s, id), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					n += info.Size()
				}
			}
			return nil // what is gone again does not count
		})
		return n >= 128<<10
	})
}

func ranOnce(t *testing.T, ledger string) {
	t.Helper()
	if b, err := os.ReadFile(ledger); err != nil || strings.Count(string(b), "ran\n") != 1 {
		t.Errorf("the job has run %q (%v), and should have once", b, err)
	}
}

// A site that hangs is alive at first, and its answers are missing; then it is not
// alive any more, and the job that it was fetching goes elsewhere.
func TestHangingSite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a death is doubted, about 15 s: left out with -short")
	}
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	hangs := newSite(t, dir, "hangs", cluster.Options{Nodes: 1, Cores: 2, Speed: 9})
	honest := newSite(t, dir, "honest", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, hangs, honest)
	introduce(t, home, honest)
	know(t, line(home, hangs, "--rate-limit", "1MB/s"), line(hangs, home))
	must(t, home.Measured(t.Context(), patience, 128<<10, "hangs"))

	noise(t, dir, "data", 6*mebi)
	ledger := filepath.Join(dir, "ran")
	w := work{script: "echo ran >>" + ledger + "; wc -c <data", cpus: 2, walltime: 60, brings: []string{"data"}}
	moving := w.submit(t, home, dir, "moving")
	fetches(t, hangs, moving)
	must(t, hangs.Signal(syscall.SIGSTOP))
	w.brings, w.script = nil, "true"
	next := w.submit(t, home, dir, "next")
	completed(t, home, next, "honest")
	refused(t, first(t, home, next, "honest"), "hangs", "no answer in time")

	completed(t, home, moving, "honest")
	first(t, home, moving, "hangs")
	list := decisions(t, home, moving)
	refused(t, list[len(list)-1], "hangs", "the site is not alive")
	last := w.submit(t, home, dir, "last")
	completed(t, home, last, "honest")
	refused(t, first(t, home, last, "honest"), "hangs", "the site is not alive")

	must(t, hangs.Signal(syscall.SIGCONT)) // it wakes with the job half fetched
	tries := 0
	eventually(t, "the site that woke gets no jobs", func() bool { // the first answers of one that has just come back may be late
		tries++
		return ended(t, home, w.submit(t, home, dir, fmt.Sprint("after", tries))).Owner == "hangs"
	})
	ranOnce(t, ledger)
}
