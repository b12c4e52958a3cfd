package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// together is a job that lies over at most so many sites, and notes in a ledger where and when each of its parts
// begins and ends.
func together(ledger string, cpus, sites int) work {
	return work{
		cpus: cpus, terms: fmt.Sprintf(`<gb:Coallocation sites="%d" processes="1"/>`, sites),
		script: fmt.Sprintf(`echo "begin $GBROKER_SITE $GBROKER_SITE_RANK $(date +%%s%%3N) $(wc -l < "$GBROKER_SITES_HOSTFILE") $GBROKER_SITES" >> %[1]s; sleep 2; echo "end $GBROKER_SITE" >> %[1]s`, ledger),
	}
}

// beginning is a line of the ledger.
type beginning struct {
	site  string
	at    int64 // milliseconds since 1970
	hosts int   // lines of the host file of all sites
}

func beginnings(t *testing.T, ledger string) (list []beginning, ends int) {
	t.Helper()
	data, err := os.ReadFile(ledger)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if f[0] == "end" {
			ends++
			continue
		}
		at, err := strconv.ParseInt(f[3], 10, 64)
		must(t, err)
		hosts, err := strconv.Atoi(f[4])
		must(t, err)
		list = append(list, beginning{f[1], at, hosts})
	}
	return list, ends
}

// begunTogether tells that each of the sites began once, within a second of each other and what a dozen
// processes take to start on this machine now, and knows of all.
func begunTogether(t *testing.T, ledger string, processes int, sites ...string) time.Duration {
	t.Helper()
	began := time.Now()
	for range 12 {
		must(t, exec.Command("true").Run())
	}
	return begunWithin(t, time.Second+time.Since(began), ledger, processes, sites...)
}

// begunWithin is that with another span.
func begunWithin(t *testing.T, span time.Duration, ledger string, processes int, sites ...string) time.Duration {
	t.Helper()
	list, ends := beginnings(t, ledger)
	var at []string
	first, last := int64(1<<62), int64(0)
	for _, b := range list {
		at = append(at, b.site)
		first, last = min(first, b.at), max(last, b.at)
		if b.hosts != processes {
			t.Errorf("at %s the host file of all sites has %d lines, and not %d", b.site, b.hosts, processes)
		}
	}
	slices.Sort(at)
	if !slices.Equal(at, sites) || ends != len(sites) {
		t.Errorf("it began at %v, and ended %d times", at, ends)
	}
	apart := time.Duration(last-first) * time.Millisecond
	if apart > span {
		t.Errorf("its parts began %v apart", apart)
	}
	return apart
}

// A job that no site alone can hold runs at two at once: its parts begin together, and know of each other.
func TestOneJobOverTwoSites(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 4})
	b := newSite(t, dir, "beta", cluster.Options{Nodes: 2, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	ledger := filepath.Join(dir, "ledger")
	sees(t, a, map[string]int{"alpha": 4, "beta": 4})
	if r := a.Client(t.Context(), "submit", together(ledger, 9, 2).write(t, dir, "wider")); r.Code == 0 || !strings.Contains(r.Stderr, "it asks for 9 processors, and the 2 largest sites") {
		t.Errorf("a job wider than both sites: %+v", r)
	}
	if r := a.Client(t.Context(), "submit", "--sites-at-most", "2", "--reach", together(ledger, 8, 2).write(t, dir, "talking")); r.Code == 0 || !strings.Contains(r.Stderr, "its parts are to reach each other, and it asks for 8 processors") {
		t.Errorf("a job whose parts do not reach each other: %+v", r)
	}
	wide := together(ledger, 8, 2)
	foreseen(t, a, wide.write(t, dir, "wide"))
	id := wide.submit(t, a, dir, "wide")
	completes(t, a, id)
	t.Logf("the parts began %v apart", begunTogether(t, ledger, 8, "alpha", "beta"))
	if a := told[api.Explanation](t, a, "explain", id).Allocation; a == nil || len(a.Parts) != 2 || a.Go == 0 || a.Begun == 0 || a.Choice == nil || len(a.Choice.Sites) != 2 {
		t.Errorf("explained is %+v", a)
	}
	if list := told[[]api.Status](t, a, "list"); len(list) != 1 || string(list[0].ID) != id || len(list[0].Parts) != 2 {
		t.Errorf("the list has %+v", list)
	}
	if list := told[[]api.Status](t, a, "list", "--parts"); len(list) != 3 || string(list[1].PartOf) != id {
		t.Errorf("the list with parts has %+v", list)
	}
}

// The parts of a parallel program that stays within its sites, each with an MPI of its own, meet where they are told.
func TestPartsOfAParallelProgramMeet(t *testing.T) {
	long(t)
	t.Parallel()
	for _, name := range []string{"mpirun.mpich", "perl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s on this machine: where parallel programs of several sites meet is not tested", name)
		}
	}
	dir := place(t)
	must(t, os.WriteFile(filepath.Join(dir, "meet"), []byte(`#!/usr/bin/env perl
use IO::Socket::INET;
exit if $ENV{PMI_RANK};
print "$ENV{PMI_SIZE} at $ENV{GBROKER_SITE}\n";
my ($host, $port) = split /:/, $ENV{GBROKER_RENDEZVOUS};
if ($ENV{GBROKER_SITE_RANK} == 0) {
	my $listener = IO::Socket::INET->new(Listen => 1, LocalPort => $port) or die "listening on $port: $!";
	print scalar readline $listener->accept;
	exit;
}
for (1 .. 200) {
	if (my $to = IO::Socket::INET->new(PeerHost => $host, PeerPort => $port)) { print $to "met by $ENV{GBROKER_SITE}\n"; exit }
	select undef, undef, undef, 0.1;
}
die "nobody is at $host:$port";
`), 0o755))
	a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 2})
	b := newSite(t, dir, "beta", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 2, "beta": 2})
	id := work{
		program: "meet", mpi: 4, variation: "MPI", brings: []string{"meet"}, output: "met.txt", terms: `<gb:Coallocation sites="2"/>`,
	}.submit(t, a, dir, "meet")
	completes(t, a, id)
	text := output(t, a, dir, id+".1", "met.txt") + output(t, a, dir, id+".2", "met.txt")
	for _, want := range []string{"2 at alpha\n", "2 at beta\n", "met by "} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the parts say %q: not %q", text, want)
		}
	}
}

