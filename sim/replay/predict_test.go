package replay

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gbroker/plan"

	"pgregory.net/rapid"
)

func predict(t testing.TB, log *Log, text, method string) []Estimate {
	t.Helper()
	all, err := Predict(t.Context(), log, policy(t, text), method, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// How good estimates are for EASY. The errors with requested times are known; those
// with the best way are held.
func TestAccuracyOnRealLogs(t *testing.T) {
	t.Parallel()
	needTraces(t)
	for _, c := range []struct {
		log, method string
		waited      int
		least, most float64
	}{
		{"SDSC-SP2-5000", "requested", 1640, 21823.5, 21824.5},
		{"KTH-SP2-5000", "requested", 2102, 10612.5, 10613.5},
		{"SDSC-SP2-5000", "best", 1640, 0, 5970},
		{"KTH-SP2-5000", "best", 2102, 0, 6250},
		{"HPC2N-5000", "best", 1962, 0, 4200},
		{"SDSC-BLUE-5000", "best", 1699, 0, 5150},
	} {
		t.Run(c.log+" "+c.method, func(t *testing.T) {
			t.Parallel()
			all := predict(t, readLog(t, filepath.Join(traces, c.log+".swf.gz"), whole), "easy", c.method)
			if share := AfterP90(all); c.method == "best" && (share < 0.08 || share > 0.12) {
				t.Errorf("%.3f start after what was told for nine of ten", share)
			}
			a := Judge(all)
			if a.Waited != c.waited || a.Mean < c.least || a.Mean > c.most {
				t.Errorf("%+v; want %d that waited and a mean from %.1f to %.1f", a, c.waited, c.least, c.most)
			}
		})
	}
}

// Nobody overtakes under fcfs, so who knows all run times knows all starts; and jobs
// that end early can only bring starts forward.
func TestFCFSIsForeseen(t *testing.T) {
	t.Parallel()
	check := func(t testing.TB, log *Log) {
		for _, e := range predict(t, log, "fcfs", "actual") {
			if e.Expected != e.Start {
				t.Errorf("job %d: with actual run times expected at %d, starts at %d", log.Jobs[e.Job].ID, e.Expected, e.Start)
			}
		}
		if a := Judge(predict(t, log, "fcfs", "requested")); a.TooEarly != 0 {
			t.Errorf("with requested times too early: %+v", a)
		}
	}
	check(t, readLog(t, filepath.Join("testdata", "small.swf"), whole))
	needTraces(t)
	check(t, readLog(t, filepath.Join(traces, "KTH-SP2-5000.swf.gz"), whole))
}

// drawLog is a log of few users on a small machine.
func drawLog(t *rapid.T) *Log {
	log := &Log{Procs: rapid.Int32Range(1, 6).Draw(t, "processors")}
	var submit int64
	for i := range rapid.Int64Range(1, 40).Draw(t, "jobs") {
		submit += rapid.SampledFrom([]int64{0, 1, 3, 10}).Draw(t, "pause")
		limit := rapid.Int64Range(1, 40).Draw(t, "limit")
		log.Jobs = append(log.Jobs, Job{
			ID: i + 1, Submit: submit, Limit: limit, Run: rapid.Int64Range(0, limit).Draw(t, "run"),
			Procs: rapid.Int32Range(1, log.Procs).Draw(t, "job's processors"), User: rapid.Int32Range(-1, 3).Draw(t, "user"),
		})
	}
	return log
}

// An estimate rests on the past alone: it stays as it is where the log ends after its
// job, and where the run times of jobs are others that end after it was made.
func TestOnlyThePastIsUsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		text := rapid.SampledFrom([]string{"fcfs", "firstfit", "firstfit:2", "easy", "easy:4", "easy:1:largest", "easy:2:sjf", "easysjbf", "cons-rebuild", "cons-compress"}).Draw(t, "policy")
		method := rapid.SampledFrom([]string{"requested", "last2", "ratio", "best"}).Draw(t, "method")
		run := func(log *Log) ([]Estimate, []int64) {
			p, err := plan.ParsePolicy(text)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Predict(t.Context(), log, p, method, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), log, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			return all, r.Starts
		}
		all, starts := run(log)
		if len(all) == 0 {
			return
		}
		at := all[rapid.IntRange(0, len(all)-1).Draw(t, "estimate")].At
		made := func(all []Estimate) []Estimate {
			all = slices.DeleteFunc(slices.Clone(all), func(e Estimate) bool { return e.At > at })
			for i := range all {
				all[i].Start = 0
			}
			return all
		}
		other := &Log{Procs: log.Procs}
		for i, j := range log.Jobs {
			if starts[i]+j.Run > at {
				ran := max(at-starts[i], 0)
				j.Run = rapid.Int64Range(min(ran+1, j.Limit), j.Limit).Draw(t, "other run time")
			}
			if j.Submit <= at || rapid.Bool().Draw(t, "comes") {
				other.Jobs = append(other.Jobs, j)
			}
		}
		changed, _ := run(other)
		if got, want := made(changed), made(all); !slices.Equal(got, want) {
			t.Fatalf("%s, %s, estimates up to %d: with another future\n%v, want\n%v", text, method, at, got, want)
		}
	})
}

