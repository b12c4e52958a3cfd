package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/plan"
)

// The third measurement: a batch system that is there already, of whatever kind. The load is that of one site.

// estimateLive measures it.
func estimateLive(ctx context.Context, o options) error {
	found := daemon.Detect(ctx, os.Environ())
	if found.System == "" {
		return fmt.Errorf("no batch system answers here: %s", strings.Join(found.Notes, "; "))
	}
	dir, err := os.MkdirTemp(o.live, "estimate")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	r, err := measureLive(ctx, dir, found, o)
	if err != nil {
		return err // the folder, with the broker's log, stays
	}
	return errors.Join(os.RemoveAll(dir), finish(o, &r))
}

func measureLive(ctx context.Context, dir string, found daemon.Found, o options) (r liveReport, err error) {
	s, err := beside(ctx, dir, "live", found)
	if s != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	if err != nil {
		return r, err
	}
	if err := s.measureSize(ctx); err != nil {
		return r, err
	}
	load := drawSite(rand.New(rand.NewPCG(o.seed, 0)), 0, s.cluster, o.jobs)
	results, took, err := handIn(ctx, os.Stdout, []*site{s}, load)
	return newLiveReport(o.seed, found.Version, s.cores, took, results), err
}

// measureSize waits until the batch system shows its cores; how they lie on nodes does not matter to a load.
func (s *site) measureSize(ctx context.Context) error {
	return until(ctx, "the batch system is seen", func() (bool, error) {
		sites, err := s.client.Sites(ctx)
		if err == nil && len(sites) > 0 {
			s.nodes, s.cores = 1, sites[0].Processes
		}
		return s.cores > 0, err
	})
}

// late tells how far starts were from what was told; the mean of the signed errors is above 0 where they came later.
type late struct {
	Jobs   int     `json:"jobs"`
	Wait   float64 `json:"mean_wait_s"`
	Mean   float64 `json:"mean_absolute_error_s"`
	Median float64 `json:"median_absolute_error_s"`
	Signed float64 `json:"mean_of_start_minus_told_s"`
	Later  float64 `json:"share_later_by_over_1_s"`
}

func lateness(results []result, counts func(*result) bool) (l late) {
	var all []plan.Outcome
	for i := range results {
		r := &results[i]
		if !counts(r) {
			continue
		}
		all = append(all, plan.Outcome{Expected: r.predicted, Start: r.started})
		off := r.started - r.predicted
		l.Wait += r.WaitedS
		l.Signed += off.Seconds()
		if off > grid.Second {
			l.Later++
		}
	}
	a := plan.Judge(all)
	n := math.Max(float64(len(all)), 1)
	return late{len(all), l.Wait / n, a.Mean, a.Median, l.Signed / n, l.Later / n}
}

// liveReport is a run.
type liveReport struct {
	Seed    uint64   `json:"seed"`
	System  string   `json:"system"`
	Cores   int      `json:"cores"`
	Seconds float64  `json:"seconds"`
	All     late     `json:"all"`
	Waited  late     `json:"waited_over_10_s"`
	Wide    late     `json:"waited_and_asked_for_half_of_the_cores_or_more"`
	Jobs    []result `json:"jobs"`
}

func newLiveReport(seed uint64, system string, cores int, took time.Duration, results []result) liveReport {
	return liveReport{
		Seed: seed, System: system, Cores: cores, Seconds: took.Seconds(), Jobs: results,
		All: lateness(results, func(*result) bool { return true }), Waited: lateness(results, func(r *result) bool { return r.waited }),
		Wide: lateness(results, func(r *result) bool { return r.waited && 2*r.Cores >= cores }),
	}
}

func (r *liveReport) table() string {
	var b strings.Builder
	mix := strings.Replace(mix, "each site gets a third of the jobs and", "the site", 1)
	fmt.Fprintf(&b, "\nseed %d, %s, %d cores, %d jobs in %v; %s\n\n", r.Seed, r.System, r.Cores, r.All.Jobs, time.Duration(r.Seconds)*time.Second, mix)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tjobs\tmean wait\tmean error\tmedian\tstart - told\tlater by over 1 s\t\n")
	for _, l := range []struct {
		name string
		late
	}{{"all", r.All}, {"waited > 10 s", r.Waited}, {"of these half of the cores or more", r.Wide}} {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%+.1f\t%.0f %%\t\n", l.name, l.Jobs, l.Wait, l.Mean, l.Median, l.Signed, 100*l.Later)
	}
	w.Flush()
	return b.String()
}

func (r *liveReport) verdict() error { return nil }
