package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/test/cluster"
)

// askers are a home, a site whose users are those of the home, and one whose are not.
func askers(t *testing.T, dir string) (home, asker, stranger *cluster.Site) {
	t.Helper()
	sites := map[string]*cluster.Site{}
	for _, name := range []string{"home", "asker", "stranger"} {
		sites[name] = newSite(t, dir, name, cluster.Options{Nodes: 1, Cores: 4})
	}
	home, asker, stranger = sites["home"], sites["asker"], sites["stranger"]
	start(t, home, asker, stranger)
	know(t, line(home, asker, "--same-users"), line(asker, home, "--same-users"), line(home, stranger), line(stranger, home, "--same-users"))
	must(t, home.Sees(t.Context(), patience, "asker", "stranger"))
	must(t, asker.Sees(t.Context(), patience, "home"))
	must(t, stranger.Sees(t.Context(), patience, "home"))
	admin(t, asker, "drain") // its users ask, and nothing of what they ask about runs there
	admin(t, stranger, "drain")
	return home, asker, stranger
}

// denied runs a command that is to be refused, with a reason.
func denied(t *testing.T, s site, why string, args ...string) {
	t.Helper()
	if r := s.Client(t.Context(), args...); r.Code == 0 || !strings.Contains(r.Stderr, why) {
		t.Errorf("gclient %v at %s: exit status %d, %q, not %q", args, s.Name, r.Code, r.Stdout+r.Stderr, why)
	}
}

// A group that was handed in at its home is seen, waited for, followed, explained, fetched, and removed at another
// broker, by its users alone.
func TestAGroupIsAskedForElsewhere(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, asker, stranger := askers(t, dir)
	args := []string{"submit"}
	for _, name := range []string{"one", "two", "three"} {
		w := work{script: "echo this is " + name + "; " + waits(dir, "group"), output: "out.txt", walltime: 60}
		args = append(args, w.write(t, dir, name))
	}
	id := strings.TrimSpace(client(t, home, args...))
	second := strings.TrimSuffix(id, ".all") + ".2"
	eventually(t, "its jobs run, as seen elsewhere", func() bool {
		return told[api.GroupStatus](t, asker, "status", id).States["RUNNING"] == 3
	})
	here, there := told[api.GroupStatus](t, home, "status", id), told[api.GroupStatus](t, asker, "status", id)
	if len(there.Members) != 3 || there.Jobs != here.Jobs || there.Over != here.Over || there.Entered != here.Entered || there.User != here.User ||
		there.Members[1].ID != here.Members[1].ID || there.Members[1].Name != "two" || there.Members[1].Processes != here.Members[1].Processes {
		t.Errorf("at home it is\n%+v\nand elsewhere\n%+v", here, there)
	}
	if list := told[[]api.Status](t, asker, "list", "--group", id, "--state", "RUNNING"); len(list) != 3 {
		t.Errorf("listed elsewhere: %+v", list)
	}
	if e := told[api.Explanation](t, asker, "explain", second); len(e.Decisions) != 1 || e.Decisions[0].Chosen == nil || *e.Decisions[0].Chosen != "home" {
		t.Errorf("explained elsewhere: %+v", e)
	}
	if e := told[[]api.Explanation](t, asker, "explain", id); len(e) != 3 {
		t.Errorf("the group is explained elsewhere: %+v", e)
	}
	if text := client(t, asker, "explain", id); !strings.Contains(text, "3 jobs accepted") {
		t.Errorf("what happened to the group, elsewhere:\n%s", text)
	}
	if there, here := history(t, asker, second), history(t, home, second); len(there) == 0 || len(there) != len(here) || there[0].Why != here[0].Why {
		t.Errorf("its history elsewhere:\n%s", lines(there))
	}
	for _, args := range [][]string{{"status", id}, {"cancel", id}, {"wait", id}, {"history", second}, {"hold", second}, {"remove", id}} {
		denied(t, stranger, "belongs to another user", args...)
	}
	denied(t, asker, "have not ended", "remove", id)

	waiting := asker.Command(t.Context(), "wait", id, "--timeout", "90s")
	must(t, waiting.Start())
	far := follow(t, asker, dir, "far", second)
	far.prints(t, "this is two\n")
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	if err := waiting.Wait(); err != nil {
		t.Errorf("waiting elsewhere: %v", err)
	}
	if err := far.cmd.Wait(); err != nil {
		t.Errorf("following elsewhere: %v, %s", err, far.text(t, far.errs))
	}
	out := filepath.Join(dir, "out")
	client(t, asker, "output", id, out)
	for _, name := range []string{"one", "two", "three"} {
		if text, err := os.ReadFile(filepath.Join(out, name, "out.txt")); err != nil || string(text) != "this is "+name+"\nthis was group\n" {
			t.Errorf("output %q, %v", text, err)
		}
	}
	client(t, asker, "remove", id)
	denied(t, asker, "removed", "status", id)
}

