package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/cluster"
)

// scripts are the scripts of package jsdl/script, whose jobs its golden files have.
const scripts = "../../jsdl/script/testdata/"

// compared are those that a cluster of Slurm is given by sbatch and by gclient. Left out are arrays, which are
// compared apart, what waits at its home for something, and those that write into a home folder, or ask for what a fake lacks.
func compared(t *testing.T, dialect string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(scripts + dialect + "-*.sh")
	must(t, err)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".sh")
		out := []string{"array", "throttle", "dependency", "depend", "hold", "paths", "singlejob"}
		if !slices.ContainsFunc(out, func(s string) bool { return strings.HasSuffix(name, "-"+s) }) {
			names = append(names, name)
		}
	}
	if len(names) < 5 {
		t.Fatalf("%d scripts of %s", len(names), dialect)
	}
	return names
}

// laid is a folder of its own for a script, with the script in it.
func laid(t *testing.T, dir, name string) string {
	t.Helper()
	folder := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Join(folder, "work"), 0o755)) // one of them goes there
	text, err := os.ReadFile(scripts + name + ".sh")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, name+".sh"), text, 0o644))
	return folder
}

// written are the texts that stand in a folder and below, but for the script and empty files, in order.
func written(t *testing.T, folder string) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".sh") {
			return err
		}
		text, err := os.ReadFile(path)
		if len(text) > 0 {
			all = append(all, strings.ReplaceAll(string(text), folder, "HERE"))
		}
		return err
	}))
	slices.Sort(all)
	return strings.Join(all, "|")
}

// facts are what Slurm says of a job: what it was given, and how it ended.
func facts(t *testing.T, c *slurmtest.Cluster, number string) string {
	t.Helper()
	words := map[string]string{}
	for w := range strings.FieldsSeq(c.Run(t, "scontrol", "-o", "show", "job", number)) {
		name, value, _ := strings.Cut(w, "=")
		words[name] = value
	}
	count := func(name string) int {
		n, _ := strconv.Atoi(strings.TrimRight(words[name][strings.LastIndexByte(words[name], ':')+1:], "M"))
		return n
	}
	// Memory and GPUs may be asked for by node, by core or for all: what comes of it counts.
	nodes := count("NumNodes")
	memory := count("MinMemoryNode")*nodes + count("MinMemoryCPU")*count("NumCPUs")
	gpus := count("TresPerNode")*nodes + count("TresPerJob")
	said := fmt.Sprintf("memory=%dM gpus=%d", memory, gpus)
	for _, name := range []string{"JobState", "ExitCode", "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "TimeLimit", "Partition", "Features", "OverSubscribe", "Account"} {
		said += " " + name + "=" + words[name]
	}
	return said
}

