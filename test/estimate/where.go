package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/overlay"
)

// The other measurement: three clusters, whose brokers are neighbours of each other, and local jobs beside.
// For each job a broker is asked where it would run and when, then gets it; where it ran and when it started tells how
// true that was.

// foretold is what came of one job; times are in seconds after it was asked about.
type foretold struct {
	Home      string  `json:"home"`
	Cores     int     `json:"cores"`
	RunS      float64 `json:"run_s"`
	AskedS    float64 `json:"asked_s"`
	Told      string  `json:"told_site"`
	Ran       string  `json:"ran_at"`
	ToldS     float64 `json:"told_start_s"`
	EarlyS    float64 `json:"told_earliest_s"`
	LateS     float64 `json:"told_latest_s"`
	SpreadOf  int     `json:"spread_of"`
	StartedS  float64 `json:"started_s"`
	Submitted float64 `json:"submitted_s"` // how long the asking and handing in took
	Warm      bool    `json:"warming_up"`
}

func (f *foretold) same() bool   { return f.Told == f.Ran }
func (f *foretold) spread() bool { return f.LateS > 0 }

// within is whether the start lies in the spread; of another site's start nothing was told.
func (f *foretold) within() bool {
	return f.spread() && f.EarlyS <= f.StartedS && f.StartedS <= f.LateS
}

// measureWhere runs the load, and returns when all jobs of brokers have ended.
func measureWhere(ctx context.Context, out io.Writer, dir string, clusters []cluster, jobs []job) (_ []foretold, took time.Duration, err error) {
	sites, end, err := openAll(ctx, out, dir, clusters)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, 0, err
	}
	if err := introduce(ctx, sites); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(err error) { cancel(err) }
	var list []*foretold
	var all sync.WaitGroup
	began := time.Now()
	first := 0
	for _, j := range jobs {
		if !j.local {
			first++
		}
	}
	first = int(warm / (1 + warm) * float64(first))
	for _, j := range jobs {
		select {
		case <-time.After(time.Until(began.Add(j.at))):
		case <-ctx.Done():
			all.Wait()
			return nil, 0, context.Cause(ctx)
		}
		s := sites[j.site]
		if j.local {
			all.Go(func() {
				if err := s.local(j); err != nil {
					fail(err)
				}
			})
			continue
		}
		f := &foretold{Home: s.name, Cores: j.cores, RunS: j.run.Seconds(), AskedS: 60 * float64(j.minutes), Warm: len(list) < first}
		list = append(list, f)
		all.Go(func() {
			if err := s.foretell(ctx, j, f); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	for _, f := range list {
		if !f.Warm {
			fmt.Fprintf(out, "%-6s %2d cores  told %-6s %6.1f s (%.1f to %.1f, of %d)  ran %-6s %6.1f s\n", f.Home, f.Cores, f.Told, f.ToldS, f.EarlyS, f.LateS, f.SpreadOf, f.Ran, f.StartedS)
		}
	}
	return values(list), time.Since(began), context.Cause(ctx)
}

func values(list []*foretold) (v []foretold) {
	for _, f := range list {
		v = append(v, *f)
	}
	return v
}

// foretell asks where a job would run, hands it in, and waits for its end.
func (s *site) foretell(ctx context.Context, j job, f *foretold) error {
	asked := time.Now()
	p, err := s.client.Where(ctx, s.submission(j))
	if err != nil {
		return fmt.Errorf("asking %s: %w", s.name, err)
	}
	if p.Chosen == nil {
		return fmt.Errorf("%s tells no site for a job of %d cores", s.name, j.cores)
	}
	id, err := s.submit(ctx, j)
	if err != nil {
		return fmt.Errorf("handing in at %s: %w", s.name, err)
	}
	f.Submitted = time.Since(asked).Seconds()
	status, err := s.outcome(ctx, id)
	if err != nil {
		return fmt.Errorf("job %s: %w", id, err)
	}
	after := func(t api.Time) float64 { return (grid.Tick(t) - grid.InstantOf(asked)).Seconds() }
	for _, one := range p.Sites {
		if one.Chosen {
			f.ToldS, f.EarlyS, f.LateS, f.SpreadOf = after(one.Start), after(one.StartEarly), after(one.StartLate), one.SpreadOf
		}
	}
	f.Told, f.Ran, f.StartedS = string(*p.Chosen), string(status.Owner), after(status.Started)
	return nil
}

// local hands a job to the batch system, as its own users do.
func (s *site) local(j job) error {
	_, err := s.slurm.Do("sbatch", "--time="+strconv.Itoa(j.minutes), "--ntasks="+strconv.Itoa(j.cores), "--cpus-per-task=1",
		"--job-name="+j.application, "--output=/dev/null", fmt.Sprintf("--wrap=sleep %.1f", j.run.Seconds()))
	if err != nil {
		return fmt.Errorf("a local job at %s: %w", s.name, err)
	}
	return nil
}

// introduce makes all sites neighbours of each other.
func introduce(ctx context.Context, sites []*site) error {
	for _, s := range sites {
		for _, o := range sites {
			if s == o {
				continue
			}
			ready, err := daemon.ReadReady(ctx, o.config)
			if err != nil {
				return err
			}
			key, err := overlay.LoadKey(o.config.IdentityFile())
			if err != nil {
				return err
			}
			addresses, err := daemon.Dialable(ready.Addresses)
			if err != nil {
				return err
			}
			m, err := daemon.ParseLine(daemon.Line(o.config.Site, overlay.PeerIDOf(key), addresses))
			if err != nil {
				return err
			}
			m.Send = true
			if _, err := daemon.AddNeighbour(ctx, s.config, m); err != nil {
				return err
			}
		}
	}
	for _, s := range sites {
		err := until(ctx, "the broker of "+s.name+" sees the others", func() (bool, error) {
			list, err := s.client.Sites(ctx)
			alive := 0
			for _, v := range list {
				if v.State == grid.Alive.String() {
					alive++
				}
			}
			return alive == len(sites), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
