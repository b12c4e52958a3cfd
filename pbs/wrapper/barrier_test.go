package wrapper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

// atBarrier starts the wrapper of a part, and waits until it says that it is there.
func atBarrier(t *testing.T, shell []string, p grid.Program, change func(*node)) (n *node, cmd *exec.Cmd) {
	t.Helper()
	n = newNode(t, shell, p)
	n.Processes, n.Ports = 2, grid.DefaultPorts
	n.Part = &grid.Part{
		Of: "home.01ABCDEFGHJKMNPQRSTVWXYZ00", Round: 1, Rank: 1,
		Sites: []grid.PartSite{{Name: "there", Processes: 3}, {Name: "here", Processes: 2}},
		Start: control.Now(), Grace: grid.Minute, Within: grid.Minute,
	}
	if change != nil {
		change(n)
	}
	cmd = n.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.until("it arrives", func() bool {
		_, there, err := control.ReadArrived(n.Control, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		return there
	})
	return n, cmd
}

// started tells whether the start token is taken, or anything was left that says so.
func (n *node) started() bool {
	n.Helper()
	_, taken, err := control.ReadToken(n.Control, n.ID)
	if err != nil {
		n.Fatal(err)
	}
	return taken
}

func code(t *testing.T, err error) int {
	t.Helper()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if ended == nil {
		return 0
	}
	return ended.ExitCode()
}

// A part says what it brings and waits, without its token, until all are there; its program is told
// of the others.
func TestAPartWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n, cmd := atBarrier(t, shell, sh(`echo "$GBROKER_SITES/$GBROKER_SITE_RANK/$GBROKER_RENDEZVOUS"; cat "$GBROKER_SITES_HOSTFILE"`), nil)
		a, _, err := control.ReadArrived(n.Control, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		name, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		if alive, _ := a.Process.Alive(); !alive || len(a.Hosts) != 1 || a.Hosts[0] != name+":2" || !strings.HasPrefix(a.Address, name+":2") {
			t.Errorf("it says %+v", a)
		}
		time.Sleep(300 * time.Millisecond) //house:allow sleep: that nothing starts has no event to wait for
		if n.started() {
			t.Fatal("it has its token before all have arrived")
		}
		said := time.Now()
		sites := []grid.Gathered{{Site: "there", Hosts: []string{"m1:2", "m2:1"}, Address: "m1:20007"}, {Site: "here", Hosts: a.Hosts, Address: a.Address}}
		if err := control.Gather(n.Control, n.ID, false, sites); err != nil {
			t.Fatal(err)
		}
		n.until("the program is started", func() bool { _, ran, _ := control.ReadRun(n.Control, n.ID); return ran })
		if took := time.Since(said); took > time.Second {
			t.Logf("%v from go to the program", took)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		want := "there here/1/m1:20007\nm1 there\nm1 there\nm2 there\n" + strings.Repeat(name+" here\n", 2)
		if got := n.read("stdout"); got != want {
			t.Errorf("the program saw %q, and not %q", got, want)
		}
		if end := n.end(); end.Cause != grid.ByItself || end.ExitCode != 0 {
			t.Errorf("%+v", end)
		}
	})
}

