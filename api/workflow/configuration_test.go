package workflow

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

const trained = `workflow: 1
tasks:
  - {name: data, command: [make], outputs: [data], runtime: 10s}
  - name: one
    command: [train]
    inputs: [data]
    cores: 2
    walltime: 1h
    configurations:
      - {name: cpu, cores: 4, runtime: 100s}
      - {name: gpu, resources: {gpu: 1}, runtime: 30s}
  - {name: two, command: [train], inputs: [data], cores: 1, configurations: [{name: cpu, cores: 4, runtime: 100s}, {name: gpu, resources: {gpu: 1}, runtime: 30s}]}
`

// What a configuration does not say is as the task says it.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	w, err := Read("f", []byte(trained))
	if err != nil {
		t.Fatal(err)
	}
	ways := w.Tasks[1].Ways()
	if len(ways) != 2 || ways[0].Cores != 4 || ways[0].Expected() != 100*time.Second || ways[0].Walltime != time.Hour || ways[0].Resources != nil ||
		ways[1].Cores != 2 || ways[1].Expected() != 30*time.Second || !slices.Equal(ways[1].Resources, []grid.Resource{{Name: "gpu", Amount: 1}}) {
		t.Errorf("%+v", ways)
	}
	if names := w.Resources(); !slices.Equal(names, []string{"gpu"}) {
		t.Errorf("the resources are %v", names)
	}
	task := "workflow: 1\ntasks:\n  - {name: a, command: [x], "
	for text, want := range map[string]string{
		task + "configurations: [{cores: 1}]}":                                  `f:3:45: task a: the name of configuration 1, ""`,
		task + "configurations: [{name: x}, {name: x}]}":                        "the name of configuration 2",
		task + "configurations: [{name: x, cores: -1}]}":                        "less than nothing",
		task + "configurations: [{name: x, resources: {gpu: 0}}]}":              "gpu",
		task + "configurations: [{name: x, processors: 1}]}":                    "processors",
		task + "resources: {a: 1, b: 1, c: 1, d: 1, e: 1}}":                     "resources of 5 names",
		task + "configurations: [" + strings.Repeat("{name: x},", 9) + "]}":     "has 9 configurations",
		"workflow: 1\ntasks:\n  - {name: a, jsdl: a.jsdl, resources: {gpu: 1}}": "has a document, which says what it needs",
	} {
		if _, err := Read("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: the error is %v, not %q", text, err, want)
		}
	}
}

// The plan takes the configuration that ends first: of two that want the only GPU one after the other, if that is sooner than by cores; what others
// have of it is closed; a site that has none runs none in that way.
func TestPlanTakesConfigurations(t *testing.T) {
	t.Parallel()
	w, err := Read("f", []byte(trained))
	if err != nil {
		t.Fatal(err)
	}
	gpu := []Amount{{Name: "gpu", Most: 1}}
	busy := []Amount{{Name: "gpu", Most: 1, Openings: []Opening{{Cores: 1, After: time.Hour}}}}
	two := []Amount{{Name: "gpu", Most: 2, Openings: []Opening{{Cores: 1}, {Cores: 2, After: time.Hour}}}}
	for _, c := range []struct {
		name     string
		amounts  []Amount
		progress []Progress
		want     string
		makespan time.Duration
	}{
		{"none", nil, nil, "cpu cpu", 110 * time.Second},
		{"one", gpu, nil, "gpu gpu", 70 * time.Second},
		{"busy", busy, nil, "cpu cpu", 110 * time.Second},
		{"one of two", two, nil, "gpu gpu", 70 * time.Second},
		{"runs", gpu, []Progress{{Done: true}, {Runs: true, Way: 1, Left: 90 * time.Second}, {}}, " cpu", 100 * time.Second},
		{"learned", gpu, []Progress{{}, {Needs: []time.Duration{0, 200 * time.Second}}, {Needs: []time.Duration{20 * time.Second, 200 * time.Second}}}, "cpu cpu", 110 * time.Second},
	} {
		p, err := w.Plan([]Place{{Name: "home", Cores: 8, Speed: 1, Rate: 1e9, Amounts: c.amounts}}, c.progress, Thorough)
		if err != nil {
			t.Fatal(c.name, err)
		}
		got := p.Tasks[1].Named + " " + p.Tasks[2].Named
		if c.name == "runs" {
			got = " " + p.Tasks[2].Named
		}
		if got != c.want || (p.Makespan-c.makespan).Abs() > time.Second {
			t.Errorf("%s: %q, makespan %v: not %q, %v", c.name, got, p.Makespan, c.want, c.makespan)
		}
	}
}