// The same on a real log: what comes after the first 2,000 jobs, and how long those ran that had not ended then, changes no
// estimate before.
func TestCutLog(t *testing.T) {
	t.Parallel()
	needTraces(t)
	log := readLog(t, filepath.Join(traces, "KTH-SP2-5000.swf.gz"), whole)
	log.Jobs = log.Jobs[:3000]
	cut := &Log{Procs: log.Procs, Jobs: slices.Clone(log.Jobs[:2000])}
	last := cut.Jobs[1999].Submit
	came, err := Run(t.Context(), log, policy(t, "easy"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cut.Jobs {
		if j := &cut.Jobs[i]; came.Starts[i]+j.Run >= last {
			j.Run = j.Limit
		}
	}
	long, short := predict(t, log, "easy", "best"), predict(t, cut, "easy", "best")
	if len(short) < 100 {
		t.Fatalf("only %d jobs waited", len(short))
	}
	for i, e := range short {
		if e.At < last && (long[i].Job != e.Job || long[i].Expected != e.Expected || long[i].Late != e.Late) {
			t.Errorf("job %d: expected at %d, and at %d in the longer log", e.Job, e.Expected, long[i].Expected)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	var all []Estimate
	for _, off := range []int64{0, 60, -61, 600, 601, -1000, 70, 80, 90, 100} {
		all = append(all, Estimate{Expected: 5000 + off, Start: 5000})
	}
	got := Judge(all)
	want := Accuracy{Waited: 10, Mean: 266.2, Median: 80, P90: 601, Within60: 0.2, Within600: 0.8, TooEarly: 0.2}
	if math.Abs(got.Mean-want.Mean) < 1e-9 {
		got.Mean = want.Mean
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Judge(nil); got != (Accuracy{}) {
		t.Errorf("of none: %+v", got)
	}
}

// By hand: a machine of one. Jobs 1 and 2 of user 7 run 10 and 20 of 100 s; then 3 of
// user 7 runs, and 4 waits for it.
func TestMethodsByHand(t *testing.T) {
	t.Parallel()
	log := &Log{Procs: 1, Jobs: []Job{
		{ID: 1, Submit: 0, Run: 10, Limit: 100, Procs: 1, User: 7}, {ID: 2, Submit: 50, Run: 20, Limit: 100, Procs: 1, User: 7},
		{ID: 3, Submit: 200, Run: 50, Limit: 200, Procs: 1, User: 7}, {ID: 4, Submit: 204, Run: 1, Limit: 1, Procs: 1, User: 8},
		{ID: 5, Submit: 220, Run: 1, Limit: 1, Procs: 1, User: 8},
	}}
	for method, want := range map[string][2]int64{
		"requested": {400, 401},
		"actual":    {250, 251},
		"last2":     {215, 231}, // at 220 the guess of 15 s is outlived: 30
		"ratio":     {230, 231}, // 30 of 200, of 200
	} {
		all := predict(t, log, "fcfs", method)
		if len(all) != 2 || all[0].Expected != want[0] || all[1].Expected != want[1] {
			t.Errorf("%s: %+v, want %v", method, all, want)
		}
	}
	if _, err := Predict(t.Context(), log, plan.Policy{}, "tarot", nil); err == nil {
		t.Error("tarot is a method")
	}
}

func TestWriteEstimates(t *testing.T) {
	t.Parallel()
	log := &Log{Jobs: []Job{{ID: 1}, {ID: 9}}}
	all := []Estimate{{Job: 1, At: 2, Expected: 3, Start: 4, Late: 5}}
	var out bytes.Buffer
	if err := WriteEstimates(&out, log, all); err != nil || out.String() != "#job\ttime\testimate\tstart\tp90\n9\t2\t3\t4\t5\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := WriteEstimates(broken{}, log, all); err == nil {
		t.Error("no error from a writer that is full")
	}
}
