package workflow

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

func read(t *testing.T, name string) *Workflow {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Read(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestYAML(t *testing.T) {
	t.Parallel()
	w := read(t, "words.yaml")
	if w.Name != "words" || w.Retries != 2 || len(w.Tasks) != 4 {
		t.Fatalf("%+v", w)
	}
	count := w.Tasks[1]
	if count.Cores != 2 || count.Memory != 1e9 || count.Walltime != 10*time.Minute || !count.Rerunnable || count.Outputs[0].Size != 10e6 || count.Script != "count.sh" {
		t.Errorf("%+v", count)
	}
	want := []Edge{{0, 1, 1}, {0, 2, 1}, {1, 3, 10e6}, {2, 3, 1}}
	if got := w.Edges(); !reflect.DeepEqual(got, want) {
		t.Errorf("the edges are %v, not %v", got, want)
	}
}

// Both versions of WfCommons say the same.
func TestWfCommons(t *testing.T) {
	t.Parallel()
	a, b := read(t, "diamond-1.4.json"), read(t, "diamond-1.5.json")
	if !reflect.DeepEqual(a.Edges(), b.Edges()) || len(a.Edges()) != 4 || a.Edges()[3] != (Edge{2, 3, 70}) {
		t.Errorf("the edges are %v and %v", a.Edges(), b.Edges())
	}
	for i := range a.Tasks {
		if !reflect.DeepEqual(a.Tasks[i], b.Tasks[i]) {
			t.Errorf("task %d is %+v and %+v", i, a.Tasks[i], b.Tasks[i])
		}
	}
	if j := a.Tasks[3]; j.Cores != 2 || j.Memory != 1<<20 || j.Runtime != 5*time.Second || len(j.After) != 0 {
		t.Errorf("%+v", j)
	}
}

// Each mistake is told by line and column.
func TestMistakes(t *testing.T) {
	t.Parallel()
	head := "workflow: 1\ntasks:\n"
	for text, want := range map[string]string{
		head + "  - name: a\n    comand: [x]\n":                                                                 `f:4:5: unknown field "comand": did you mean "command"?`,
		"workflow: 1\ntask:\n  - name: a\n":                                                                     `f:2:1: unknown field "task": did you mean "tasks"?`,
		head + "  - name: a\n    command: ./x\n":                                                                `f:4:14: command is the text "./x": write a list`,
		head + "  - name: a\n    command: [x]\n    cores: two\n":                                                `f:5:12: cores is the text "two": write a whole number`,
		head + "  - name: a\n    command: [x]\n    rerunnable: maybe\n":                                         `f:5:17: rerunnable is the text "maybe": write true or false`,
		head + "  - name: a\n    command: [x]\n    runtime: soon\n":                                             `f:5:14: runtime: "soon" is no span of time`,
		head + "  - name: a\n    command: [x]\n    walltime: 600\n":                                             `f:5:15: walltime: "600" has no unit`,
		head + "  - name: a\n    command: [x]\n    memory: much\n":                                              `f:5:13: memory: "much" has no unit of bytes`,
		head + "  - name: a\n    command: [x]\n    inputs: [{nme: b}]\n":                                        `f:5:15: unknown field "nme": did you mean "name"?`,
		head + "  - name: a\n    command: [x]\n    inputs: [[b]]\n":                                             `f:5:14: an entry of inputs is a list: write a text`,
		head + "  - name: a\n    command: [x]\n    configurations: [{name: c, coers: 1}]\n":                     `f:5:32: unknown field "coers": did you mean "cores"?`,
		head + "  - name: a\n":                                                                                  `f:3:5: task "a" names nothing to run`,
		head + "  - name: a\n    command: [x]\n    script: y\n":                                                 `f:5:13: task "a" has a command and a script: leave one`,
		head + "  - name: a\n    command: [x]\n    arguments: [y]\n":                                            `f:5:16: task "a" has no script: arguments`,
		head + "  - name: split\n    command: [x]\n  - name: b\n    command: [x]\n    after: [spilt]\n":         `f:7:13: task b comes after "spilt", which is no other task: did you mean "split"?`,
		head + "  - name: a\n    command: [x]\n    after: [a]\n":                                                `f:5:13: task a comes after itself`,
		head + "  - name: a\n    command: [x]\n  - name: a\n    command: [x]\n":                                 `f:5:11: the name "a" is that of task 1 already`,
		head + "  - command: [x]\n":                                                                             `f:3:5: the task has no name`,
		head + "  - name: a\n    command: [x]\n    after: [b]\n  - name: b\n    command: [x]\n    after: [a]\n": `needs itself: `,
		head + "  - &x {name: a, command: [x]}\n  - {<<: *x}\n":                                                 `f:4:6: the name "a" is that of task 1`,
		"workflow: 2\ntasks: []\n":                                                                              `f:1:11: write workflow: 1`,
		"workflow: 1\n":                                                                                         `f:1:1: it has 0 tasks`,
		"workflow: 1\nretries: -3\ntasks: []\n":                                                                 `f:2:10: retries: -3: write 0 to 100`,
		"workflow: 1\nperiodic: {rate: 2, per: 0.1ms}":                                                          `f:2:12: periodic: `,
		"":             `f:1:1: the file is empty`,
		"- a":          `f:1:1: the file is a list: write fields, as workflow: …`,
		"a: b\n  c: d": `f:1:`,
		"{\n\"schemaVersion\": \"1.4\",\n\"workflow\": 3}": "f:3:",
		"{\"schemaVersion\": \"1.3\"}":                     "1.4 and 1.5 are read",
		"{\"schemaVersion\": \"1.4\",\n\"workflow\": {\"tasks\": [\n{\"id\": \"a\", \"parents\": [\"z\"]}]}}": `f:3:8: task a comes after "z"`,
		"{":    "f:1:",
		"a: [": "f:1:",
	} {
		_, err := Read("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, grid.ErrInvalid) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: the error is %v, not %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"words.yaml", "diamond-1.4.json", "diamond-1.5.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if w, err := Read("f", text); err == nil && len(w.cycle()) > 0 {
			t.Error("a cycle was read")
		}
	})
}

// A plan keeps the order, counts run times by speed, and counts from where the tasks stand.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := read(t, "diamond-1.4.json")
	places := []Place{{Name: "home", Cores: 2, Speed: 1, Rate: 1e6}, {Name: "fast", Cores: 2, Speed: 2, Rate: 1e6}}
	p, err := w.Plan(places, nil, Thorough)
	if err != nil {
		t.Fatal(err)
	}
	if want := 22750 * time.Millisecond; p.Path != want || p.Makespan < want || p.Makespan > want+10*time.Millisecond {
		t.Errorf("the makespan is %v, the critical path %v, not about %v", p.Makespan, p.Path, want)
	}
	late, err := w.Plan(places, []Progress{{Done: true}, {Done: true}, {Runs: true, At: 1, Left: 90 * time.Second}, {}}, Quick)
	if err != nil || late.Tasks[3].Start < 90*time.Second || late.Makespan > 93*time.Second {
		t.Errorf("%+v (%v)", late, err)
	}
	var text, svg bytes.Buffer
	if err := p.Text(&text, 60); err != nil || !strings.Contains(text.String(), "|right_3=") || strings.Count(text.String(), "fast ") != 2 {
		t.Errorf("the chart (%v):\n%s", err, text.String())
	}
	if err := p.SVG(&svg); err != nil || strings.Count(svg.String(), "<rect ") != 4 {
		t.Errorf("the drawing (%v):\n%s", err, svg.String())
	}
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// What a task leaves goes to another site by the way between the two, where there is one: then it is worth to run it where that is fast, though
// home is far from where its data are needed.
func TestWays(t *testing.T) {
	t.Parallel()
	w := &Workflow{Tasks: []Task{
		{Name: "make", Cores: 2, Runtime: 100 * time.Second, Outputs: []Data{{Name: "data", Size: 100_000_000}}},
		{Name: "use", Cores: 4, Runtime: time.Second, Inputs: []Data{{Name: "data"}}},
	}}
	places := []Place{{Name: "home", Cores: 1, Speed: 1}, {Name: "near", Cores: 2, Speed: 1, Rate: 1e8}, {Name: "far", Cores: 4, Speed: 0.1, Rate: 1e5}}
	for _, direct := range []bool{false, true} {
		at, least, most := "far", 1010*time.Second, 1011*time.Second
		if direct {
			places[1].Ways = map[string]float64{"far": 1e8}
			at, least, most = "near", 112*time.Second, 113*time.Second // 100 s, a second home and one on, and 10 s
		}
		p, err := w.Plan(places, nil, Thorough)
		if err != nil || p.Tasks[0].Site != at || p.Makespan < least || p.Makespan > most {
			t.Errorf("direct %v: %+v (%v)", direct, p, err)
		}
	}
}

// Between what a site says of when cores can be had, so many are free as the last word says; a plan waits for them.
func TestOpenings(t *testing.T) {
	t.Parallel()
	w := &Workflow{Name: "three", Tasks: []Task{
		{Name: "small", Cores: 1, Runtime: 10 * time.Second, Command: []string{"a"}},
		{Name: "middle", Cores: 3, Runtime: 10 * time.Second, Command: []string{"a"}},
		{Name: "large", Cores: 8, Runtime: 10 * time.Second, Command: []string{"a"}},
	}}
	busy := Place{Name: "home", Cores: 8, Speed: 1, Rate: 1e6, Openings: []Opening{{8, 100 * time.Second}, {1, 5 * time.Second}, {2, 5 * time.Second}, {4, 60 * time.Second}}}
	p, err := w.Plan([]Place{busy}, nil, Quick)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{5, 60, 100} {
		if got := p.Tasks[i].Start; got != want*time.Second {
			t.Errorf("%s starts at %v, not %v s", p.Tasks[i].Name, got, want)
		}
	}
	if p, err = w.Plan([]Place{busy, {Name: "idle", Cores: 8, Speed: 1, Rate: 1e6}}, nil, Quick); err != nil || p.Makespan > 21*time.Second {
		t.Errorf("beside an idle site the makespan is %v (%v)", p.Makespan, err)
	}
	if got := Probes([]int{3, 1, 99}, []Place{{Cores: 20}, {Cores: 6}}, 10); !slices.Equal(got, []int{1, 2, 3, 4, 6, 8, 16, 20}) {
		t.Errorf("the sites are asked about %v", got)
	}
	if got := Probes(nil, []Place{{Cores: 1000}}, 4); len(got) != 4 || got[0] != 1 || got[3] != 1000 {
		t.Errorf("the sites are asked about %v", got)
	}
}

// What a neighbour says of itself, however far off, takes no plan from anybody.
func TestLyingNeighbour(t *testing.T) {
	t.Parallel()
	w := read(t, "words.yaml")
	for _, liar := range []Place{
		{Name: "later", Cores: 64, Speed: 1, Rate: 1e9, Openings: []Opening{{1, math.MaxInt64}, {64, math.MaxInt64}}},
		{Name: "two", Cores: 64, Speed: 1, Rate: 1e9, Openings: []Opening{{1, 126 * 365 * 24 * time.Hour}, {2, 127 * 365 * 24 * time.Hour}, {64, 128 * 365 * 24 * time.Hour}}},
		{Name: "before", Cores: 64, Speed: 1e-300, Rate: 1e9, Openings: []Opening{{1, math.MinInt64}}},
		{Name: "slow", Cores: 64, Speed: 1e-300, Rate: 1e-300, Delay: math.MinInt64},
	} {
		home := Place{Name: "home", Cores: 4, Speed: 1, Rate: 1e9}
		p, err := w.Plan([]Place{home, liar}, []Progress{{Runs: true, At: 1, Left: math.MaxInt64 / 2}}, Quick)
		if err != nil {
			t.Errorf("%s: %v", liar.Name, err)
			continue
		}
		if p, err = w.Plan([]Place{home, liar}, nil, Quick); err != nil || p.Makespan > time.Hour {
			t.Errorf("%s: a makespan of %v (%v)", liar.Name, p.Makespan, err)
		}
	}
}
