package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gbroker/test/cluster"
)

// streamed is what a program writes, read while it does.
type streamed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *streamed) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *streamed) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), s)
}

// came are the files in a folder and below, by their names, with what is in them.
func came(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(folder, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rest, _ := filepath.Rel(folder, name)
		files[rest] = string(text)
		return err
	}))
	return files
}

const writer = `#!/bin/sh
#SBATCH -J mesh
#SBATCH -o %x-%j.log
#SBATCH -t 5
mkdir -p out/deep
echo a >out/a.dat; echo b >out/deep/b.dat; echo t >notes.txt; echo more >>input
ln -s /etc/passwd out/outside.dat
echo "$SLURM_JOB_ID"
`

// What a script writes comes home, here and from another site, and its files have the number of the job.
func TestFilesThatNobodyNamed(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, away)
	introduce(t, home, away)
	script := filepath.Join(dir, "job.sh")
	must(t, os.WriteFile(script, []byte(writer), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "input"), []byte("first\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "constant"), []byte("constant\n"), 0o600))
	for _, c := range []struct {
		name, at string
		words    []string
		files    map[string]string
	}{
		{"all", "home", nil, map[string]string{"out/a.dat": "a\n", "out/deep/b.dat": "b\n", "notes.txt": "t\n", "input": "first\nmore\n"}},
		{"far", "away", []string{"-D", "-n2"}, map[string]string{"out/a.dat": "a\n", "out/deep/b.dat": "b\n", "notes.txt": "t\n", "input": "first\nmore\n"}},
		{"some", "home", []string{"--bring", "out/*.dat", "--bring", "*.txt"}, map[string]string{"out/a.dat": "a\n", "notes.txt": "t\n"}},
		{"none", "home", []string{"--bring", "none"}, map[string]string{}},
	} {
		cmd := home.Command(t.Context(), append([]string{"submit", script, "--include", "input", "--include", "constant"}, c.words...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		must(t, err)
		id := strings.TrimSpace(string(out))
		completed(t, home, id, c.at)
		folder := filepath.Join(dir, c.name)
		client(t, home, "output", id, folder)
		c.files["mesh-"+id+".log"] = id + "\n"
		got := came(t, folder)
		for name, text := range c.files {
			if got[name] != text {
				t.Errorf("%s: %s has %q", c.name, name, got[name])
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s: there came too %q", c.name, got)
		}
	}
}

// The jobs of an array have files of their own, by the number of the array and the index.
func TestNumbersOfAnArray(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	script := filepath.Join(dir, "array.sh")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n#SBATCH -a 3,5\n#SBATCH -t 5\necho $SLURM_ARRAY_JOB_ID $SLURM_JOB_ID; echo made >made.$SLURM_ARRAY_TASK_ID\n"), 0o600))
	client(t, s, "submit", script, "--output", filepath.Join(dir, "came"))
	group := ""
	for name, text := range came(t, filepath.Join(dir, "came")) {
		if strings.HasSuffix(name, ".out") {
			group = strings.Fields(text)[0]
		}
	}
	got := came(t, filepath.Join(dir, "came"))
	for folder, index := range map[string]string{"1": "3", "2": "5"} {
		if text := got[folder+"/slurm-"+group+"_"+index+".out"]; text != group+" "+group+"."+folder+"\n" || got[folder+"/made."+index] != "made\n" {
			t.Errorf("the job of index %s writes %q", index, got)
		}
	}
}
