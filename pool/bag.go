package pool

import (
	"math"
	"slices"

	"gbroker/grid"
)

// LeastH is the least effective performance with which one of m computers helps a divisible job of work w to end within left seconds, where
// nothing waits in a queue: each does its m-th part of the work and of the delivery of the whole, dv seconds,
//
//	dv/m + w/(m H) <= left, so H >= w / (m left - dv).
//
// It is +Inf where the delivery alone takes longer.
func LeastH(w float64, m int, left, dv float64) float64 {
	if d := float64(m)*left - dv; d > 0 {
		return w / d
	}
	return math.Inf(1)
}

// Range is divisible work.
type Range struct {
	Work      float64 // of the whole
	Delivery  float64 // of the whole, in seconds; a part has its part of it
	Units     int     // into which it can be divided, all alike: the members of a sweep, or the numbers of a range
	MostParts int     // 0 is as many as there are units
}

// Part is a part of a range for one computer.
type Part struct {
	Assignment
	First, Last int // units, the last included
}

// Cut divides a job among computers that are free so that all parts end by the job's deadline; ok is false where these do not suffice. A computer
// gets as many units as it ends in time. Of the sets of no more computers than there may be parts, the weakest that suffices is taken, and of that no more than
// is needed: strong computers are for those that cannot be cut.
func (r Rule) Cut(now grid.Tick, computers []Computer, j *Job, of Range) (parts []Part, ok bool) {
	type share struct{ computer, units int }
	var shares []share
	for i := range computers {
		if c := &computers[i]; c.Free <= now && c.Lacks(j) == "" {
			if n := r.units(now, c, j, of); n > 0 {
				shares = append(shares, share{i, n})
			}
		}
	}
	slices.SortStableFunc(shares, func(a, b share) int { return a.units - b.units })
	first, sum := 0, 0
	for end := range shares {
		if sum += shares[end].units; of.MostParts > 0 && end-first == of.MostParts {
			sum -= shares[first].units
			first++
		}
		if sum < of.Units {
			continue
		}
		for sum-shares[first].units >= of.Units {
			sum -= shares[first].units
			first++
		}
		left := of.Units
		for _, s := range slices.Backward(shares[first : end+1]) {
			n := min(s.units, left)
			left -= n
			ends := computers[s.computer].Forecast.End(now+of.delivery(n), of.work(n))
			parts = append(parts, Part{First: left, Last: left + n - 1, Assignment: Assignment{0, s.computer, ends}})
		}
		return parts, true
	}
	return nil, false
}

// Most is how many units of a range computers that are free do in time, with no more parts than there may be.
func (r Rule) Most(now grid.Tick, computers []Computer, j *Job, of Range) (sum int) {
	var units []int
	for i := range computers {
		if c := &computers[i]; c.Free <= now && c.Lacks(j) == "" {
			units = append(units, r.units(now, c, j, of))
		}
	}
	slices.Sort(units)
	if of.MostParts > 0 && len(units) > of.MostParts {
		units = units[len(units)-of.MostParts:]
	}
	for _, n := range units {
		sum += n
	}
	return min(sum, of.Units)
}

// AssignParts says which of the waiting jobs begin now, and in which parts, as [Rule.Assign] does for whole ones. A range of one unit is not cut.
func (r Rule) AssignParts(now grid.Tick, computers []Computer, jobs []Job, ranges []Range) (out []Part) {
	left := slices.Clone(computers)
	for _, j := range r.order(now, computers, jobs) {
		parts, _ := r.Cut(now, left, &jobs[j], ranges[j])
		for _, p := range parts {
			p.Job = j
			left[p.Computer].Free = max(p.End, now+1)
			out = append(out, p)
		}
	}
	return out
}

// work and delivery of n units.
func (of *Range) work(n int) float64 { return of.Work * float64(n) / float64(of.Units) }
func (of *Range) delivery(n int) grid.Tick {
	return grid.FromSeconds(of.Delivery * float64(n) / float64(of.Units))
}

// units is how many a computer does in time.
func (r *Rule) units(now grid.Tick, c *Computer, j *Job, of Range) int {
	lo, hi := 0, of.Units // lo is in time
	for lo < hi {
		n := (lo + hi + 1) / 2
		part := *j
		part.Work = of.work(n)
		if _, in := r.ends(c, &part, now+of.delivery(n)); in {
			lo = n
		} else {
			hi = n - 1
		}
	}
	return lo
}
