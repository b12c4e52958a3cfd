package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// outputs fetches what the jobs wrote.
func (d *demo) outputs(ctx context.Context, errands []*errand) error {
	say("Their output", "gclient output ID DIR, then what is in it")
	for _, e := range errands {
		if e.state != "COMPLETED" || e.file == "fill" {
			continue
		}
		ids := []string{e.id}
		if e.parts > 0 {
			ids = nil
		}
		for n := range e.parts { // each comes home by itself
			ids = append(ids, fmt.Sprintf("%s.%d", e.id, n+1))
		}
		for _, id := range ids {
			if err := d.outputOf(ctx, e, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// outputOf fetches what one job, or a part of it, wrote.
func (d *demo) outputOf(ctx context.Context, e *errand, id string) error {
	dir := filepath.Join(d.dir, "out", id)
	if r := d.sites[e.at].Client(ctx, "output", id, dir); r.Code != 0 {
		return fmt.Errorf("fetching the output of %s: exit code %d: %s", e.file, r.Code, r.Stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range entries {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if len(b) > 0 {
			fmt.Printf("  %-12s %-11s %s\n", e.file, f.Name(), firstLines(string(b)))
		}
	}
	return nil
}

func firstLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > 2 {
		return fmt.Sprintf("%s ... (%d lines)", strings.TrimSpace(lines[0]), len(lines))
	}
	return strings.Join(lines, " | ")
}

// explain shows why jobs went where they went.
func (d *demo) explain(ctx context.Context, errands []*errand) error {
	for _, e := range errands {
		say("Why "+e.file+" went "+where(e), "")
		r := d.sites[e.at].Client(ctx, "explain", e.id)
		if r.Code != 0 {
			return fmt.Errorf("explaining %s: %s", e.file, r.Stderr)
		}
		fmt.Printf("$ gclient explain %s\n%s", e.id, indent(r.Stdout))
	}
	return nil
}