// A parallel program that stays within its site is started by what starts such programs there, and told where those of all
// parts meet: an address that is not for mpirun.
func TestAParallelProgramMeetsTheOthers(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		folder := t.TempDir()
		for name, version := range map[string]string{"mpirun.openmpi": "mpirun (Open MPI) 5.0", "mpirun.mpich": "HYDRA build details", "mpirun": "Intel(R) MPI Library", "own": ""} {
			script := "#!/bin/sh\n[ \"$1\" != --version ] || { echo '" + version + "'; exit; }\necho \"" + name + " $GBROKER_SITES/$GBROKER_SITE_RANK/$GBROKER_RENDEZVOUS\"\n"
			if err := pbstest.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for kind, starter := range map[string]string{"OpenMPI": "mpirun.openmpi", "MPICH": "mpirun.mpich", "IntelMPI": "mpirun", "Special": "own"} {
			n, cmd := atBarrier(t, shell, grid.Program{Executable: "/bin/true", Parallel: kind}, func(n *node) {
				n.Path, n.Reached = folder, kind != "MPICH"
				n.Starters = map[string][]string{"special": {folder + "/own", "{program}"}}
			})
			a, _, err := control.ReadArrived(n.Control, n.ID)
			if err != nil || a.Address != "" || !strings.Contains(a.Rendezvous, ":2") {
				t.Errorf("%s: it says %+v, %v", kind, a, err)
			}
			sites := []grid.Gathered{
				{Site: "there", Hosts: []string{"m1:3"}, Address: "m1:20007", Rendezvous: "m1:20008"}, {Site: "here", Hosts: a.Hosts, Rendezvous: a.Rendezvous},
			}
			if err := errors.Join(control.WriteGo(n.Control, n.ID, sites), cmd.Wait()); err != nil {
				t.Fatal(err)
			}
			if got, want := n.read("stdout"), starter+" there here/1/m1:20008\n"; got != want {
				t.Errorf("%s: started was %q, and not %q", kind, got, want)
			}
		}
	})
}

// Nothing has run of a part that is withdrawn at the barrier, told to end there, or forgotten.
func TestAPartThatLeavesTheBarrierHasNotBegun(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, c := range []struct {
			name   string
			code   int
			change func(*node)
			then   func(n *node, cmd *exec.Cmd) error
		}{
			{"withdrawn", 75, nil, func(n *node, _ *exec.Cmd) error {
				_, _, err := control.Take(n.Control, n.ID, control.Broker, control.Process{})
				return err
			}},
			{"told to end", 143, nil, func(_ *node, cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGTERM) }},
			{"its folder thrown away", 75, nil, func(n *node, _ *exec.Cmd) error { return os.RemoveAll(n.Control) }},
			{"forgotten", 69, func(n *node) { n.Part.Start, n.Part.Grace = control.Now()-grid.Minute, grid.Second }, nil},
			{"forgotten, and here before its start", 69, func(n *node) { n.Part.Start, n.Part.Grace = control.Now()+grid.Hour, grid.Second-grid.Minute }, nil},
		} {
			n, cmd := atBarrier(t, shell, sh("echo ran > ran"), c.change)
			if c.then != nil {
				if err := c.then(n, cmd); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			if got := code(t, cmd.Wait()); got != c.code {
				t.Errorf("%s: it ended with %d", c.name, got)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("%s: it ended after %v", c.name, took)
			}
			if _, err := os.Stat(filepath.Join(n.Work, "ran")); err == nil {
				t.Errorf("%s: it ran", c.name)
			}
			if _, err := os.Stat(n.Control); err == nil && c.code != 75 && n.started() {
				t.Errorf("%s: it counts as started", c.name)
			}
		}
	})
}

// A part that has begun ends itself unless it hears in time that all have.
func TestAPartDoesNotRunAlone(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for _, told := range []bool{false, true} {
			n, cmd := atBarrier(t, shell, sh("(sleep 1000 & echo $! > child; wait) & sleep 3"), func(n *node) { n.Part.Within = grid.Second })
			if err := control.Gather(n.Control, n.ID, false, nil); err != nil {
				t.Fatal(err)
			}
			if told {
				if err := control.Gather(n.Control, n.ID, true, nil); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Wait()
			end := n.end()
			if told && (end.Cause != grid.ByItself || end.ExitCode != 0) {
				t.Errorf("it was told that all have begun, and ended %+v", end)
			}
			if !told && (end.Cause != grid.Alone || !strings.Contains(end.Detail, "within 1s")) {
				t.Errorf("it was not told that the others have begun, and ended %+v", end)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(n.read("child")))
			if err != nil {
				t.Fatal(err)
			}
			n.until("its child is ended", func() bool {
				stat, err := control.ReadStat(pid)
				return err != nil || stat.Ended()
			})
		}
	})
}

