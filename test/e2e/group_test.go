package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// A group is handed in while its broker is killed, again and again, at other moments of its
// making: there is one group in the end, whole, and each of its jobs runs once.
func TestAGroupIsMadeOnceThroughKills(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 4})
	start(t, s)
	noise(t, dir, "large.bin", mebi)
	ledger := filepath.Join(dir, "ledger")
	args := []string{"submit", "--key", "the-group"}
	const parts = 6
	for n := range parts {
		name := fmt.Sprintf("job%02d", n)
		w := work{
			script: fmt.Sprintf("echo start %[1]s >> %[2]s; test -s large.bin; echo end %[1]s >> %[2]s; echo this was %[1]s", name, ledger),
			brings: []string{"large.bin"}, output: "out.txt", walltime: 30,
		}
		args = append(args, w.write(t, dir, name))
	}
	for moment := range 8 {
		cmd := s.Command(t.Context(), args...)
		must(t, cmd.Start())
		time.Sleep(time.Duration(5+13*moment) * time.Millisecond) //house:allow sleep: the moment of the kill is what is tested
		s.Kill()
		_ = cmd.Wait()
		start(t, s)
		list := told[[]api.GroupStatus](t, s, "list", "--groups")
		if len(list) > 1 || len(list) == 1 && members(&list[0]) != parts {
			t.Fatalf("after the kill there are the groups %+v", list)
		}
		if text, err := os.ReadFile(ledger); err == nil && len(text) > 0 && len(list) == 1 && list[0].Coming > 0 {
			t.Errorf("a job has started while the files of others are to come:\n%s", text)
		}
		if all := jobs(t, s); len(list) == 0 && len(all) > 0 || len(list) == 1 && len(all) != parts {
			t.Fatalf("after the kill there are %d groups and %d jobs", len(list), len(all))
		}
	}
	id := strings.TrimSpace(client(t, s, args...))
	client(t, s, "wait", id, "--timeout", "60s")
	onceEach(t, ledger, parts)
	out := filepath.Join(dir, "out")
	client(t, s, "output", id, out)
	for n := range parts {
		text, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("job%02d", n), "out.txt"))
		if want := fmt.Sprintf("this was job%02d\n", n); err != nil || string(text) != want {
			t.Errorf("output %q, %v, not %q", text, err, want)
		}
	}
	client(t, s, "remove", id)
	if left := jobs(t, s); len(left) > 0 {
		t.Errorf("%d jobs are left of a removed group", len(left))
	}
}

func members(g *api.GroupStatus) (n int) {
	for _, k := range g.States {
		n += k
	}
	return n
}

// A group is cancelled as one, wherever its jobs are, and a kill right after that changes nothing.
func TestAGroupIsCancelledThroughAKill(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	know(t, line(a, b), line(b, a))
	must(t, a.Sees(t.Context(), patience, "b"))
	args := []string{"submit"}
	for n := range 5 {
		args = append(args, work{script: "sleep 300", walltime: 400}.write(t, dir, fmt.Sprintf("job%02d", n)))
	}
	id := strings.TrimSpace(client(t, a, args...))
	eventually(t, "two jobs of the group run", func() bool {
		return told[api.GroupStatus](t, a, "status", id).States["RUNNING"] >= 2
	})
	for _, name := range []string{id, strings.TrimSuffix(id, ".all")} { // of a group one says which of its jobs
		for _, args := range [][]string{{"hold"}, {"release"}, {"alter", "--priority", "3"}} {
			if r := a.Client(t.Context(), append(args, name)...); r.Code != 2 || !strings.Contains(r.Stderr, "is a group: write which of its jobs") {
				t.Errorf("%v of %s: %d, %s", args, name, r.Code, r.Stderr)
			}
		}
	}
	cmd := a.Command(t.Context(), "cancel", id)
	must(t, cmd.Start())
	eventually(t, "the cancel is recorded", func() bool {
		return told[api.GroupStatus](t, a, "status", id).CancelRequested
	})
	a.Kill()
	_ = cmd.Wait()
	start(t, a)
	eventually(t, "all jobs of the group have ended", func() bool {
		g := told[api.GroupStatus](t, a, "status", id)
		return g.Ended != 0 && g.States["KILLED"] == 5
	})
}
