package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// homeAndAway is a home with one core and another site with four, where every job of two
// processes runs.
func homeAndAway(t *testing.T) (dir string, home, away site) {
	t.Helper()
	dir = place(t)
	home = newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away = newSite(t, dir, "away", cluster.Options{Nodes: 2, Cores: 2})
	start(t, home, away)
	introduce(t, home, away)
	return dir, home, away
}

// What a job that runs elsewhere gets and leaves is byte-equal, under any name, with
// its mode.
func TestFilesThereAndBack(t *testing.T) {
	t.Parallel()
	dir, home, _ := homeAndAway(t)
	files := map[string]int{
		"empty": 0, "one": 1, "range-1": 4*mebi - 1, "range": 4 * mebi, "range+1": 4*mebi + 1, "large": 9*mebi + 12345,
		"deep/er/file": 1000, "with blank": 10, "quote'\"$HOME;*": 11, "ünïcödé-文": 12, "100%25": 13, "-n": 14, ".hidden": 15, "a#b?c": 16,
	}
	want := map[string][]byte{}
	w := work{cpus: 2, script: `set -e; find in -type f | while read -r f; do mkdir -p "out/$(dirname "$f")"; cp -p "$f" "out/$f.copy"; done`}
	for name, n := range files {
		want[name] = noise(t, dir, "in/"+name, n)
		w.brings = append(w.brings, "in/"+name)
		w.takes = append(w.takes, "out/in/"+name+".copy")
	}
	must(t, os.Chmod(filepath.Join(dir, "in/one"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "in/empty"), 0o600))
	out := filepath.Join(dir, "results")
	r := home.Client(t.Context(), "submit", "--output", out, w.write(t, dir, "files"))
	id := strings.TrimSpace(r.Stdout)
	if r.Code != 0 {
		t.Fatalf("gclient submit --output ends with %d: %s", r.Code, r.Stderr)
	}
	st := completed(t, home, id, "away")
	if st.Reason != "" {
		t.Errorf("it is said of the job: %s", st.Reason)
	}
	if st.Used == nil || st.Used.CPUS == nil {
		t.Errorf("the home knows of what it used: %+v", st.Used)
	}
	for name, b := range want {
		file := filepath.Join(out, "out/in", name+".copy")
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes went, %d came back (%v), or others", name, len(b), len(got), err)
		}
		was, err := os.Stat(filepath.Join(dir, "in", name))
		must(t, err)
		if is, err := os.Stat(file); err == nil && is.Mode() != was.Mode() {
			t.Errorf("%s: mode %v went, %v came back", name, was.Mode(), is.Mode())
		}
	}
}

// What surrounds a program elsewhere is what its document says.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	dir, home, _ := homeAndAway(t)
	input := noise(t, dir, "w/d/input", 70000)
	odd := "a \"b\" $HOME 'c'\t<&>"
	w := work{
		cpus: 2, directory: "w/d", input: "input", output: "o.bin", errors: "e.txt",
		env:    [][2]string{{"ODD", odd}, {"EMPTY", ""}, {"LAST", "x=y"}},
		script: `cat; { pwd; printf '%s|%s|%s|' "$ODD" "${EMPTY-unset}" "$LAST"; printf '%s|' "$GBROKER_PROCESSES"; } >&2`,
	}
	// The working directory is a folder of the sandbox; its files lie beside the document under their paths there.
	text := strings.Replace(w.document("around"), "</JobDescription>", "<DataStaging><FileName>input</FileName>"+
		"<CreationFlag>overwrite</CreationFlag><Source><URI>w/d/input</URI></Source></DataStaging></JobDescription>", 1)
	file := filepath.Join(dir, "around.jsdl")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	id := strings.TrimSpace(client(t, home, "submit", file))
	completed(t, home, id, "away")
	out := filepath.Join(dir, "results")
	client(t, home, "output", id, out)
	if got, err := os.ReadFile(filepath.Join(out, "o.bin")); !bytes.Equal(got, input) {
		t.Errorf("standard input had %d bytes, standard output %d (%v), or others", len(input), len(got), err)
	}
	said, err := os.ReadFile(filepath.Join(out, "e.txt"))
	must(t, err)
	where, rest, _ := strings.Cut(string(said), "\n")
	if !strings.HasSuffix(where, "/w/d") || !strings.Contains(where, "/away/data/") {
		t.Errorf("it worked in %q, not in w/d of a sandbox at away", where)
	}
	if want := odd + "||x=y|2|"; rest != want {
		t.Errorf("its environment is %q, not %q", rest, want)
	}
}