// foreseen tells that where has the plan of a job over all sites, before it is handed in.
func foreseen(t *testing.T, home site, document string) {
	t.Helper()
	where := told[api.Prospects](t, home, "where", document)
	if s := where.Several; s == nil || s.Start == 0 || s.End <= s.Start || s.Why != "" || len(s.Sites) != 2 || s.Sites[0].Processes != 4 || s.Sites[1].Processes != 4 {
		t.Errorf("where tells %+v", s)
	}
	if list := told[[]api.Status](t, home, "list"); len(list) != 0 {
		t.Errorf("where has handed in %v", list)
	}
}

// The same over two clusters of Slurm, of which each has a broker: again and again in the long form. Nobody
// else's job enters a reservation, and none is left of it.
func TestOneJobOverTwoClusters(t *testing.T) {
	t.Parallel()
	clusters := take(t, "wide", "free")
	dir := place(t)
	a := overSlurm(t, clusters["wide"], dir, "alpha", cluster.Options{})
	b := overSlurm(t, clusters["free"], dir, "beta", cluster.Options{})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 6, "beta": 6})
	for i := range rounds() {
		ledger := filepath.Join(dir, fmt.Sprint("ledger", i))
		must(t, os.WriteFile(ledger, nil, 0o666))
		id := together(ledger, 12, 2).submit(t, a, dir, "wide")
		var reserved []string
		eventually(t, "both clusters hold a reservation for "+id, func() bool {
			reserved = nil
			for _, c := range clusters {
				if _, rest, is := strings.Cut(c.Run(t, "scontrol", "show", "res"), "ReservationName="); is {
					reserved = append(reserved, strings.Fields(rest)[0])
				}
			}
			return len(reserved) == len(clusters)
		})
		if os.Geteuid() == 0 {
			for _, c := range clusters {
				for _, name := range reserved {
					if out, err := intruder(t, c, name); err == nil {
						t.Errorf("the job %s of another account is let into reservation %s", out, name)
					}
				}
			}
		}
		completes(t, a, id)
		t.Logf("round %d: the parts of 12 processes began %v apart", i+1, begunTogether(t, ledger, 12, "alpha", "beta"))
		for name, c := range clusters {
			eventually(t, "no reservation is left at "+name, func() bool { return !strings.Contains(c.Run(t, "scontrol", "show", "res"), "ReservationName") })
		}
	}
}

// The same over a cluster of Slurm and an embedded site, of which either is the home.
func TestOneJobOverSlurmAndEmbedded(t *testing.T) {
	t.Parallel()
	c := take(t, "spare")["spare"]
	dir := place(t)
	a := overSlurm(t, c, dir, "alpha", cluster.Options{})
	b := newSite(t, dir, "beta", cluster.Options{Nodes: 2, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 6, "beta": 4})
	for _, home := range []site{a, b} {
		ledger := filepath.Join(dir, "ledger"+home.Name)
		must(t, os.WriteFile(ledger, nil, 0o666))
		id := together(ledger, 10, 2).submit(t, home, dir, "wide"+home.Name)
		completes(t, home, id)
		t.Logf("from %s the parts began %v apart", home.Name, begunTogether(t, ledger, 10, "alpha", "beta"))
		eventually(t, "no reservation is left in Slurm", func() bool { return len(reservedIn(t, c)) == 0 })
		eventually(t, "no reservation is left in the book of beta", func() bool { return booked(t, b) == 0 })
	}
}

