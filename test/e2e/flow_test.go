package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/test/cluster"
)

// flowTask is a task of a workflow file; it writes its beginning and end into a ledger.
func flowTask(ledger, name, does string, inputs, outputs []string) string {
	script := fmt.Sprintf("echo start %[1]s >> %[2]s; %[3]s; e=$?; echo end %[1]s >> %[2]s; exit $e", name, ledger, does)
	return fmt.Sprintf("  - {name: %s, command: [sh, -c, %q], inputs: [%s], outputs: [%s], runtime: 500ms, walltime: 1m}\n", name, script, strings.Join(inputs, ", "), strings.Join(outputs, ", "))
}

// twentyFive is a workflow with a fan-out, a diamond, a second fan-out and a fan-in, and what its last file holds.
func twentyFive(ledger string) (file, want string) {
	var b strings.Builder
	b.WriteString("workflow: 1\nname: twenty-five\nretries: 1\ntasks:\n")
	b.WriteString(flowTask(ledger, "seed", "sleep 0.3; cat text.txt text.txt > seed", []string{"text.txt"}, []string{"seed"}))
	var parts, squares []string
	for i := range 10 {
		part := fmt.Sprintf("part%d", i)
		parts = append(parts, part)
		b.WriteString(flowTask(ledger, part, fmt.Sprintf("sleep 0.5; { cat seed; echo %d; } > %s", i, part), []string{"seed"}, []string{part}))
	}
	b.WriteString(flowTask(ledger, "left", "sleep 0.4; cat part0 part1 > left", parts[:2], []string{"left"}))
	b.WriteString(flowTask(ledger, "right", "sleep 0.4; cat part2 part3 > right", parts[2:4], []string{"right"}))
	for i := range 10 {
		square := fmt.Sprintf("square%d", i)
		squares = append(squares, square)
		b.WriteString(flowTask(ledger, square, fmt.Sprintf("sleep 0.5; cat part%d left right > %s", i, square), []string{parts[i], "left", "right"}, []string{square}))
	}
	b.WriteString(flowTask(ledger, "join", "cat "+strings.Join(squares, " ")+" > join", squares, []string{"join"}))
	b.WriteString(flowTask(ledger, "last", "cat join left > result", []string{"join", "left"}, []string{"result"}))
	part := func(i int) string { return fmt.Sprintf("bytes\nbytes\n%d\n", i) }
	left, right := part(0)+part(1), part(2)+part(3)
	for i := range 10 {
		want += part(i) + left + right
	}
	return b.String(), want + left
}

// flowOf waits for the end of a workflow.
func flowOf(t *testing.T, s *cluster.Site, id string, limit time.Duration) api.FlowStatus {
	t.Helper()
	var f api.FlowStatus
	inTime(t, limit, "the workflow has ended", func() bool {
		f = told[api.FlowStatus](t, s, "flow", "status", id)
		return f.State == "ended"
	})
	return f
}

// entered is how many lines a ledger has.
func entered(ledger string) int {
	text, _ := os.ReadFile(ledger)
	return strings.Count(string(text), "\n")
}

// killAlong kills the home of a workflow when its tasks have begun and ended 6 times, and it and another site at 24; each is started again.
func killAlong(t *testing.T, ledger string, home, other *cluster.Site) {
	t.Helper()
	for i, moment := range []int{6, 24} {
		eventually(t, "the workflow goes on", func() bool { return entered(ledger) >= moment })
		home.Kill()
		if i == 1 {
			other.Kill()
			start(t, other)
		}
		start(t, home)
	}
}

