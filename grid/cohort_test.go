package grid

import "testing"

// A cohort holds what its class may hold, and what is not told holds all.
func TestCohortHolds(t *testing.T) {
	t.Parallel()
	c := Cohort{Architecture: "x86_64", System: "LINUX", Memory: 8 << 30, Cores: 4}
	ask := func(change func(*Demand)) *Demand {
		d := &Demand{Chunks: []Chunk{{Count: 2, Processes: 1, Cores: 2, Memory: 4 << 30}}}
		change(d)
		return d
	}
	for name, k := range map[string]struct {
		change func(*Demand)
		want   bool
	}{
		"all of it":           {func(*Demand) {}, true},
		"more cores":          {func(d *Demand) { d.Chunks[0].Cores = 3 }, false},
		"memory of its class": {func(d *Demand) { d.Chunks[0].Memory = 8<<30 - 1 }, true},
		"memory of the next":  {func(d *Demand) { d.Chunks[0].Memory = 8 << 30 }, false},
		"its architecture":    {func(d *Demand) { d.Architecture = "x86_64" }, true},
		"another":             {func(d *Demand) { d.Architecture = "arm" }, false},
		"another system":      {func(d *Demand) { d.System = "WINNT" }, false},
	} {
		d := ask(k.change)
		if got := c.Holds(d); got != k.want {
			t.Errorf("%s: %v", name, got)
		}
		untold, site := Cohort{}, Site{Cohorts: []Cohort{c}}
		if !untold.Holds(d) || site.Holds(d) != k.want || !(&Site{}).Holds(d) {
			t.Errorf("%s: of a site", name)
		}
		if site.Cohorts = append(site.Cohorts, untold); !site.Holds(d) {
			t.Errorf("%s: what is left of a pool might hold it", name)
		}
	}
}
