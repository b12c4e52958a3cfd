package dialect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
)

// run gives what a program sees of variables, started with the words of a dialect.
func run(t *testing.T, d grid.Dialect, hosts string, env ...string) map[string]string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hosts")
	if err := os.WriteFile(file, []byte(hosts), 0o600); err != nil {
		t.Fatal(err)
	}
	words := append(Words(d), "/usr/bin/env")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/h", "GBROKER_JOB=home.01JD.3", "GBROKER_SITE=away", "GBROKER_HOSTFILE=" + file}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		seen[name] = strings.ReplaceAll(value, dir, "DIR")
	}
	return seen
}

func TestVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		d     grid.Dialect
		hosts string
		env   []string
		want  map[string]string
	}{
		{"slurm elsewhere", grid.DialectSlurm, "n1\nn1\nn2\nn2\nn3\n", []string{"SLURM_CPUS_PER_TASK=4", "SLURM_ARRAY_TASK_ID=7"}, map[string]string{
			"SLURM_JOB_ID": "home.01JD.3", "SLURM_SUBMIT_DIR": "DIR", "SLURM_CLUSTER_NAME": "away", "SLURM_JOB_NUM_NODES": "3", "SLURM_NNODES": "3",
			"SLURM_TASKS_PER_NODE": "2(x2),1", "SLURM_CPUS_ON_NODE": "8", "SLURM_PROCID": "0", "SLURM_ARRAY_JOB_ID": "home.01JD",
			"SLURM_JOBID": "", "SLURM_JOB_NODELIST": "", "SLURM_NODELIST": "", "PBS_JOBID": "", "dialect": "", "number": "",
		}},
		{"slurm at home", grid.DialectSlurm, "n1\n", []string{"SLURM_JOB_ID=12", "SLURM_SUBMIT_DIR=/x", "SLURM_NNODES=", "SLURM_TASKS_PER_NODE=9"}, map[string]string{
			"SLURM_JOB_ID": "12", "SLURM_SUBMIT_DIR": "DIR", "SLURM_NNODES": "", "SLURM_TASKS_PER_NODE": "9", "SLURM_ARRAY_JOB_ID": "",
		}},
		{"torque elsewhere", grid.DialectTORQUE, "n1\nn2\n", nil, map[string]string{
			"PBS_JOBID": "home.01JD.3", "PBS_O_WORKDIR": "DIR", "PBS_NODEFILE": "DIR/hosts", "PBS_O_HOME": "/h", "PBS_ENVIRONMENT": "", "PBS_JOBDIR": "", "SLURM_JOB_ID": "",
		}},
		{"openpbs at home", grid.DialectOpenPBS, "n1\n", []string{"PBS_NODEFILE=/f", "PBS_ENVIRONMENT=PBS_BATCH", "PBS_JOBID=3.s"}, map[string]string{
			"PBS_JOBID": "3.s", "PBS_NODEFILE": "/f", "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBDIR": "DIR",
		}},
	} {
		seen := run(t, c.d, c.hosts, c.env...)
		for name, want := range c.want {
			if seen[name] != want {
				t.Errorf("%s: %s is %q, not %q", c.what, name, seen[name], want)
			}
		}
	}
}

// The program is executed as it is, with its arguments.
func TestProgram(t *testing.T) {
	t.Parallel()
	words := append(Words(grid.DialectSlurm), "/bin/echo", "a b", "$HOME", "-n")
	out, err := exec.Command(words[0], words[1:]...).Output()
	if string(out) != "a b $HOME -n\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if Words("") != nil {
		t.Error("a program without a dialect has a prelude")
	}
}