// A workflow of 25 tasks over three sites, whose home is killed twice and one of whose sites is killed in the middle: each task
// runs once, and the bytes are right. Resumed, nothing of it runs again; with an edit, what needs that.
func TestAWorkflowThroughKills(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 3})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 3})
	start(t, a, b, c)
	introduce(t, a, b, c)
	ledger := filepath.Join(dir, "ledger")
	text, want := twentyFive(ledger)
	must(t, os.WriteFile(filepath.Join(dir, "text.txt"), []byte("bytes\n"), 0o644))
	file := filepath.Join(dir, "flow.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	id := strings.TrimSpace(client(t, a, "flow", "submit", file))
	killAlong(t, ledger, a, b)
	f := flowOf(t, a, id, patience)
	if f.States[api.FlowDone] != 25 || f.PlannedS <= 0 || f.BoundS <= 0 || f.MakespanS < f.BoundS {
		t.Errorf("the workflow is %+v", f)
	}
	t.Logf("makespan %.1f s, planned %.1f s, lower bound %.1f s, %d plans, through three kills", f.MakespanS, f.PlannedS, f.BoundS, f.PlansMade)
	said, err := os.ReadFile(ledger)
	must(t, err)
	for _, task := range f.Tasks {
		for _, word := range []string{"start ", "end "} {
			if n := strings.Count(string(said), word+task.Name+"\n"); n != 1 {
				t.Errorf("%s%s is %d times in the ledger", word, task.Name, n)
			}
		}
	}
	out := filepath.Join(dir, "out")
	client(t, a, "flow", "wait", id, "--output", out)
	if got, err := os.ReadFile(filepath.Join(out, "last", "result")); err != nil || string(got) != want {
		t.Errorf("the result has %d bytes, not %d (%v)", len(got), len(want), err)
	}
	must(t, os.Remove(ledger))
	client(t, a, "flow", "resume", id, "--wait")
	if n := entered(ledger); n != 0 {
		t.Errorf("a resumed workflow that was done ran %d lines", n)
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(text, "cat join left > result", "cat left join > result", 1)), 0o644))
	client(t, a, "flow", "resume", id, file, "--wait")
	if n := entered(ledger); n != 2 {
		t.Errorf("after an edit of the last task %d lines were run, not 2", n)
	}
}

