package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

// base is an experiment that each test changes.
const base = `sites:
  - {count: 4, cores: 16}
workload:
  jobs: 50
  cores: {poisson: 4, from: 1, to: 16}
  run_s: {lognormal: 30, cv: 1}
  load: 0.8
`

// What is wrong is told with its line and column.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "e.yaml: the file is empty"},
		{"- a\n", "e.yaml:1:1: an experiment is fields"},
		{base + "colour: red\n", `e.yaml:8:1: unknown field "colour": the fields here are title, sites`},
		{base + "links: {delay_s: 1}\n", `e.yaml:8:9: unknown field "delay_s"`},
		{strings.Replace(base, "cores: 16", "cores: 16, kores: 1", 1), `e.yaml:2:27: unknown field "kores": did you mean "cores"?`},
		{strings.Replace(base, "cv: 1", "cw: 1", 1), `e.yaml:6:26: unknown field "cw"`},
		{base + "topology: {randon: 2}\n", `e.yaml:8:12: unknown field "randon"`},
		{base + "topology: star\n", `e.yaml:8:11: topology: "star" is none of full ring grid random members`},
		{base + "topology: {random: 5}\n", "e.yaml:8:12: no graph of 4 sites gives each 5 neighbours"},
		{base + "topology: {members: {site1: [site9]}}\n", `there is no site "site9"`},
		{base + "brokering: {rule: [core, luck]}\n", `e.yaml:8:26: brokering.rule: "luck" is none of none core`},
		{base + "brokering: {reevaluate_s: -1}\n", "brokering.reevaluate_s: it must be from 0 to 1000000000"},
		{base + "replications: 0\n", "e.yaml:8:15: replications: it must be from 1 to 10000"},
		{base + "replications: many\n", `e.yaml:8:15: replications is the text "many": write a whole number`},
		{base + "replications: []\n", "e.yaml:8:1: replications is an empty list"},
		{base + "replications: [[1, 2], 3]\n", "e.yaml:8:16: a list inside of the values of replications"},
		{base + "vary: some\n", `e.yaml:8:7: vary: "some" is none of all one`},
		{strings.Replace(base, "cores: 16", "cores: 0", 1), "e.yaml:2:23: sites.cores: it must be from 1 to 1048576"},
		{strings.Replace(base, "cores: 16", "cores: {poisson: 8}", 1), "sites.cores: it must be from 1"},
		{strings.Replace(base, "cores: 16", "cores: {choose: [4, 0]}", 1), "sites.cores: it must be from 1"},
		{strings.Replace(base, "cores: 16", "cores: .nan", 1), "cores is the number .nan: write a number"},
		{strings.Replace(base, "cores: 16", "cores: 16, policy: lottery", 1), "e.yaml:2:35: sites.policy: "},
		{strings.Replace(base, "cores: 16", "cores: 16, away: {share: 0.1}", 1), "away: say for how long"},
		{strings.Replace(base, "cv: 1", "cv: 0", 1), "lognormal: cv: 0"},
		{strings.Replace(base, "poisson: 4", "poisson: 4000", 1), "poisson: 4000: the mean is above 0 and at most 500"},
		{strings.Replace(base, "poisson: 4", "poisson: 4, choose: [1]", 1), "a number has one form"},
		{strings.Replace(base, "from: 1, to: 16", "from: 7, to: 6", 1), "there is nothing between them"},
		{strings.Replace(base, "load: 0.8", "load: 0.8\n  rate_per_s: 1", 1), "jobs come at a rate (rate_per_s) or ask for a part of the grid (load)"},
		{strings.Replace(base, "  load: 0.8\n", "", 1), "e.yaml:4:3: jobs come at a rate"},
		{strings.Replace(base, "load: 0.8", "load: 0.8\n  home: nowhere", 1), `e.yaml:8:9: there is no site "nowhere"`},
		{strings.Replace(base, "load: 0.8", "load: 0.8\n  skew: {jobs: 0.5}", 1), "say both"},
		{strings.Replace(base, "load: 0.8", "load: 0.8\n  log: {file: a.swf}", 1), "jobs are taken from a log, or made"},
		{strings.Replace(base, "jobs: 50", "users: 2", 1), "e.yaml:4:3: how many jobs come is missing"},
		{base + "plots: [{file: ../up, x: workload.load, y: mean_wait_s}]\n", "a name without a folder"},
		{base + "plots: [{file: up, x: workload.load, y: mean_wait_s}]\n", `"workload.load" is neither a field with several values`},
		{base + "plots: [{file: up, x: degree, y: fun}]\n", `"fun" is no result`},
		{base + "brokering: {view_age_s: [" + strings.Repeat("1, ", 200) + "1], reevaluate_s: [" + strings.Repeat("1, ", 200) + "1]}\n", "more than 10000 combinations"},
		{"sites: [\n", "e.yaml:1:"},
		{strings.Repeat("#", MostBytes+1), "at most 262144 are read"},
	} {
		_, err := Parse("e.yaml", []byte(c.text), false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%.200s\n%v\nwant %s", c.text, err, c.want)
		}
	}
}