// Scripts of sbatch run alike where sbatch takes them and where gclient does: the same nodes, tasks, limits
// and end, and they write the same.
func TestSlurmScripts(t *testing.T) {
	t.Parallel()
	slurmtest.Need(t)
	dir := place(t)
	c := slurmtest.Start(t, slurmtest.Config{
		Nodes:      []slurmtest.Nodes{{Count: 4, CPUs: 16, Memory: 64000, More: "Feature=infiniband,bigmem TmpDisk=20000 Gres=gpu:a100:4"}},
		Partitions: []string{"compute Nodes=ALL Default=YES DefaultTime=10 MaxTime=3-0 State=UP", "short Nodes=ALL MaxTime=1-0", "gpu Nodes=ALL MaxTime=3-0"},
		Lines:      []string{"GresTypes=gpu", "SelectTypeParameters=CR_Core_Memory"},
		Gres:       "NodeName=node[01-04] Name=gpu Type=a100 File=/dev/full,/dev/null,/dev/random,/dev/zero\n", // devices that all have
	})
	s := overSlurm(t, c, dir, "s", cluster.Options{More: "each_node: {disk: 20GB}\n"})
	start(t, s)
	sees(t, s, map[string]int{"s": 64})

	names := compared(t, "slurm")
	direct, ours := map[string]string{}, map[string]string{}
	for _, name := range names {
		folder := laid(t, filepath.Join(dir, "direct"), name)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := c.Command(ctx, "sbatch", "--parsable", name+".sh")
		cmd.Dir = folder
		cmd.Env = append(cmd.Env, "HOSTTYPE=x86_64")
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("sbatch %s: %v: %s", name, err, out)
		}
		direct[name] = strings.TrimSpace(string(out))

		file := filepath.Join(laid(t, filepath.Join(dir, "ours"), name), name+".sh")
		gclient := s.Command(t.Context(), "submit", file)
		gclient.Env = append(gclient.Env, "HOSTTYPE=x86_64")
		text, err := gclient.Output()
		if err != nil {
			t.Fatalf("gclient submit %s: %v", name, err)
		}
		ours[name] = strings.TrimSpace(string(text))
	}
	for _, name := range names {
		number := ""
		eventually(t, name+" is to end", func() bool {
			state := told[struct {
				State string `json:"state"`
			}](t, s, "status", ours[name]).State
			return slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED_WALLTIME", "KILLED"}, state) && stateOf(t, c, direct[name]) == ""
		})
		for line := range strings.Lines(c.Run(t, "squeue", "-h", "-t", "all", "-o", "%A|%k")) {
			if id, mark, _ := strings.Cut(strings.TrimSpace(line), "|"); strings.Contains(mark, "/"+ours[name]+"@") {
				number = id
			}
		}
		if number == "" {
			t.Errorf("%s: Slurm knows no job of %s:\n%s", name, ours[name], client(t, s, "explain", ours[name]))
			continue
		}
		if d, o := facts(t, c, direct[name]), facts(t, c, number); d != o {
			t.Errorf("%s is by sbatch\n%s\nand by gclient\n%s", name, d, o)
		}
		came := filepath.Join(dir, "came", name)
		client(t, s, "output", ours[name], came)
		if d, o := written(t, filepath.Join(dir, "direct", name)), written(t, came); d != o && name != "slurm-serial" {
			t.Errorf("%s writes by sbatch\n%q\nand by gclient\n%q", name, d, o)
		}
	}
	compareArrays(t, c, s, dir)
	byHand := bySbatch(t, c, dir)
	compareOrder(t, dir, byHand, byGclient(t, s, byHand))
	compareThrottle(t, dir, byHand, byGclient(t, s, byHand))
}

// batched runs a command of Slurm in a folder.
func batched(t *testing.T, c *slurmtest.Cluster, folder string, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.Command(ctx, words[0], words[1:]...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// compareArrays: an array has as many jobs, which write the same into files of the same names.
func compareArrays(t *testing.T, c *slurmtest.Cluster, s site, dir string) {
	for _, name := range []string{"slurm-array", "slurm-array-throttle"} {
		folder := laid(t, filepath.Join(dir, "direct"), name)
		must(t, os.MkdirAll(filepath.Join(folder, "logs"), 0o755)) // sbatch makes no folders
		number := batched(t, c, folder, "sbatch", "--parsable", name+".sh")
		all := filepath.Join(dir, "came", name)
		client(t, s, "submit", filepath.Join(laid(t, filepath.Join(dir, "ours"), name), name+".sh"), "--output", all)
		eventually(t, name+" is to end", func() bool { return c.Run(t, "squeue", "-h", "-j", number, "-t", "PD,R,CG") == "" })
		jobs := len(strings.Fields(c.Run(t, "squeue", "-h", "-r", "-j", number, "-t", "all", "-o", "%i")))
		ours, err := os.ReadDir(all)
		must(t, err)
		if d, o := written(t, folder), written(t, all); jobs != len(ours) || d != o {
			t.Errorf("%s is %d jobs by sbatch, which write\n%q\nand %d by gclient\n%q", name, jobs, d, len(ours), o)
		}
	}
}

// count is how many lines a file has.
func count(name string) int {
	text, _ := os.ReadFile(name)
	return strings.Count(string(text), "\n")
}
