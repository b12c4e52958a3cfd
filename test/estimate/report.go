package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// result is what came of one job; times are in seconds after it was handed in.
type result struct {
	Site        string  `json:"site"`
	Application string  `json:"application"`
	Cores       int     `json:"cores"`
	RunS        float64 `json:"run_s"`
	AskedS      float64 `json:"asked_s"`
	WaitedS     float64 `json:"waited_s"`
	OursS       float64 `json:"predicted_s"`
	TestOnlyS   float64 `json:"test_only_s"`

	tested, predicted, started grid.Tick
	waited                     bool
}

// long is how long a job must wait to count as one that waited.
const long = 10 * grid.Second

func (r *result) judge(submitted, predicted, started grid.Tick) {
	r.predicted, r.started, r.waited = predicted, started, started-submitted > long
	after := func(t grid.Tick) float64 { return (t - submitted).Seconds() }
	r.WaitedS, r.OursS, r.TestOnlyS = after(started), after(predicted), after(r.tested)
}

// figures compare both words for some jobs.
type figures struct {
	Jobs       int     `json:"jobs"`
	Ours       float64 `json:"ours_mean_absolute_error_s"`
	OursMedian float64 `json:"ours_median_absolute_error_s"`
	Slurm      float64 `json:"test_only_mean_absolute_error_s"`
	Median     float64 `json:"test_only_median_absolute_error_s"`
}

// good tells that our error is at most half of Slurm's.
func (f figures) good() bool { return f.Jobs > 0 && f.Ours <= f.Slurm/2 }

func compare(results []result, counts func(result) bool) figures {
	var ours, slurm []plan.Outcome
	for _, r := range results {
		if counts(r) {
			ours = append(ours, plan.Outcome{Expected: r.predicted, Start: r.started})
			slurm = append(slurm, plan.Outcome{Expected: r.tested, Start: r.started})
		}
	}
	a, b := plan.Judge(ours), plan.Judge(slurm)
	return figures{len(ours), a.Mean, a.Median, b.Mean, b.Median}
}

// report is a run.
type report struct {
	Seed    uint64     `json:"seed"`
	Mix     string     `json:"mix"`
	Seconds float64    `json:"seconds"`
	Sites   []siteLine `json:"sites"`
	All     figures    `json:"all"`
	Waited  figures    `json:"waited_over_10_s"`
	Good    bool       `json:"good"`
	Jobs    []result   `json:"jobs"`
}

type siteLine struct {
	Site   string  `json:"site"`
	Nodes  int     `json:"nodes"`
	Cores  int     `json:"cores_of_each"`
	All    figures `json:"all"`
	Waited figures `json:"waited_over_10_s"`
}

func newReport(seed uint64, took time.Duration, results []result) report {
	r := report{Seed: seed, Mix: mix, Seconds: took.Seconds(), Jobs: results}
	for _, c := range clusters {
		here := func(x result) bool { return x.Site == c.name }
		waited := func(x result) bool { return here(x) && x.waited }
		r.Sites = append(r.Sites, siteLine{c.name, c.nodes, c.cores, compare(results, here), compare(results, waited)})
	}
	r.All = compare(results, func(result) bool { return true })
	r.Waited = compare(results, func(x result) bool { return x.waited })
	r.Good = r.verdict() == nil
	return r
}

// verdict is why the goal is missed, or nil.
func (r *report) verdict() error {
	switch least := (r.All.Jobs + 3) / 4; {
	case r.Waited.Jobs < least:
		return fmt.Errorf("%d jobs waited for more than 10 s: at least %d are to", r.Waited.Jobs, least)
	case !r.All.good() || !r.Waited.good():
		return fmt.Errorf("the goal is missed: our mean absolute error is %.1f s and Slurm's %.1f s (of those that waited %.1f s and %.1f s): at most half is wanted",
			r.All.Ours, r.All.Slurm, r.Waited.Ours, r.Waited.Slurm)
	}
	return nil
}

// table is the report for people.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nseed %d, %d jobs in %.1f min; %s\n\nerror of the predicted start in seconds, mean (median)\n\n",
		r.Seed, r.All.Jobs, r.Seconds/60, r.Mix)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "site\tjobs\tours\t--test-only\twaited > 10 s\tours\t--test-only\t\n")
	line := func(name string, all, waited figures) {
		fmt.Fprintf(w, "%s\t%d\t%.1f (%.1f)\t%.1f (%.1f)\t%d\t%.1f (%.1f)\t%.1f (%.1f)\t\n", name,
			all.Jobs, all.Ours, all.OursMedian, all.Slurm, all.Median,
			waited.Jobs, waited.Ours, waited.OursMedian, waited.Slurm, waited.Median)
	}
	for _, s := range r.Sites {
		line(fmt.Sprintf("%s, %dx%d", s.Site, s.Nodes, s.Cores), s.All, s.Waited)
	}
	line("all", r.All, r.Waited)
	w.Flush()
	return b.String()
}
