package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gbroker/sim/workload"
	"gbroker/test/cluster"
)

// ended is what became of one real job.
type ended struct {
	Submitted, Started, Ended time.Time
	Owner, State              string
}

// measure hands the jobs to real brokers, when their time has come, and waits for all.
func measure(ctx context.Context, p cluster.Programs, dir string, jobs []workload.Job) (out []ended, err error) {
	list, stop, err := daemons(ctx, p, dir)
	defer stop()
	if err != nil {
		return nil, err
	}
	home, ids := list[2], make([]string, len(jobs))
	fmt.Printf("%d jobs over %.0f s\n", len(jobs), jobs[len(jobs)-1].Arrival.Seconds())
	var all sync.WaitGroup
	errs := make(chan error, len(jobs))
	begin := time.Now().Add(time.Second)
	for i := range jobs {
		all.Go(func() {
			select {
			case <-time.After(time.Until(begin.Add(jobs[i].Arrival.Duration()))):
			case <-ctx.Done():
			}
			id, err := submit(ctx, home, dir, i, &jobs[i])
			if ids[i] = id; err != nil {
				errs <- err
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
	}
	for _, id := range ids {
		e, err := await(ctx, home, id)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// daemons starts the sites, neighbours of each other, and returns what ends them.
func daemons(ctx context.Context, p cluster.Programs, dir string) (list []*cluster.Site, stop func(), err error) {
	stop = func() {
		for _, s := range list {
			s.Stop()
			s.EndJobs()
		}
	}
	for _, s := range sites {
		more := fmt.Sprintf("reevaluation: {interval: %s, settle: %s, margin: 0s, cooldown: 0s, soon: 0s}\n", each, each)
		site, err := cluster.Init(ctx, p, dir, s.Name, cluster.Options{Nodes: 1, Cores: s.Cores, More: more})
		if err != nil {
			return list, stop, err
		}
		list = append(list, site)
		if err := site.Start(ctx); err != nil {
			return list, stop, err
		}
	}
	if err := cluster.Mesh(ctx, list...); err != nil {
		return list, stop, err
	}
	for i, s := range list {
		var others []string
		for k, o := range list {
			if k != i {
				others = append(others, o.Name)
			}
		}
		if err := s.Sees(ctx, time.Minute, others...); err != nil {
			return list, stop, err
		}
		if err := s.Measured(ctx, time.Minute, 1<<10, others...); err != nil {
			return list, stop, err
		}
	}
	return list, stop, nil
}

// submit hands in a script that sleeps; it is started once, whatever it asks for.
func submit(ctx context.Context, home *cluster.Site, dir string, i int, j *workload.Job) (string, error) {
	file := filepath.Join(dir, fmt.Sprintf("job%d.sh", i))
	limit := int(j.Limit.Seconds()) + 5
	text := fmt.Sprintf("#!/bin/sh\n#SBATCH -n %d\n#SBATCH -t %d:%02d\nexec sleep %.3f\n", j.Cores, limit/60, limit%60, j.Run.Seconds())
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		return "", err
	}
	r := home.Client(ctx, "submit", file)
	if r.Code != 0 {
		return "", fmt.Errorf("submitting job %d: exit code %d: %s", i, r.Code, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout), nil
}

// await waits for the end of a job.
func await(ctx context.Context, home *cluster.Site, id string) (e ended, err error) {
	if r := home.Client(ctx, "wait", id); r.Code < 0 {
		return e, fmt.Errorf("waiting for job %s: %s", id, r.Stderr)
	}
	r := home.Client(ctx, "status", id, "--json")
	if r.Code != 0 {
		return e, fmt.Errorf("the status of job %s: %s", id, r.Stderr)
	}
	if err := json.Unmarshal([]byte(r.Stdout), &e); err != nil {
		return e, fmt.Errorf("the status of job %s: %w", id, err)
	}
	if e.State != "COMPLETED" {
		return e, fmt.Errorf("job %s ended as %s", id, e.State)
	}
	return e, nil
}
