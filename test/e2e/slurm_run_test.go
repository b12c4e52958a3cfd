package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// Three clusters of Slurm: jobs of others fill the one where the job is handed in, the
// second is too small, the third is free. The job runs there; its file goes with it, its
// output comes home, and the table tells why.
func TestSlurmBestOfThree(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "busy", "small", "free")
	number := stranger(t, c["busy"], "sleep 600", "-n4", "--time=10")
	eventually(t, "the job by hand is to run", func() bool { return stateOf(t, c["busy"], number) == "R" })

	var sites []site
	for _, name := range []string{"busy", "small", "free"} {
		sites = append(sites, overSlurm(t, c[name], dir, name, cluster.Options{}))
	}
	start(t, sites...)
	introduce(t, sites...)
	home := sites[0]
	sees(t, home, map[string]int{"busy": 4, "small": 2, "free": 6})

	data := noise(t, dir, "data.bin", mebi)
	id := work{
		script: `echo "$GBROKER_SITE $GBROKER_PROCESSES"; wc -c < data.bin; cp data.bin back.bin`, cpus: 4, walltime: 120,
		brings: []string{"data.bin"}, output: "out.txt", takes: []string{"back.bin"},
	}.submit(t, home, dir, "best")
	d := first(t, home, id, "free")
	if w := wait(row(t, d, "busy")); w < 300 || w > 660 {
		t.Errorf("the busy site is to be free in about ten minutes, not %.0f s:\n%s", w, client(t, home, "explain", id))
	}
	if w := wait(row(t, d, "free")); w < 0 || w > 60 {
		t.Errorf("the free site is to start it soon, not in %.0f s:\n%s", w, client(t, home, "explain", id))
	}
	if r := row(t, d, "small"); r.Refusal == nil {
		t.Errorf("two processes at most can run at the small site:\n%s", client(t, home, "explain", id))
	}
	completed(t, home, id, "free")
	if got, want := output(t, home, dir, id, "out.txt"), "free 4\n1048576\n"; got != want {
		t.Errorf("it says %q and not %q", got, want)
	}
	if output(t, home, dir, id, "back.bin") != string(data) {
		t.Error("the file that came home is not the one that went")
	}
	if state := stateOf(t, c["busy"], number); state != "R" {
		t.Errorf("the job by hand is %q", state)
	}
}

// ranks is a program of MPI: each process says its rank and the node that Slurm has put it
// on, as the process that started it knows, and they count themselves together.
const ranks = `#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char *node(void) {
	static char text[1 << 16];
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/environ", (int)getppid());
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	for (char *p = text; p < text + n; p += strlen(p) + 1)
		if (strncmp(p, "SLURMD_NODENAME=", 16) == 0) return p + 16;
	return "nowhere";
}
int main(int argc, char **argv) {
	int rank, size, one = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d at %s, %d together\n", rank, size, node(), sum);
	return MPI_Finalize();
}
`

// A parallel program is started over three nodes of a cluster elsewhere: a process for each
// rank, where Slurm has given it a place.
func TestSlurmMPI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mpirun.mpich", "mpicc.mpich"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s on this machine (Debian: mpich): parallel jobs over several nodes are not tested", name)
		}
	}
	dir := place(t)
	must(t, os.WriteFile(filepath.Join(dir, "ranks.c"), []byte(ranks), 0o644))
	if out, err := exec.CommandContext(t.Context(), "mpicc.mpich", "-o", filepath.Join(dir, "ranks"), filepath.Join(dir, "ranks.c")).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	c := take(t, "spare")["spare"]
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := overSlurm(t, c, dir, "away", cluster.Options{})
	start(t, home, away)
	introduce(t, home, away)
	sees(t, home, map[string]int{"away": 6})

	document := work{program: "ranks", mpi: 6, brings: []string{"ranks"}, output: "out.txt", walltime: 120}.document("mpi")
	document = strings.ReplaceAll(document, "jsdl-spmd/MPI<", "jsdl-spmd/MPICH2<")
	must(t, os.WriteFile(filepath.Join(dir, "mpi.jsdl"), []byte(document), 0o644))
	id := strings.TrimSpace(client(t, home, "submit", filepath.Join(dir, "mpi.jsdl")))
	completed(t, home, id, "away")
	said := output(t, home, dir, id, "out.txt")
	nodes := map[string]int{}
	for rank := range 6 {
		prefix := "rank " + string(rune('0'+rank)) + " of 6 at "
		_, rest, there := strings.Cut(said, prefix)
		node, _, _ := strings.Cut(rest, ", 6 together\n")
		if !there || strings.Count(said, prefix) != 1 {
			t.Errorf("rank %d has not spoken once:\n%s", rank, said)
		}
		nodes[node]++
	}
	if len(nodes) != 3 || nodes["node01"] != 2 || nodes["node02"] != 2 || nodes["node03"] != 2 {
		t.Errorf("the ranks lie on %v, not two on each node:\n%s", nodes, said)
	}
}

// A reservation that was made by hand keeps a job of another user out, and the broker's
// estimate knows it; the job that is bound to it runs in it.
func TestSlurmReservation(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "wide")["wide"]
	s := overSlurm(t, c, dir, "s", cluster.Options{})
	start(t, s)
	sees(t, s, map[string]int{"s": 6})
	operator := func(args ...string) string {
		t.Helper()
		r := s.Admin(t.Context(), append([]string{"batch", args[0], "--config", s.Config()}, args[1:]...)...)
		if r.Code != 0 {
			t.Fatalf("gbroker batch %v: exit status %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
		}
		return strings.TrimSpace(r.Stdout)
	}
	reservation := operator("reserve", "--nodes", "node01,node02,node03", "--start", "+25s", "--for", "20m")
	theirs := stranger(t, c, "sleep 600", "-n1", "--time=10")
	submitted := strings.Fields(operator("submit", "--reservation", reservation, "--walltime", "5m", "--", "/bin/sh", "-c", "echo $SLURM_JOB_NODELIST > "+dir+"/inside"))
	eventually(t, "the job in the reservation is to run", func() bool { return cluster.Exists(filepath.Join(dir, "inside")) })
	eventually(t, "it is to end", func() bool { return stateOf(t, c, submitted[1]) == "" })
	if state := stateOf(t, c, theirs); state != "PD" {
		t.Errorf("the job of another user is %q while the nodes are reserved", state)
	}

	// One that is not bound to it waits for its end, and for the other user's ten minutes.
	id := work{script: "true", cpus: 6, walltime: 60}.submit(t, s, dir, "waits")
	if w := wait(row(t, first(t, s, id, "s"), "s")); w < 1500 || w > 1850 {
		t.Errorf("a job is estimated to start in %.0f s, not in half an hour:\n%s", w, client(t, s, "explain", id))
	}
	local(t, c, id, "PD")
	operator("unreserve", reservation)
	eventually(t, "the job of another user is to run after the reservation", func() bool { return stateOf(t, c, theirs) == "R" })
	c.Run(t, "scancel", theirs)
	completed(t, s, id, "s")
}
