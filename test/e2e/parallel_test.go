package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// A program of six processes is told how many and where.
func TestHostFile(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 2, Cores: 4})
	start(t, home, away)
	introduce(t, home, away)
	id := work{cpus: 6, script: `echo "$GBROKER_PROCESSES"; cat "$GBROKER_HOSTFILE"`}.submit(t, home, dir, "six")
	if st := completed(t, home, id, "away"); st.Processes != 6 {
		t.Errorf("its status says %d processes", st.Processes)
	}
	out := filepath.Join(dir, "results")
	client(t, home, "output", id, out)
	b, err := os.ReadFile(filepath.Join(out, "stdout"))
	must(t, err)
	got := strings.Fields(string(b))
	if len(got) != 7 || got[0] != "6" {
		t.Fatalf("the host file should have six lines: %q", b)
	}
	hosts := got[1:]
	slices.Sort(hosts)
	if names := slices.Compact(slices.Clone(hosts)); !slices.Equal(names, []string{"away-1", "away-2"}) {
		t.Errorf("the processes lie on %v, not on both nodes of away", names)
	}
	for _, node := range []string{"away-1", "away-2"} {
		if n := len(slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h != node })); n > 4 {
			t.Errorf("%s has %d processes and 4 cores", node, n)
		}
	}
}

// An SPMD job runs under the site's mpirun: each process knows its rank, and they
// talk to each other.
func TestMPI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mpirun", "mpicc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s on this machine: jobs under MPI are not tested", name)
		}
	}
	dir := place(t)
	must(t, os.WriteFile(filepath.Join(dir, "sum.c"), []byte(`#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
	int rank, size, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int mine = rank * rank;
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) printf("%d processes, sum %d\n", size, sum);
	return MPI_Finalize();
}
`), 0o644))
	if out, err := exec.CommandContext(t.Context(), "mpicc", "-o", filepath.Join(dir, "sum"), filepath.Join(dir, "sum.c")).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 2, Cores: 2})
	start(t, home, away)
	introduce(t, home, away)
	id := work{program: "sum", mpi: 4, brings: []string{"sum"}, output: "sum.txt"}.submit(t, home, dir, "mpi")
	completed(t, home, id, "away")
	out := filepath.Join(dir, "results")
	client(t, home, "output", id, out)
	if b, err := os.ReadFile(filepath.Join(out, "sum.txt")); string(b) != "4 processes, sum 14\n" {
		said, _ := os.ReadFile(filepath.Join(out, "stderr"))
		t.Errorf("it says %q (%v), stderr %q", b, err, said)
	}
}
