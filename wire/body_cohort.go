package wire

import "gbroker/grid"

// cohortBody is of like computers of a pool.
type cohortBody struct {
	Architecture string    `msgpack:"a,omitempty"`
	System       string    `msgpack:"o,omitempty"`
	Speed        float64   `msgpack:"s,omitempty"`
	Memory       int64     `msgpack:"m,omitempty"`
	Cores        int64     `msgpack:"c,omitempty"`
	Dedicated    bool      `msgpack:"d,omitempty"`
	Computers    int64     `msgpack:"n,omitempty"`
	Free         int64     `msgpack:"f,omitempty"`
	Levels       []float64 `msgpack:"l,omitempty"`
}

func fromCohort(c grid.Cohort) cohortBody {
	return cohortBody{plain(c.Architecture, MaxWord), plain(c.System, MaxWord), c.Speed, c.Memory, int64(c.Cores), c.Dedicated, int64(c.Computers), int64(c.Free), c.Levels}
}

func (b cohortBody) cohort(c *check) grid.Cohort {
	if !(b.Speed >= 0 && b.Speed <= MaxSpeed) { // NaN fails both
		c.fail("speed", "%v: from 0 to %v", b.Speed, float64(MaxSpeed))
	}
	return grid.Cohort{
		Architecture: c.word("architecture", b.Architecture, MaxWord),
		System:       c.word("system", b.System, MaxWord),
		Speed:        b.Speed,
		Memory:       c.between("memory", b.Memory, 0, grid.MaxMemory),
		Cores:        c.count("cores", b.Cores, 0, grid.MaxProcesses),
		Dedicated:    b.Dedicated,
		Computers:    c.count("computers", b.Computers, 1, grid.MaxProcesses),
		Free:         c.count("free", b.Free, 0, grid.MaxProcesses),
		Levels: list(c, "levels", b.Levels, grid.MaxLevels, func(h float64, c *check) float64 {
			if !(h >= 0 && h <= MaxSpeed) {
				c.fail("level", "%v: from 0 to %v", h, float64(MaxSpeed))
			}
			return h
		}),
	}
}