// A configuration that all places refuse for ever is not planned where another one is not; what all refuse in all is planned all the same.
func TestPlanTakesWhatIsNotRefused(t *testing.T) {
	t.Parallel()
	w := &Workflow{Name: "w", Tasks: []Task{{Name: "a", Configurations: []Configuration{
		{Name: "big", Shape: "b", Runtime: time.Second}, {Name: "small", Shape: "s", Runtime: 10 * time.Second},
	}}}}
	for _, c := range []struct {
		refused [2][]string
		want    string
		site    string
	}{
		{[2][]string{{"b"}, {"b"}}, "small", ""}, {[2][]string{{"b", "s"}, {"b"}}, "small", "other"}, {[2][]string{{"b", "s"}, {"b", "s"}}, "big", ""},
		{[2][]string{{"b", "s"}, {"s"}}, "big", "other"}, {[2][]string{nil, nil}, "big", ""},
	} {
		places := []Place{{Name: "home", Cores: 2, Speed: 1, Rate: 1e9, Refuses: c.refused[0]}, {Name: "other", Cores: 2, Speed: 1, Rate: 1e9, Refuses: c.refused[1]}}
		p, err := w.Plan(places, nil, Thorough)
		if err != nil || p.Tasks[0].Named != c.want || c.site != "" && p.Tasks[0].Site != c.site {
			t.Errorf("refused %v: planned is %+v (%v), not %s", c.refused, p, err, c.want)
		}
	}
}

// Tasks share the memory of a place: what it has said that it has, at once; of one that has said nothing any amount. A task that needs more than any
// place has is planned with all of it: whether it could ever run the places tell.
func TestMemory(t *testing.T) {
	t.Parallel()
	const gigabyte = 1 << 30
	w := &Workflow{Tasks: []Task{
		{Name: "one", Memory: 6 * gigabyte, Runtime: 10 * time.Second}, {Name: "two", Memory: 6 * gigabyte, Runtime: 10 * time.Second},
		{Name: "small", Runtime: 10 * time.Second},
	}}
	said := []Amount{{Name: Memory, Most: 8 * gigabyte, Openings: []Opening{{Cores: 8 * gigabyte}}}}
	later := []Amount{{Name: Memory, Most: 12 * gigabyte, Openings: []Opening{{Cores: 6 * gigabyte}, {Cores: 12 * gigabyte, After: 5 * time.Second}}}}
	kinds := []Amount{{Name: Memory, Most: 12 * gigabyte, Openings: []Opening{{Cores: 3 * gigabyte, After: time.Hour}, {Cores: 12 * gigabyte}}}}
	for want, amounts := range map[time.Duration][]Amount{10: nil, 20: said, 15: later} {
		p, err := w.Plan([]Place{{Name: "home", Cores: 8, Speed: 1, Rate: 1e6, Amounts: amounts}}, nil, Quick)
		if err != nil || p.Makespan != want*time.Second {
			t.Errorf("%+v: %+v (%v)", amounts, p, err)
		}
	}
	if p, err := w.Plan([]Place{{Name: "home", Cores: 8, Speed: 1, Rate: 1e6, Amounts: kinds}}, nil, Quick); err != nil || p.Makespan != 10*time.Second {
		t.Errorf("less of it later than more: %+v (%v)", p, err)
	}
	w.Tasks[2].Memory = 100 * gigabyte
	if p, err := w.Plan([]Place{{Name: "home", Cores: 8, Speed: 1, Rate: 1e6, Amounts: said}}, nil, Quick); err != nil || p.Makespan != 30*time.Second {
		t.Errorf("more than there is: %+v (%v)", p, err)
	}
}
