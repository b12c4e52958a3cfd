package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/slurm/slurmtest"
)

func TestMain(m *testing.M) { os.Exit(slurmtest.Main(m)) }

// The whole way, for a few jobs on one cluster: how good the words are is not judged.
func TestMeasure(t *testing.T) {
	t.Parallel()
	slurmtest.Need(t)
	dir, err := folder("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var jobs []job
	for _, cores := range []int{2, 1, 1} {
		jobs = append(jobs, job{application: "app", cores: cores, run: time.Second, minutes: 1})
	}
	results, _, err := measure(t.Context(), io.Discard, dir, []cluster{{"one", 1, 2}}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Site != "one" || r.Cores != jobs[i].cores || r.tested == 0 || r.predicted == 0 || r.started == 0 || r.WaitedS <= 0 {
			t.Errorf("job %d: %+v", i, r)
		}
	}
}

func TestLoadIsOfItsSeed(t *testing.T) {
	t.Parallel()
	load := draw(1, 200)
	if !reflect.DeepEqual(load, draw(1, 200)) {
		t.Error("the same seed draws another load")
	}
	if reflect.DeepEqual(load, draw(2, 200)) {
		t.Error("another seed draws the same load")
	}
	var work [3]float64 // seconds of the whole site
	var last [3]time.Duration
	var jobs [3]int
	for i, j := range load {
		size := clusters[j.site].size()
		asked := time.Duration(j.minutes) * time.Minute
		switch {
		case j.cores < 1 || j.cores > size:
			t.Errorf("job %d: %d cores of %d", i, j.cores, size)
		case j.run < 2*time.Second || j.run > 25*time.Second || asked < 2*j.run:
			t.Errorf("job %d runs for %v of %v", i, j.run, asked)
		case jobs[j.site] > 0 && j.at < last[j.site]+least-time.Millisecond || i > 0 && j.at < load[i-1].at:
			t.Errorf("job %d comes at %v, too soon after another", i, j.at)
		}
		work[j.site] += j.run.Seconds() * float64(j.cores) / float64(size)
		last[j.site] = j.at
		jobs[j.site]++
	}
	if jobs != [3]int{67, 67, 66} {
		t.Errorf("jobs of the sites: %v", jobs)
	}
	for i := range work {
		if over := work[i] / last[i].Seconds(); over < 0.9 || over > 2 {
			t.Errorf("%s: %.0f s of work come in %v", clusters[i].name, work[i], last[i])
		}
	}
}

func TestParseTestOnly(t *testing.T) {
	t.Parallel()
	text := "sbatch: Job 12 to start at 2026-11-22T01:02:03 using 4 processors on nodes node[01-02] in partition batch"
	want := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	if got, err := parseTestOnly(text); err != nil || !got.Equal(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "allocation failure: Requested node configuration is not available", "Job 1 to start at now using"} {
		if got, err := parseTestOnly(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}

// made is a result of a job that waited, with what was said of it.
func made(site string, waited, ours, slurm grid.Tick) result {
	r := result{Site: site, tested: (1000 + slurm) * grid.Second}
	r.judge(1000*grid.Second, (1000+ours)*grid.Second, (1000+waited)*grid.Second)
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := newReport(1, time.Minute, []result{
		made("two", 30, 40, 70), made("two", 5, 5, 25), made("two", 10, 10, 10), made("five", 20, 10, 0), made("five", 0, 0, 0),
	})
	if want := (figures{5, 4, 0, 16, 20}); r.All != want {
		t.Errorf("all: %+v, want %+v", r.All, want)
	}
	if want := (figures{2, 10, 10, 30, 20}); r.Waited != want {
		t.Errorf("waited: %+v, want %+v", r.Waited, want)
	}
	if got := r.Sites[0].All; got.Jobs != 3 || math.Abs(got.Ours-10.0/3) > 1e-9 || got.Slurm != 20 {
		t.Errorf("the first site: %+v", got)
	}
	if !r.Good || r.verdict() != nil {
		t.Errorf("it is good: %v", r.verdict())
	}
	table := r.table()
	for _, line := range []string{"two, 2x4     3", "three, 3x4     0", "all     5", "10.0 (10.0)"} {
		if !strings.Contains(table, line) {
			t.Errorf("the table lacks %q:\n%s", line, table)
		}
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"predicted_s":40,"test_only_s":70`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Of a live system it is told how far starts were from what was told, and to which side.
func TestLiveReport(t *testing.T) {
	t.Parallel()
	list := []result{made("live", 30, 10, 0), made("live", 5, 8, 0), made("live", 20, 20, 0), made("live", 0, 0, 0)}
	list[0].Cores = 8
	r := newLiveReport(7, "OpenPBS", 16, time.Minute, list)
	if want := (late{4, 13.75, 5.75, 0, 4.25, 0.25}); r.All != want {
		t.Errorf("all: %+v, want %+v", r.All, want)
	}
	if want := (late{2, 25, 10, 0, 10, 0.5}); r.Waited != want {
		t.Errorf("waited: %+v, want %+v", r.Waited, want)
	}
	if want := (late{1, 30, 20, 20, 20, 1}); r.Wide != want {
		t.Errorf("wide: %+v, want %+v", r.Wide, want)
	}
	table := r.table()
	for _, word := range []string{"seed 7, OpenPBS, 16 cores, 4 jobs", "the site has 6 applications", "+4.2", "25 %"} {
		if !strings.Contains(table, word) {
			t.Errorf("the table lacks %q:\n%s", word, table)
		}
	}
	if none := lateness(nil, nil); none != (late{}) {
		t.Errorf("of no jobs: %+v", none)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results []result
		good    bool
	}{
		"exactly half":         {[]result{made("two", 30, 40, 50)}, true},
		"more than half":       {[]result{made("two", 30, 41, 50)}, false},
		"none":                 {nil, false},
		"too few waited":       {[]result{made("two", 30, 30, 50), made("two", 1, 1, 1), made("two", 1, 1, 1), made("two", 1, 1, 1), made("two", 1, 1, 1)}, false},
		"good only at once":    {[]result{made("two", 30, 50, 45), made("two", 1, 1, 200)}, false},
		"good only by waiting": {[]result{made("two", 30, 30, 45), made("two", 1, 51, 1)}, false},
	} {
		if r := newReport(1, 0, c.results); r.Good != c.good {
			t.Errorf("%s: good %v, %v", name, r.Good, r.verdict())
		}
	}
}