// A task that fails is tried again if it is rerunnable; then what needs it is cancelled, and the rest goes on. What failed
// runs when the workflow is resumed, and nothing else.
func TestAWorkflowWithAFailure(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 4})
	start(t, s)
	ledger, cure := filepath.Join(dir, "ledger"), filepath.Join(dir, "cure")
	sick := strings.Replace(flowTask(ledger, "sick", "test -e "+cure+" && echo well > sick", []string{"good"}, []string{"sick"}), "{name", "{rerunnable: true, name", 1)
	text := "workflow: 1\nretries: 2\ntasks:\n" + flowTask(ledger, "good", "echo good > good", nil, []string{"good"}) + sick +
		flowTask(ledger, "behind", "cat sick > behind", []string{"sick"}, []string{"behind"}) + flowTask(ledger, "beside", "cat good > beside", []string{"good"}, []string{"beside"})
	file := filepath.Join(dir, "flow.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	id := strings.TrimSpace(client(t, s, "flow", "submit", file))
	f := flowOf(t, s, id, patience)
	states := map[string]string{}
	for _, x := range f.Tasks {
		states[x.Name] = x.State
	}
	if states["good"] != api.FlowDone || states["beside"] != api.FlowDone || states["sick"] != api.FlowFailed || states["behind"] != api.FlowCancelled {
		t.Errorf("the tasks are %v", states)
	}
	begun := func(name string) int {
		text, _ := os.ReadFile(ledger)
		return strings.Count(string(text), "start "+name+"\n")
	}
	if n := begun("sick"); n != 3 {
		t.Errorf("the task that fails was begun %d times, not 3", n)
	}
	must(t, os.WriteFile(cure, nil, 0o644))
	client(t, s, "flow", "resume", id, "--wait")
	if begun("good") != 1 || begun("beside") != 1 || begun("sick") != 4 || begun("behind") != 1 {
		t.Error("what had ended well ran again, or what had not did not")
	}
	graph := client(t, s, "flow", "graph", id)
	if strings.Count(graph, "->") != 3 || !strings.Contains(graph, "reused") {
		t.Errorf("the graph is\n%s", graph)
	}
	long := filepath.Join(dir, "long.yaml")
	must(t, os.WriteFile(long, []byte("workflow: 1\ntasks:\n"+flowTask(ledger, "long", "sleep 300; touch x", nil, []string{"x"})+flowTask(ledger, "never", "cat x", []string{"x"}, nil)), 0o644))
	id = strings.TrimSpace(client(t, s, "flow", "submit", long))
	eventually(t, "the long task runs", func() bool { return begun("long") == 1 })
	if text := client(t, s, "list", "--groups"); strings.Count(text, ".flow") != 2 || !strings.Contains(text, id) {
		t.Errorf("the list of groups is\n%s", text)
	}
	if text := client(t, s, "explain", id); !strings.Contains(text, "it needs long") {
		t.Errorf("the explanation is\n%s", text)
	}
	for _, impatient := range [][]string{{"wait", id, "--timeout", "100ms"}, {"wait", id, "--timeout", "1500ms", "--json"}} {
		if r := s.Client(t.Context(), impatient...); r.Code != 3 || !strings.Contains(r.Stderr, "the workflow "+id+" has not ended in time") {
			t.Errorf("%v ends with %d: %s", impatient, r.Code, r.Stderr)
		}
	}
	for _, f := range [][]string{{"wait", "--any"}, {"wait", "--require-outputs"}, {"wait", "--state", "live"}, {"cancel", "--name", "x"}, {"watch", "--after", "1-1"}, {"status", "--limit", "3"}} {
		if r := s.Client(t.Context(), append(f, id)...); r.Code != 2 || !strings.Contains(r.Stderr, f[1]+" is for jobs") {
			t.Errorf("%v of a workflow ends with %d: %s", f, r.Code, r.Stderr)
		}
	}
	client(t, s, "cancel", id)
	events := client(t, s, "watch", "--json", id)
	for line := range strings.Lines(events) {
		if e := map[string]any{}; json.Unmarshal([]byte(line), &e) != nil || e["task"] == nil && e["flow"] == nil {
			t.Errorf("an event is %q", line)
		}
	}
	if strings.Count(events, `"event":"task"`) < 2 || strings.Count(events, `"event":"ended"`) != 1 {
		t.Errorf("the events are\n%s", events)
	}
	if text := client(t, s, "watch", id); !strings.Contains(text, "ended: 2 cancelled") {
		t.Errorf("the changes are\n%s", text)
	}
	if r := s.Client(t.Context(), "wait", id); r.Code != 1 {
		t.Errorf("waiting for a cancelled workflow ends with %d", r.Code)
	}
	if text := client(t, s, "status", id); !strings.Contains(text, "2 cancelled") {
		t.Errorf("the status is\n%s", text)
	}
	if f := flowOf(t, s, id, patience); f.States[api.FlowCancelled] != 2 || begun("never") != 0 {
		t.Errorf("after a cancel the workflow is %+v", f)
	}
}