// Of a job that runs elsewhere there is what it has written so far.
func TestOutputSoFar(t *testing.T) {
	t.Parallel()
	dir, home, _ := homeAndAway(t)
	gate := filepath.Join(dir, "gate")
	w := work{cpus: 2, output: "log", takes: []string{"result"},
		script: "echo first; while [ ! -e " + gate + " ]; do sleep 0.2; done; echo second; echo 42 >result"}
	id := w.submit(t, home, dir, "slow")
	reaches(t, home, id, "RUNNING")
	out := filepath.Join(dir, "results")
	eventually(t, "the first line of the job that runs", func() bool {
		r := home.Client(t.Context(), "output", "--force", id, out)
		if r.Code != 3 || !strings.Contains(r.Stderr, "has not ended") {
			t.Fatalf("gclient output of a running job ends with %d, not 3: %s", r.Code, r.Stderr)
		}
		b, _ := os.ReadFile(filepath.Join(out, "log"))
		return string(b) == "first\n"
	})
	must(t, os.WriteFile(gate, nil, 0o644))
	completed(t, home, id, "away")
	if r := home.Client(t.Context(), "output", id, out); r.Code == 0 {
		t.Error("without --force the part was overwritten")
	}
	client(t, home, "output", "--force", id, out)
	for name, want := range map[string]string{"log": "first\nsecond\n", "result": "42\n"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); string(b) != want {
			t.Errorf("%s is %q (%v), not %q", name, b, err, want)
		}
	}
}

// gclient ends as the job did, here or elsewhere.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	dir, home, _ := homeAndAway(t)
	for cpus, at := range map[int]string{1: "home", 2: "away"} {
		for _, c := range []struct {
			name   string
			work   work
			code   int
			state  string
			stderr string
		}{
			{"zero", work{script: "exit 0"}, 0, "COMPLETED", ""},
			{"three", work{script: "exit 3"}, 3, "COMPLETED", ""},
			{"most", work{script: "exit 255"}, 255, "COMPLETED", ""},
			{"term", work{script: "kill -TERM $$"}, 128 + 15, "COMPLETED", ""},
			{"segv", work{script: "kill -SEGV $$"}, 128 + 11, "COMPLETED", ""},
			{"absent", work{program: "/no/such/program"}, 255, "FAILED", "/no/such/program"},
			{"overruns", work{program: "/bin/sleep", args: []string{"30"}, walltime: 1}, 128 + 15, "CANCELLED_WALLTIME", "it ran for its limit of 1s"},
		} {
			t.Run(fmt.Sprintf("%s at %s", c.name, at), func(t *testing.T) {
				t.Parallel()
				c.work.cpus = cpus
				if cpus == 1 && c.work.walltime == 0 {
					c.work.walltime = 5
				}
				file := c.work.write(t, dir, fmt.Sprintf("%s-%d", c.name, cpus))
				r := home.Client(t.Context(), "submit", "--wait", file)
				st := status(t, home, strings.TrimSpace(r.Stdout))
				if r.Code != c.code || st.State != c.state {
					t.Errorf("gclient ends with %d, the job %s (%s); not %d, %s\n%s", r.Code, st.State, st.Reason, c.code, c.state, r.Stderr)
				}
				if !strings.Contains(r.Stderr, c.stderr) || c.stderr == "" && r.Stderr != "" {
					t.Errorf("on stderr is %q, and should be %q", r.Stderr, c.stderr)
				}
				if cpus == 2 && string(st.Owner) != at {
					t.Errorf("it ran at %s, not at %s", st.Owner, at)
				}
			})
		}
	}
}
