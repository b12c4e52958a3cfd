package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"gbroker/test/cluster"
)

// memory reads the resident memory of three idle brokers that know each other.
func (b *bench) memory(ctx context.Context) error {
	sites, end, err := b.sites(ctx, 4, 4, 4)
	defer end()
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return ctx.Err()
	}
	var rss, anonymous []float64
	for _, s := range sites {
		r, err := statusField(s, "VmRSS:")
		if err != nil {
			return err
		}
		a, err := statusField(s, "RssAnon:")
		if err != nil {
			return err
		}
		rss, anonymous = append(rss, float64(r)/1024), append(anonymous, float64(a)/1024)
	}
	_, _, worst := spread(rss)
	_, _, worstAnonymous := spread(anonymous)
	fmt.Printf("memory:  a broker after 60 s with two neighbours: %.0f MiB resident, of which %.0f MiB not backed by the program's file (largest of %d)\n", worst, worstAnonymous, len(sites))
	return nil
}

// statusField is a line of /proc/PID/status in KiB.
func statusField(s *cluster.Site, name string) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var field string
		var kib int64
		if n, _ := fmt.Sscan(lines.Text(), &field, &kib); n == 2 && field == name {
			return kib, nil
		}
	}
	return 0, fmt.Errorf("no %s for %s", name, s.Name)
}
