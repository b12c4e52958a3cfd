package grid

// Cohort is computers of a site that are alike, as a pool of desktops tells them. What is "" or 0 of the first five is not told: such a cohort is what is left of
// a pool that has too many.
type Cohort struct {
	Architecture, System string
	Speed                float64 // the least of its class, which ends before that by the square root of two
	Memory               int64   // bytes, the least of its class, which ends before twice that
	Cores                int     // of each
	Dedicated            bool    // they have no owners
	Computers            int
	Free                 int       // of these take jobs now
	Levels               []float64 // effective performance of one, on average, by intervals of CohortSpan from now on
}

// CohortSpan is an interval of a cohort's levels.
const CohortSpan = 4 * Hour

// Limits of what a site tells of its cohorts.
const (
	MaxCohorts = 32
	MaxLevels  = 6
)

// Holds tells that a computer of a cohort may have what one job asks for, which runs on one computer.
func (c *Cohort) Holds(d *Demand) bool {
	cores, memory := 0, int64(0)
	for _, k := range d.Chunks {
		cores += k.Count * k.Cores
		memory += int64(k.Count) * k.Memory
	}
	differs := func(asked, has string) bool { return asked != "" && has != "" && asked != has }
	return !differs(d.Architecture, c.Architecture) && !differs(d.System, c.System) && (c.Cores == 0 || cores <= c.Cores) && (c.Memory == 0 || memory/2 < c.Memory)
}

// Holds tells that a site may have a computer for a job, as far as it tells its cohorts.
func (s *Site) Holds(d *Demand) bool {
	for i := range s.Cohorts {
		if s.Cohorts[i].Holds(d) {
			return true
		}
	}
	return len(s.Cohorts) == 0
}
