package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/pbs/slurm/slurmtest"
	"gbroker/test/fakebatch"
)

// handing is a way to hand a script in: by the batch system's own command, or by gclient.
type handing struct {
	name    string
	submit  func(file string, words ...string) (id string)
	release func(id string)
	hold    string                         // the word that holds a job
	after   func(kind, id string) []string // those by which it waits for another
	line    string                         // a directive for its script
}

// byGclient hands in at a broker what another command would get with the same words.
func byGclient(t *testing.T, s site, like handing) handing {
	like.name = "gclient"
	like.submit = func(file string, words ...string) string {
		args := []string{"submit"}
		if len(words) > 0 {
			args = append(args, "-D", strings.Join(words, " "))
		}
		return strings.TrimSpace(client(t, s, append(args, file)...))
	}
	like.release = func(id string) { client(t, s, "release", id) }
	return like
}

// bySbatch and byQsub hand in at the batch system itself.
func bySbatch(t *testing.T, c *slurmtest.Cluster, dir string) handing {
	return handing{
		name: "sbatch", hold: "-H", line: "#SBATCH -t 5",
		submit: func(file string, words ...string) string {
			return batched(t, c, dir, append(append([]string{"sbatch", "--parsable"}, words...), file)...)
		},
		release: func(id string) { batched(t, c, dir, "scontrol", "release", id) },
		after:   func(kind, id string) []string { return []string{"-d", kind + ":" + id} },
	}
}

func byQsub(t *testing.T, srv *fakebatch.Server, dir string) handing {
	run := func(command string, words ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(srv.Bin, command), words...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + srv.Path(), "HOME=" + dir, "LC_ALL=C", "TZ=UTC"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", command, words, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	return handing{
		name: "qsub", hold: "-h", line: "#PBS -l walltime=5:00",
		submit:  func(file string, words ...string) string { return run("qsub", append(words, file)...) },
		release: func(id string) { run("qrls", id) },
		after:   func(kind, id string) []string { return []string{"-W", "depend=" + kind + ":" + id} },
	}
}

// compareOrder: jobs that depend on others, which end well or badly, and one that is held start when those of the batch system's own command
// do, and those that are never to start do not.
func compareOrder(t *testing.T, dir string, ways ...handing) {
	t.Helper()
	log := func(w handing, chain string) string { return filepath.Join(dir, "order-"+w.name+"-"+chain) }
	const chains = "good bad any start"
	held := map[string]string{}
	for _, w := range ways {
		file := func(chain, word string, exit int) string {
			name := filepath.Join(dir, w.name+"-"+word+".sh")
			must(t, os.WriteFile(name, fmt.Appendf(nil, "#!/bin/sh\n%s\nsleep 1\necho %s >>%s\nexit %d\n", w.line, word, log(w, chain), exit), 0o600))
			return name
		}
		held[w.name] = w.submit(file("good", "held", 0), w.hold)
		good := w.submit(file("good", "first", 0), w.hold) // until all are known
		w.submit(file("good", "second", 0), w.after("afterok", good)...)
		w.submit(file("good", "never1", 0), w.after("afternotok", good)...)
		bad := w.submit(file("bad", "broken", 3), w.hold)
		w.submit(file("bad", "rescue", 0), w.after("afternotok", bad)...)
		w.submit(file("bad", "never2", 0), w.after("afterok", bad)...)
		w.submit(file("any", "whatever", 0), w.after("afterany", bad)...)
		w.submit(file("start", "begun", 0), w.after("after", bad)...)
		w.release(good)
		w.release(bad)
	}
	text := func(w handing) string {
		var all []string
		for chain := range strings.FieldsSeq(chains) {
			b, _ := os.ReadFile(log(w, chain))
			all = append(all, strings.ReplaceAll(string(b), "\n", " "))
		}
		return strings.Join(all, "| ")
	}
	await := func(want string) {
		t.Helper()
		for _, w := range ways {
			eventually(t, "by "+w.name+" there is to run "+want, func() bool { return len(text(w)) >= len(want) })
			if got := text(w); got != want {
				t.Errorf("by %s the order is %q, not %q", w.name, got, want)
			}
		}
	}
	await("first second | broken rescue | whatever | begun ")
	for _, w := range ways {
		w.release(held[w.name])
	}
	await("first second held | broken rescue | whatever | begun ")
}

// compareThrottle: of an array no more jobs run at once, and they begin in the same order.
func compareThrottle(t *testing.T, dir string, ways ...handing) {
	t.Helper()
	for _, most := range []int{1, 2} {
		var told []string
		for _, w := range ways {
			log := filepath.Join(dir, fmt.Sprintf("throttle-%s-%d", w.name, most))
			script := log + ".sh"
			must(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\n#SBATCH -a 3,5,6,10%%%d -o /dev/null\necho + $SLURM_ARRAY_TASK_ID >>%s\nsleep 1\necho - $SLURM_ARRAY_TASK_ID >>%s\n", w.line, most, log, log), 0o600))
			if w.name == "gclient" {
				text, err := os.ReadFile(script)
				must(t, err)
				must(t, os.WriteFile(script, []byte(strings.Replace(string(text), "-o /dev/null", "", 1)), 0o600))
			}
			w.submit(script)
			eventually(t, "the array is to end by "+w.name, func() bool { return count(log) == 8 })
			text, err := os.ReadFile(log)
			must(t, err)
			now, at, begun := 0, 0, []string{}
			for line := range strings.Lines(string(text)) {
				if line[0] == '+' {
					now++
					begun = append(begun, strings.TrimSpace(line[2:]))
				} else {
					now--
				}
				at = max(at, now)
			}
			if most > 1 { // of two that begin together any may be the first
				slices.SortFunc(begun[:2], func(a, b string) int { return cmp.Compare(a, b) })
				slices.SortFunc(begun[2:], func(a, b string) int { return cmp.Compare(a, b) })
			}
			told = append(told, fmt.Sprintf("%d at once, %v", at, begun))
		}
		if told[0] != told[1] {
			t.Errorf("an array of which %d may run: by %s %s, by %s %s", most, ways[0].name, told[0], ways[1].name, told[1])
		}
	}
}