// Each job of a sweep can be named, waited for and fetched at another broker, also those that have not had their turn; and
// the rest is cancelled from there.
func TestASweepIsAskedForElsewhere(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, asker, _ := askers(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "run.sh"), fmt.Appendf(nil, "#!/bin/sh\necho this was $1\n[ $1 -le 3 ] || sleep 300\n"), 0o755))
	id := strings.TrimSpace(client(t, home, "submit", sweepOf(t, dir, "run.sh", 3000, 4)))
	of := func(n int) string { return strings.TrimSuffix(id, "all") + strconv.Itoa(n) }
	client(t, asker, "wait", of(2), "--timeout", "60s")
	client(t, asker, "output", of(2), filepath.Join(dir, "second"))
	if text, err := os.ReadFile(filepath.Join(dir, "second", "out.txt")); err != nil || string(text) != "this was 2\n" {
		t.Errorf("output %q, %v", text, err)
	}
	if s := status(t, asker, of(2999)); s.State != "SUBMITTED" || !strings.Contains(s.Reason, "turn") {
		t.Errorf("the last but one, elsewhere: %+v", s)
	}
	client(t, asker, "cancel", of(3000))
	if s := status(t, home, of(3000)); s.State != "KILLED" {
		t.Errorf("the last one was cancelled elsewhere, and is %s", s.State)
	}
	if list := told[[]api.Status](t, asker, "list", "--group", id); len(list) != 3000 || string(list[2999].ID) != of(3000) || list[2999].State != "KILLED" {
		t.Errorf("%d jobs are listed elsewhere", len(list))
	}
	client(t, asker, "cancel", id)
	g := told[api.GroupStatus](t, home, "status", id)
	if !g.CancelRequested || g.States["SUBMITTED"] > 0 {
		t.Errorf("it was cancelled elsewhere, and is %+v", g)
	}
	if s := ended(t, asker, of(3000)); s.State != "KILLED" {
		t.Errorf("waited for elsewhere it is %s", s.State)
	}
}

// A job is held, altered, released and handed in again at another broker, while its home is killed.
func TestAJobIsAlteredElsewhere(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home, asker, _ := askers(t, dir)
	id := strings.TrimSpace(client(t, home, "submit", work{script: "echo it ran", output: "out.txt", walltime: 30, terms: "<gb:Hold>true</gb:Hold>"}.write(t, dir, "held")))
	client(t, asker, "alter", id, "--walltime", "40", "--priority", "7")
	if s := status(t, home, id); s.WalltimeS != 40 || s.State != "READY" {
		t.Errorf("altered elsewhere it is %+v", s)
	}
	client(t, asker, "release", id)
	completed(t, asker, id, "home")
	denied(t, asker, "has ended", "hold", id)
	next := strings.TrimSpace(client(t, asker, "resubmit", id))
	completed(t, asker, next, "home")
	if s := status(t, home, next); next == id || s.Home != "home" || s.WalltimeS != 40 {
		t.Errorf("handed in again elsewhere it is %+v", s)
	}
	client(t, asker, "remove", id)
	denied(t, home, "removed", "status", id)

	group := strings.TrimSpace(client(t, home, "submit", work{script: waits(dir, "first"), walltime: 90}.write(t, dir, "first"), work{script: "true"}.write(t, dir, "second")))
	waiting := asker.Command(t.Context(), "wait", group, "--timeout", "90s")
	must(t, waiting.Start())
	reaches(t, asker, strings.TrimSuffix(group, "all")+"1", "RUNNING")
	home.Kill()
	eventually(t, "its home is known to be gone", func() bool {
		r := asker.Client(t.Context(), "status", group)
		return r.Code != 0 && strings.Contains(r.Stderr, "its home, the site home, cannot be reached now; no job of it is known here")
	})
	denied(t, asker, "cannot be reached", "hold", next)
	start(t, home)
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	if err := waiting.Wait(); err != nil {
		t.Errorf("waiting through the kill: %v", err)
	}
	if g := told[api.GroupStatus](t, asker, "status", group); g.States["COMPLETED"] != 2 {
		t.Errorf("in the end: %+v", g)
	}
}