// The same over a fake TORQUE with Maui and an embedded site.
func TestOneJobOverMaui(t *testing.T) {
	t.Parallel()
	dir := place(t)
	srv := fakebatch.Start(t, batch.Config{Face: "torque", Nodes: fakebatch.Nodes("torque", 3, 2)})
	a := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 4})
	b := newSite(t, dir, "beta", cluster.Options{Batch: "torque", Env: []string{"PATH=" + srv.Path()}})
	configure(t, b, "  # refresh: 10s\n", "  refresh: 2s\n")
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 4, "beta": 6})
	ledger := filepath.Join(dir, "ledger")
	id := together(ledger, 10, 2).submit(t, a, dir, "wide")
	completes(t, a, id)
	t.Logf("the parts began %v apart", begunTogether(t, ledger, 10, "alpha", "beta"))
}

// intruder submits a job of another account into a reservation, by its name.
func intruder(t *testing.T, c *slurmtest.Cluster, reservation string) (string, error) {
	t.Helper()
	cmd := c.Command(t.Context(), "sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "--export=PATH", "--reservation="+reservation)
	cmd.Dir, cmd.Stdin = "/", strings.NewReader("#!/bin/sh\nexit 0\n")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// rounds is how often what is shown is shown: GBROKER_ROUNDS of the long form, else once.
func rounds() int {
	n, err := strconv.Atoi(os.Getenv("GBROKER_ROUNDS"))
	if err != nil {
		return 1
	}
	return n
}

// long skips what takes minutes without that.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("GBROKER_ROUNDS") == "" {
		t.Skip("it takes minutes: make soak-coallocation")
	}
}

func completes(t *testing.T, home site, id string) {
	t.Helper()
	eventually(t, id+" is to end", func() bool {
		st, ok := asked(t, home, id)
		if ok && st.Ended != 0 && st.State != "COMPLETED" {
			t.Fatalf("%s ended %s: %s", id, st.State, st.Reason)
		}
		return ok && st.State == "COMPLETED"
	})
}

// A program of MPI is one over two clusters whose nodes reach each other.
func TestOneProgramOverTwoClusters(t *testing.T) {
	t.Parallel()
	oneProgram(t, "MPI", "mpicc.mpich", "hydra_pmi_proxy")
}

// So is one of Open MPI.
func TestOneProgramOfOpenMPIOverTwoClusters(t *testing.T) {
	long(t)
	t.Parallel()
	oneProgram(t, "OpenMPI", "mpicc.openmpi", "orted")
}

func oneProgram(t *testing.T, variation string, needs ...string) {
	for _, name := range needs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s on this machine: its programs over clusters are not tested", name)
		}
	}
	clusters := take(t, "busy", "spare")
	dir := place(t)
	must(t, os.WriteFile(filepath.Join(dir, "sum.c"), []byte(`#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
	int rank, size, one = 1, sum = 0;
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	double at = t.tv_sec + t.tv_nsec / 1e9, first, last;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce(&at, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
	MPI_Reduce(&at, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	printf("rank %d at %s\n", rank, getenv("GBROKER_SITE"));
	if (rank == 0) printf("%d processes, sum %d, apart %d ms\n", size, sum, (int)((last - first) * 1000));
	return MPI_Finalize();
}
`), 0o644))
	if out, err := exec.CommandContext(t.Context(), needs[0], "-o", filepath.Join(dir, "sum"), filepath.Join(dir, "sum.c")).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", needs[0], err, out)
	}
	a := overSlurm(t, clusters["busy"], dir, "alpha", cluster.Options{})
	b := overSlurm(t, clusters["spare"], dir, "beta", cluster.Options{})
	for _, s := range []site{a, b} {
		configure(t, s, "  # reach: [beta, gamma]\n", "  reach: [alpha, beta]\n")
	}
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"alpha": 4, "beta": 6})
	id := work{
		program: "sum", mpi: 10, variation: variation, brings: []string{"sum"}, output: "sum.txt", terms: `<gb:Coallocation sites="2" reach="true"/>`,
		env: [][2]string{{"OMPI_MCA_btl", "tcp,self"}}, // the nodes of a test share a machine's memory
	}.submit(t, a, dir, "mpi")
	completes(t, a, id)
	text := ""
	for _, part := range []string{id + ".1", id + ".2"} {
		text += output(t, a, dir, part, "sum.txt")
	}
	if !strings.Contains(text, "10 processes, sum 10") || strings.Count(text, "at alpha") != 4 || strings.Count(text, "at beta") != 6 {
		t.Errorf("it says %q", text)
	}
	t.Log(text)
}
