package faults

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	n := 200
	fmt.Sscan(os.Getenv("N"), &n)
	for _, p := range Profiles() {
		if q := os.Getenv("P"); q != "" && q != p.Name {
			continue
		}
		var steps, faults, moved []int
		cover := map[string]int{}
		began := time.Now()
		bad := 0
		for seed := range uint64(n) {
			r := Run(Options{Seed: seed, Brokers: 5, Jobs: 50, Profile: p})
			steps, faults = append(steps, r.Steps), append(faults, r.struck)
			moved = append(moved, 100*r.Moved/max(r.Jobs, 1))
			for k, v := range r.Coverage {
				cover[k] += v
			}
			if r.Violation != nil {
				if bad++; bad < 12 {
					t.Errorf("%s: %+v", p.Name, *r.Violation)
				}
			}
		}
		el := time.Since(began)
		slices.Sort(steps)
		slices.Sort(faults)
		slices.Sort(moved)
		t.Logf("%s: %d/s, steps %d, faults %d, moved %d %%, bad %d, points %d", p.Name, int(float64(n)/el.Seconds()), steps[n/2], faults[n/2], moved[n/2], bad, len(cover))
	}
}

func TestOne(t *testing.T) {
	var seed uint64
	if k, _ := fmt.Sscan(os.Getenv("SEED"), &seed); k == 0 {
		t.Skip("SEED")
	}
	b, err := ParseRules(os.Getenv("BREAK"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Profiles() {
		if p.Name == os.Getenv("P") {
			Run(Options{Seed: seed, Brokers: 5, Jobs: 50, Profile: p, Broken: b, Trace: func(l string) { fmt.Println(l) }})
		}
	}
}

func TestBreak(t *testing.T) {
	n := 1000
	fmt.Sscan(os.Getenv("N"), &n)
	for _, r := range Rules() {
		if q := os.Getenv("BREAK"); q != "" && q != r.Name {
			continue
		}
		b, _ := ParseRules(r.Name)
		out := "not in"
		for seed := range uint64(n) {
			if v := Run(Options{Seed: seed, Brokers: 5, Jobs: 50, Profile: Profiles()[0], Broken: b}).Violation; v != nil {
				out = fmt.Sprintf("%d: %s %s", seed, v.Property, v.Text)
				break
			}
		}
		t.Logf("%-28s %.200s", r.Name, out)
	}
}
