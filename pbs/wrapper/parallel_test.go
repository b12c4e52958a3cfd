package wrapper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

func TestHostFile(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		folder := t.TempDir()
		scontrol := "#!/bin/sh\n[ \"$3\" = 'node[01-03]' ] && printf 'node01\\nnode02\\nnode03\\n'\n"
		if err := pbstest.WriteFile(filepath.Join(folder, "scontrol"), []byte(scontrol), 0o755); err != nil {
			t.Fatal(err)
		}
		nodefile := filepath.Join(folder, "nodes")
		if err := os.WriteFile(nodefile, []byte("a\na\nb\nb\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		slurm := []string{"SLURM_JOB_NODELIST=node[01-03]", "SLURM_TASKS_PER_NODE=2(x2),1", "PATH=" + folder + ":/usr/bin:/bin"}
		for name, c := range map[string]struct {
			env       []string
			processes int
			want      string
		}{
			"slurm":                      {slurm, 5, "node01\nnode01\nnode02\nnode02\nnode03\n"},
			"a line for each process":    {[]string{"PBS_NODEFILE=" + nodefile}, 4, "a\na\nb\nb\n"},
			"two lines for each process": {[]string{"PBS_NODEFILE=" + nodefile}, 2, "a\nb\n"},
			"two processes on each":      {[]string{"PBS_NODEFILE=" + nodefile}, 8, "a\na\na\na\nb\nb\nb\nb\n"},
		} {
			n := newNode(t, shell, sh(`cat "$GBROKER_HOSTFILE"; echo "${PBS_NODEFILE-}${SLURM_JOB_NODELIST-}"`))
			n.env, n.Processes = append(n.env, c.env...), c.processes
			n.run()
			if got := n.read("stdout"); got != c.want+"\n" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

// A starter of the site's own, and those that are found by what they say of themselves.
func TestParallel(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		folder := t.TempDir()
		for name, version := range map[string]string{"mpirun": "mpirun (Open MPI) 4.1", "mpirun.mpich": "HYDRA build details", "own": "?"} {
			script := "#!/bin/sh\n[ \"$1\" != --version ] || { echo '" + version + "'; exit; }\necho \"" + name + " $*\"; echo \"$PBS_NODEFILE $SECRET\"\n"
			if err := pbstest.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		nodefile := filepath.Join(folder, "nodes")
		if err := os.WriteFile(nodefile, []byte("a\nb\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for kind, want := range map[string]string{
			"MPI":     "mpirun --oversubscribe --allow-run-as-root --hostfile HOSTS -n 2 /bin/true a b\nNODES \n",
			"openmpi": "mpirun --oversubscribe --allow-run-as-root --hostfile HOSTS -n 2 /bin/true a b\nNODES \n",
			"MPICH2":  "mpirun.mpich -f HOSTS -n 2 /bin/true a b\nNODES \n",
			"Special": "own -np=2 HOSTS -- /bin/true a b\nNODES \n",
		} {
			n := newNode(t, shell, grid.Program{Executable: "/bin/true", Arguments: []string{"a", "b"}, Parallel: kind})
			n.Path, n.Processes, n.env = "relative::"+folder, 2, append(n.env, "PBS_NODEFILE="+nodefile)
			n.Starters = map[string][]string{"special": {folder + "/own", "-np={n}", "{hosts}", "--", "{program}"}}
			code, said := n.run()
			want = strings.NewReplacer("HOSTS", control.HostFile(n.Control, n.ID), "NODES", nodefile).Replace(want)
			if os.Getuid() != 0 {
				want = strings.ReplaceAll(want, "--allow-run-as-root ", "")
			}
			if got := n.read("stdout"); got != want || code != 0 {
				t.Errorf("%s: code %d, %q; want %q; %s", kind, code, got, want, said)
			}
		}
		n := newNode(t, shell, grid.Program{Executable: "/bin/true", Parallel: "intelmpi"})
		n.Path = folder
		n.run()
		if end := n.end(); end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "mpirun is openmpi") {
			t.Errorf("another kind of mpirun: ended %+v", end)
		}
	})
}

// Without a control directory on the nodes the program runs all the same, by whatever the
// broker had decided before.
func TestBlind(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh(`wc -l < "$GBROKER_HOSTFILE"; rm "$GBROKER_HOSTFILE"; exit 3`))
		n.Control, n.Processes = "", 2
		if code, said := n.run(); code != 3 || strings.TrimSpace(n.read("stdout")) != "2" {
			t.Errorf("code %d, %q; %s", code, n.read("stdout"), said)
		}
	})
}
