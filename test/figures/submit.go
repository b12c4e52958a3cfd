package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"gbroker/api"
)

const clients = 16

// submit measures accepted submissions per second. The jobs need more cores than
// are free, so that what is measured is the taking and placing of jobs, not the
// starting of processes.
func (b *bench) submit(ctx context.Context) error {
	sites, end, err := b.sites(ctx, 1, 1)
	defer end()
	if err != nil {
		return err
	}
	doc := document("/bin/sleep", []string{"600"}, 1, "")
	total := 2000
	if b.n > 0 {
		total = b.n
	}
	took, err := parallel(total, func() (func(i int) error, error) {
		c, err := api.NewClient(api.ClientConfig{Address: sites[0].Address()})
		if err != nil {
			return nil, err
		}
		return func(i int) error {
			_, err := c.Submit(ctx, api.Submission{Key: fmt.Sprintf("figure-%d", i), Document: string(doc), Name: "figure.jsdl"})
			return err
		}, nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("submit:  %d clients, keep-alive connections: %.0f submissions/s, each fsynced before its answer (n=%d, one job runs, the others wait)\n",
		clients, float64(total)/took.Seconds(), total)
	return b.submitByProgram(ctx, total/5)
}

// submitByProgram measures the same with one process of gclient for each job.
func (b *bench) submitByProgram(ctx context.Context, total int) error {
	sites, end, err := b.sites(ctx, 1, 1)
	defer end()
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "wait.jsdl")
	if err := os.WriteFile(file, document("/bin/sleep", []string{"600"}, 1, ""), 0o644); err != nil {
		return err
	}
	took, err := parallel(total, func() (func(int) error, error) {
		return func(int) error {
			if r := sites[0].Client(ctx, "submit", file); r.Code != 0 {
				return fmt.Errorf("gclient submit: %s", r.Stderr)
			}
			return nil
		}, nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("         %d processes of gclient at a time: %.0f submissions/s (n=%d)\n", clients, float64(total)/took.Seconds(), total)
	return nil
}

// parallel does total pieces of work by the clients and says how long it took.
func parallel(total int, newClient func() (func(int) error, error)) (time.Duration, error) {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, clients)
	begin := time.Now()
	for range clients {
		work, err := newClient()
		if err != nil {
			return 0, err
		}
		group.Go(func() {
			for {
				i := int(next.Add(1))
				if i > total {
					return
				}
				if err := work(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return time.Since(begin), nil
	}
}
