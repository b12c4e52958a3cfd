package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gbroker/grid"
)

// measure runs the load, and returns when all jobs have ended.
func measure(ctx context.Context, out io.Writer, dir string, clusters []cluster, jobs []job) (_ []result, took time.Duration, err error) {
	sites, end, err := openAll(ctx, out, dir, clusters)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, 0, err
	}
	return handIn(ctx, out, sites, jobs)
}

// handIn hands a load to the sites, and returns when all its jobs have ended.
func handIn(ctx context.Context, out io.Writer, sites []*site, jobs []job) (_ []result, took time.Duration, err error) {
	fmt.Fprintf(out, "load of the machine: %s before\n", load())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(jobs))
	var all sync.WaitGroup
	began := time.Now()
	for i := range sites {
		all.Go(func() { arrive(ctx, cancel, &all, sites, began, i, jobs, results) })
	}
	all.Wait()
	took = time.Since(began)
	fmt.Fprintf(out, "load of the machine: %s after\n", load())
	return results, took, context.Cause(ctx)
}

// openAll starts the sites; end ends those that were.
func openAll(ctx context.Context, out io.Writer, dir string, clusters []cluster) (sites []*site, end func() error, err error) {
	end = func() (err error) {
		for _, s := range sites {
			err = errors.Join(err, s.close())
		}
		return err
	}
	for _, c := range clusters {
		s, err := open(ctx, dir, c)
		if s != nil {
			sites = append(sites, s)
		}
		if err != nil {
			return sites, end, err
		}
		fmt.Fprintf(out, "%s: %d nodes of %d cores\n", c.name, c.nodes, c.cores)
	}
	return sites, end, nil
}

// arrive hands the jobs of one site in, each at its time.
func arrive(ctx context.Context, fail context.CancelCauseFunc, all *sync.WaitGroup, sites []*site, began time.Time, i int, jobs []job, results []result) {
	for k, j := range jobs {
		if j.site != i {
			continue
		}
		select {
		case <-time.After(time.Until(began.Add(j.at))):
		case <-ctx.Done():
			return
		}
		id, r, err := sites[i].ask(ctx, j)
		if err != nil {
			fail(fmt.Errorf("job %d, at %s: %w", k, sites[i].name, err))
			return
		}
		results[k] = r
		all.Go(func() {
			if err := sites[i].follow(ctx, id, &results[k]); err != nil {
				fail(fmt.Errorf("job %s: %w", id, err))
			}
		})
	}
}

// ask asks Slurm, where it is one, when the job would start, and hands it to the broker.
func (s *site) ask(ctx context.Context, j job) (grid.JobID, result, error) {
	r := result{
		Site: s.name, Application: j.application, Cores: j.cores, RunS: j.run.Seconds(), AskedS: 60 * float64(j.minutes),
	}
	if s.slurm != nil {
		tested, err := s.testOnly(j)
		if err != nil {
			return "", r, err
		}
		r.tested = grid.InstantOf(tested)
	}
	id, err := s.submit(ctx, j)
	return id, r, err
}

// follow takes what came of a job into its result.
func (s *site) follow(ctx context.Context, id grid.JobID, r *result) error {
	status, err := s.outcome(ctx, id)
	if err != nil {
		return err
	}
	if status.StartEstimateAtSubmit == 0 || status.Started == 0 {
		return fmt.Errorf("the broker predicted the start %v, and knows the start %v", status.StartEstimateAtSubmit, status.Started)
	}
	r.judge(grid.Tick(status.Submitted), grid.Tick(status.StartEstimateAtSubmit), grid.Tick(status.Started))
	return nil
}
