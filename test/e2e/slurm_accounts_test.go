package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// A site maps users to accounts: a neighbour's user runs as another one there, with the
// files that he sent, and gets his output; a user who is not mapped is told so.
func TestSlurmMappedAccounts(t *testing.T) {
	t.Parallel()
	dir := place(t)
	all := people(t, dir, "bin", "nobody")
	c := take(t, "small")["small"]
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	s := overSlurm(t, c, dir, "s", cluster.Options{})
	shared := filepath.Join(dir, "shared")
	must(t, os.Mkdir(shared, 0o711))
	must(t, os.Chmod(shared, 0o711))
	configure(t, s,
		"# sandboxes: data/jobs\n", "sandboxes: "+shared+"\n",
		"  # users: {same: true, map: {alice: a123}, otherwise: refuse}\n", "  users: {map: {bin@home: daemon}, otherwise: refuse}\n",
		"  # as: sudo\n", "  as: root\n")
	start(t, home, s)
	introduce(t, home, s)
	sees(t, home, map[string]int{"s": 2})

	must(t, os.WriteFile(filepath.Join(all[0].dir, "in.txt"), []byte("brought\n"), 0o644))
	id := all[0].hands(t, home, work{
		script: "id -un; cat in.txt; umask 077; echo secret > made.txt", cpus: 2, brings: []string{"in.txt"},
		output: "out.txt", takes: []string{"made.txt"},
	}, "mapped")
	completed(t, home, id, "s")
	got := filepath.Join(all[0].dir, "got")
	if r := all[0].asks(t, home, "output", id, got); r.Code != 0 {
		t.Fatalf("the user gets no output: %s", r.Stderr)
	}
	for name, want := range map[string]string{"out.txt": "daemon\nbrought\n", "made.txt": "secret\n"} {
		if text, err := os.ReadFile(filepath.Join(got, name)); string(text) != want {
			t.Errorf("%s is %q (%v) and not %q", name, text, err, want)
		}
	}
	users := ""
	for _, line := range strings.Split(c.Run(t, "squeue", "-h", "-t", "all", "-o", "%u %k"), "\n") {
		if user, mark, _ := strings.Cut(line, " "); strings.Contains(mark, "/"+id+"@") {
			users += user
		}
	}
	if users != "daemon" {
		t.Errorf("Slurm's job is that of %q", users)
	}

	id = all[1].hands(t, home, work{script: "true", cpus: 2}, "unmapped")
	becomes(t, home, id, "FAILED") // no other site could run it
	if r := status(t, home, id).Reason; !strings.Contains(r, "the user nobody@home has no account here") {
		t.Errorf("the user without an account is told %q", r)
	}
	leavesQueue(t, c)
}