// Lists are varied together, or one at a time beside the rules.
func TestGridsOfValues(t *testing.T) {
	t.Parallel()
	text := strings.Replace(base, "load: 0.8", "load: [0.7, 0.9, 0.95]", 1) + "topology: [full, ring, {random: 2}]\nbrokering: {rule: [core, oracle], reevaluate_s: [0, 5]}\n"
	for vary, want := range map[string]int{"all": 3 * 3 * 2 * 2, "one": (1 + 2 + 2 + 1) * 2} {
		e, err := Parse("e.yaml", []byte(text+"vary: "+vary+"\n"), false)
		if err != nil {
			t.Fatal(err)
		}
		if axes := []string{"workload.load", "topology", "brokering.rule", "brokering.reevaluate_s"}; !reflect.DeepEqual(e.Axes, axes) || len(e.points) != want {
			t.Errorf("vary: %s: %v, %d points, not %d", vary, e.Axes, len(e.points), want)
		}
		seen := make(map[string]bool)
		for _, p := range e.points {
			seen[p.Topology.Kind] = true
			if p.Topology.Kind == "random" && p.Topology.Random != 2 || p.Workload.Run.CV != 1 || p.Replications != 1 {
				t.Errorf("a point is %+v", p.spec)
			}
		}
		if len(seen) != 3 {
			t.Errorf("vary: %s: topologies %v", vary, seen)
		}
		oracles := 0
		for _, task := range e.tasks(0) {
			if task.of.Brokering.Rule == "oracle" {
				oracles++
			}
		}
		if oracles != 3 {
			t.Errorf("vary: %s: %d runs of the oracle, which looks at the load alone, not 3", vary, oracles)
		}
	}
}

// The section quick takes the place of what it names, and of nothing else.
func TestQuick(t *testing.T) {
	t.Parallel()
	text := base + "replications: 20\nquick:\n  replications: 2\n  workload: {jobs: 7, cores: 3}\n  seed: 9\n"
	for _, quick := range []bool{false, true} {
		e, err := Parse("e.yaml", []byte(text), quick)
		if err != nil {
			t.Fatal(err)
		}
		p := e.points[0]
		got := []float64{float64(p.Replications), float64(p.Workload.Jobs), p.Workload.Cores.Mean, float64(p.Seed), p.Workload.Load}
		want := map[bool][]float64{false: {20, 50, 4, 1, 0.8}, true: {2, 7, 3, 9, 0.8}}[quick]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("quick %v: %v, not %v", quick, got, want)
		}
	}
}

// Each experiment that comes with the program is one, quick or not.
func TestExamplesAreExperiments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../configs/experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no experiments", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, quick := range []bool{false, true} {
			e, err := Parse(file, data, quick)
			if err != nil {
				t.Error(err)
				continue
			}
			if quick && e.points[0].Workload.Log.File == "" {
				if _, err := e.points[0].world(1, newLogs("")); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}