// A program of MPICH or of Open MPI is one over all sites whose nodes reach each other, without a way from one cluster
// into the other; where one of them is not reached, each part has its own.
func TestOneProgramOfMPIOverSites(t *testing.T) {
	t.Parallel()
	for kind, needs := range map[string][]string{"MPICH": {"mpicc.mpich", "hydra_pmi_proxy"}, "OpenMPI": {"mpicc.openmpi", "mpirun.openmpi", "orted"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			program := hello(t, needs)
			for _, reached := range []bool{true, false} {
				oneWorld(t, grid.Program{
					Executable: program, Arguments: []string{"a b"}, Parallel: kind,
					// Two nodes on one machine would take each other's shared memory for their own.
					Environment: []grid.Variable{{Name: "OMPI_MCA_btl", Value: "tcp,self"}},
				}, reached)
			}
		})
	}
}

// hello is a program that tells the size of its world, the rank of its site and its argument.
func hello(t *testing.T, needs []string) string {
	for _, name := range needs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s on this machine: its programs over sites are not tested", name)
		}
	}
	source := filepath.Join(t.TempDir(), "hello.c")
	if err := os.WriteFile(source, []byte(`#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
	int size, one = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("%d %d %s %s\n", size, sum, getenv("GBROKER_SITE_RANK"), argv[1]);
	MPI_Finalize();
	return 7;
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(source), "hello")
	if out, err := exec.CommandContext(t.Context(), needs[0], "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", needs[0], err, out)
	}
	return program
}

// oneWorld runs the parts of a program at two sites, of which both or one declares to reach the other.
func oneWorld(t *testing.T, program grid.Program, reached bool) {
	shell := shells(t)[0]
	var nodes []*node
	var commands []*exec.Cmd
	for rank, processes := range []int{2, 3} {
		n := newNode(t, shell, program)
		n.Processes, n.Ports, n.Path = processes, grid.DefaultPorts, os.Getenv("PATH")
		if n.Site = "s0"; rank == 1 {
			n.Site = "s1"
		}
		n.Reached = reached || rank == 0
		n.Part = &grid.Part{
			Of: "home.01ABCDEFGHJKMNPQRSTVWXYZ00", Round: 1, Rank: rank, Sites: []grid.PartSite{{Name: "s0", Processes: 2}, {Name: "s1", Processes: 3}},
			Start: control.Now(), Grace: grid.Minute, Within: grid.Minute,
		}
		cmd := n.command()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		nodes, commands = append(nodes, n), append(commands, cmd)
	}
	var all []grid.Gathered
	for _, n := range nodes {
		n.until("it arrives", func() bool { _, there, _ := control.ReadArrived(n.Control, n.ID); return there })
		a, _, err := control.ReadArrived(n.Control, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		if one := n.Reached; a.Rendezvous == "" || one == (a.Address == "") || a.Address == a.Rendezvous {
			t.Errorf("reached %v: it says %+v", one, a)
		}
		all = append(all, grid.Gathered{Site: n.Site, Hosts: a.Hosts, Address: a.Address, Rendezvous: a.Rendezvous})
	}
	for i := range nodes { // the second before the first, which it has to wait for
		n := nodes[len(nodes)-1-i]
		if err := errors.Join(control.WriteGo(n.Control, n.ID, all), control.WriteBegun(n.Control, n.ID)); err != nil {
			t.Fatal(err)
		}
	}
	said := ""
	for i, n := range nodes {
		commands[i].Wait()
		if end := n.end(); end.ExitCode != 7 && (i == 0 || !reached) {
			t.Errorf("part %d ended %+v: %s", i, end, n.read("stderr"))
		}
		said += n.read("stdout")
	}
	want := strings.Repeat("5 5 0 a b\n", 2) + strings.Repeat("5 5 1 a b\n", 3)
	if !reached {
		want = strings.Repeat("2 2 0 a b\n", 2) + strings.Repeat("3 3 1 a b\n", 3)
	}
	lines := strings.SplitAfter(said, "\n")
	slices.Sort(lines)
	if got := strings.Join(lines, ""); got != want {
		t.Errorf("reached %v: the processes said %q, and not %q", reached, got, want)
	}
}