// What a task leaves at one site goes from there to the site where the next one runs, by a grant of the home; the second
// time it is not sent at all.
func TestDataBetweenSites(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 3, Speed: 0.01})
	start(t, a, b, c)
	introduce(t, a, b, c)
	broker, err := api.NewClient(api.ClientConfig{Address: a.Address()})
	must(t, err)
	defer broker.Close()
	places, err := broker.FlowPlaces(t.Context(), api.FlowNeeds{Cores: []int{1, 2, 3}})
	must(t, err)
	for _, p := range places { // nothing runs: all of each can be had at once, whatever else is asked
		if len(p.Openings) != p.Cores || slices.ContainsFunc(p.Openings, func(o workflow.Opening) bool { return o.After > time.Second }) {
			t.Errorf("of %s can be had %+v", p.Name, p.Openings)
		}
	}
	if len(places) != 3 || places[1].Ways[places[2].Name] <= 0 || places[2].Ways[places[1].Name] <= 0 {
		t.Errorf("the ways between the others are not known: %+v", places)
	}
	text := `workflow: 1
tasks:
  - {name: make, command: [sh, -c, "head -c 300000 /dev/urandom > data"], outputs: [data], cores: 2, runtime: 2s, walltime: 1m}
  - {name: use, command: [sh, -c, "cksum < data > sum"], inputs: [data], outputs: [sum], cores: 3, walltime: 1m}
  - {name: again, command: [sh, -c, "cksum < data | cmp - sum && cp sum more"], inputs: [data, sum], outputs: [more], cores: 3, walltime: 1m}
`
	file, out := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "out")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	id := strings.TrimSpace(client(t, a, "flow", "submit", file))
	f := flowOf(t, a, id, patience)
	if f.States[api.FlowDone] != 3 || f.Tasks[0].Site != "b" || f.Tasks[1].Site != "c" || f.Tasks[2].Site != "c" {
		t.Fatalf("the workflow is %+v", f)
	}
	log, err := os.ReadFile(c.Log)
	must(t, err)
	for i, want := range []string{`"bytes": 300000`, `"bytes": 0`} {
		said := slices.DeleteFunc(strings.Split(string(log), "\n"), func(line string) bool {
			return !strings.Contains(line, "borrowed from where it was made") || !strings.Contains(line, string(f.Tasks[1+i].Job))
		})
		if len(said) != 1 || !strings.Contains(said[0], want) && !strings.Contains(said[0], strings.ReplaceAll(want, " ", "")) {
			t.Errorf("task %s: %q, not %s", f.Tasks[1+i].Name, said, want)
		}
	}
	client(t, a, "flow", "wait", id, "--output", out)
	sum, err := os.ReadFile(filepath.Join(out, "again", "more"))
	must(t, err)
	if !strings.Contains(string(sum), " 300000") {
		t.Errorf("the sum is %q", sum)
	}
}

// A task runs in the configuration in which it ends first, where what that needs is, and is told which it is; of two that need the only GPU of all
// sites one waits for the other.
func TestConfigurationsOfTasks(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2})
	config, err := os.ReadFile(b.Config())
	must(t, err)
	declared := strings.Replace(strings.Replace(string(config), "\n  cores: 2\n", "\n", 1), "\n  nodes: 1\n", "\n  nodes: [{name: big, cores: 2, resources: {gpu: 1}}]\n", 1)
	must(t, os.WriteFile(b.Config(), []byte(declared), 0o644))
	start(t, a, b)
	introduce(t, a, b)
	var text strings.Builder
	text.WriteString("workflow: 1\ntasks:\n")
	for _, name := range []string{"one", "two"} {
		fmt.Fprintf(&text, "  - {name: %[1]s, command: [sh, -c, \"echo $GBROKER_CONFIGURATION $GBROKER_GPUS at $GBROKER_SITE > %[1]s\"], outputs: [%[1]s], walltime: 5m, configurations: [{name: cores, cores: 2, runtime: 200s}, {name: gpu, resources: {gpu: 1}, runtime: 1s}]}\n", name)
	}
	file, out := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "out")
	must(t, os.WriteFile(file, []byte(text.String()), 0o644))
	if planned := client(t, a, "flow", "plan", file, "--json"); strings.Count(planned, `"configuration": "gpu"`) != 2 {
		t.Errorf("planned %s", planned)
	}
	id := strings.TrimSpace(client(t, a, "flow", "submit", file))
	f := flowOf(t, a, id, patience)
	client(t, a, "flow", "wait", id, "--output", out)
	for _, x := range f.Tasks {
		said, err := os.ReadFile(filepath.Join(out, x.Name, x.Name))
		if must(t, err); x.Configuration != "gpu" || x.Site != "b" || string(said) != "gpu 0 at b\n" {
			t.Errorf("%s ran as %q at %s, and says %q", x.Name, x.Configuration, x.Site, said)
		}
	}
	first, second := f.Tasks[0], f.Tasks[1]
	if first.Started > second.Started {
		first, second = second, first
	}
	if second.Started < first.Ended {
		t.Errorf("both had the GPU: %+v", f.Tasks)
	}
}
