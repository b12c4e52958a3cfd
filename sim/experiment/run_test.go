package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/sim/brokers"
)

var store = flag.Bool("store", false, "store the results that are compared with")

func parsed(t *testing.T, text string) *Experiment {
	t.Helper()
	e, err := Parse("e.yaml", []byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// scripted is an engine in which the n-th job waits n seconds under each rule but the oracle, where it starts at once.
func scripted(w brokers.World, stop func() bool, _ func(int, int, grid.Tick)) (brokers.Result, error) {
	r := brokers.Result{Messages: 12, Moves: 2, Steps: 40, Busy: make([]float64, len(w.Sites))}
	for i, j := range w.Jobs {
		wait := grid.Tick(i) * grid.Second
		if w.Brokering.Rule == brokers.Oracle {
			wait = 0
		}
		e := brokers.Ended{Arrival: j.Arrival, Start: j.Arrival + wait, End: j.Arrival + wait + j.Run, Home: int32(j.Home), Cores: int32(j.Cores), Told: j.Arrival + wait + 3*grid.Second}
		if e.Moves = int32(min(i, 1)); stop() {
			e.End = 0
		}
		r.Jobs, r.End, r.Done = append(r.Jobs, e), max(r.End, e.End), r.Done+1
		r.Busy[0] += float64(j.Cores) * j.Run.Seconds()
	}
	return r, nil
}

const three = `sites:
  - {name: big, cores: 8}
  - {name: small, cores: 2}
workload: {jobs: 3, home: big, run_s: 20, rate_per_s: 0.1}
links: {delivery_s: 0.5}
brokering: {rule: [core, oracle], reevaluate_s: 5}
`

// Three jobs of 20 s wait 0, 1 and 2 s: responses 20, 21, 22 and mean 21, by the oracle 20. The second and the third were delivered in
// half a second each, so that they queued for 0.5 and 1.5 s: mean 2/3. Slowdowns 1, 1.05, 1.1.
func TestThreeJobsByHand(t *testing.T) {
	t.Parallel()
	r, err := parsed(t, three).Run(t.Context(), Options{Workers: 2, run: scripted})
	if err != nil || len(r.Rows) != 2 || r.Partial {
		t.Fatal(r, err)
	}
	for name, want := range map[string]float64{
		"jobs": 3, "mean_response_s": 21, "median_response_s": 21, "p99_response_s": 22, "mean_wait_s": 1, "median_wait_s": 1, "p99_wait_s": 2,
		"mean_queued_s": 2.0 / 3, "mean_bounded_slowdown": 1.05, "oracle_ratio": 1.05, "moves_per_job": 2.0 / 3, "messages_per_job": 4, "prediction_error_s": 3,
		"fairness": 1, "sites": 2, "degree": 1,
	} {
		if got := r.Rows[0].Mean[name]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	if s := r.Rows[0].Sites; s[0].Jobs != 3 || s[1].Jobs != 0 || s[0].Utilisation <= 0 || s[1].Utilisation != 0 {
		t.Errorf("sites: %+v", s)
	}
}

// The list of runs has the fields that it is said to have, each a number.
func TestJSONAndCSV(t *testing.T) {
	t.Parallel()
	r, err := parsed(t, three+"replications: 3\n").Run(t.Context(), Options{run: scripted})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Rows)
	var runs []map[string]any
	if err == nil {
		err = json.Unmarshal(text, &runs)
	}
	if err != nil || len(runs) != 2 || runs[0]["brokering"] != "core" || runs[1]["brokering"] != "oracle" || runs[0]["reevaluate_s"] != 5.0 || runs[1]["reevaluate_s"] != 0.0 {
		t.Fatalf("%s, %v", text, err)
	}
	for _, run := range runs {
		for _, name := range strings.Fields("sites degree reevaluate_s view_age_s load jobs mean_response_s mean_wait_s p99_wait_s oracle_ratio moves_per_job messages_per_job") {
			if _, ok := run[name].(float64); !ok {
				t.Errorf("%s is %v", name, run[name])
			}
		}
	}
	var out bytes.Buffer
	if err := r.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 3 || lines[1][0] != "core" || len(lines[0]) != len(lines[2]) {
		t.Errorf("%v, %v", lines, err)
	}
}

// A deviation over the seeds is that of the sample.
func TestDeviation(t *testing.T) {
	t.Parallel()
	if mean, sd := meanAndDeviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); mean != 5 || math.Abs(sd-math.Sqrt(32.0/7)) > 1e-12 {
		t.Errorf("%v ± %v", mean, sd)
	}
}

// Who interrupts gets what is there, marked as partial; an engine that fails fails the experiment, and says with what.
func TestPartialAndFailed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r, err := parsed(t, three+"replications: 5\n").Run(ctx, Options{run: func(w brokers.World, stop func() bool, seen func(int, int, grid.Tick)) (brokers.Result, error) {
		if n++; n == 3 {
			cancel()
		}
		return scripted(w, stop, seen)
	}})
	if err != nil || !r.Partial || len(r.Rows) != 1 || !r.Rows[0].Partial || len(r.Rows[0].Seeds) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	broken := errors.New("a core was had by two")
	_, err = parsed(t, three+"seed: 7\n").Run(t.Context(), Options{run: func(brokers.World, func() bool, func(int, int, grid.Tick)) (brokers.Result, error) {
		return brokers.Result{}, broken
	}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "seed 7") {
		t.Error(err)
	}
}

// The real engine gives the numbers that are stored, with one worker as with four.
func TestSerialStoredResults(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, workers := range []int{1, 4} {
		e, err := Parse("small.yaml", data, false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Run(t.Context(), Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(r.Rows, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text)+"\n")
	}
	if texts[0] != texts[1] {
		t.Error("four workers give other results than one")
	}
	const file = "testdata/small.json"
	if *store {
		if err := os.WriteFile(file, []byte(texts[0]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != texts[0] {
		t.Errorf("the results are not those of %s (%v): if that is meant, go test ./sim/experiment -run StoredResults -store\n%s", file, err, texts[0])
	}
}

// A job comes from a log to the site of its partition, of its user, or in turn; those that do not fit are left out.
func TestLogsAreDealt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := "; MaxProcs: 4\n" +
		"1 10 -1 5 2 -1 -1 2 9 -1 1 7 8 9 -1 1 -1 -1\n2 20 -1 5 4 -1 -1 4 9 -1 1 3 8 9 -1 1 -1 -1\n3 30 -1 5 2 -1 -1 2 9 -1 1 7 8 9 -1 2 -1 -1\n4 50 -1 5 1 -1 -1 1 9 -1 1 7 8 9 -1 5 -1 -1\n"
	if err := os.WriteFile(filepath.Join(folder, "a.swf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for deal, want := range map[string][][3]int{ // arrival in ms, home, cores
		"partitions": {{0, 0, 2}, {10_000, 1, 2}}, // the second is too wide for its partition, the last one's has no site
		"turn":       {{0, 0, 2}, {5_000, 1, 4}, {10_000, 0, 2}, {20_000, 1, 1}},
	} {
		e := parsed(t, "sites:\n  - {cores: 2, partition: 1}\n  - {cores: 4, partition: 2}\nworkload: {log: {file: a.swf, speed_up: 2, deal: "+deal+"}}\n")
		w, err := e.points[0].world(1, newLogs(folder))
		var got [][3]int
		for _, j := range w.Jobs {
			got = append(got, [3]int{int(j.Arrival), j.Home, j.Cores})
			if j.Run != 5*grid.Second || j.Limit != 9*grid.Second || j.Application != "9" {
				t.Errorf("%+v", j)
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (%v), not %v", deal, got, err, want)
		}
	}
}
