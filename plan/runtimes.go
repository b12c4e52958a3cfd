package plan

import (
	"cmp"
	"math"
	"slices"

	"gbroker/grid"
)

// Trait is what is known of a job before it ran.
type Trait struct {
	Who   int64 // the caller's number for the user, or the user and the application
	Cores int32
	Limit grid.Tick
	// Known is how long it will run, in experiments that know; 0 is not known.
	Known grid.Tick
}

// RunTimes remembers how long jobs really ran. Requested times are several times too long, and a single guess in their
// stead is wrong as often as not; so what is believed is a spread: see [Beliefs].
//
// The zero value knows nothing, and believes in limits.
type RunTimes struct {
	by    map[int64]*history
	crowd []member // of all users, the last that ended, by the part of their limits that they ran
	num   int64    // of the jobs that ended
}

// history is what ended of one user, by start.
type history struct {
	ended []past
	last  int64 // number of the last
}

// past is a job that ended.
type past struct {
	start      grid.Tick
	cores      int32
	limit, run grid.Tick
}

// member is a job of the crowd.
type member struct {
	num   int64
	part  float64 // of the limit
	cores int32
	limit grid.Tick
}

const (
	keptEach    = 40 // ended jobs of each user
	keptCrowd   = 200
	keptUsers   = 1 << 14
	older       = 0.8   // the weight of a job against that of the next of its user
	olderCrowd  = 0.985 // and of one of the crowd
	otherLimit  = 0.2   // of one with another limit
	otherCores  = 0.6   // of one with another number of cores
	negligible  = 1e-9  // a weight
	forgetAfter = 2     // how many times more are held before the oldest are forgotten
)

// Empty tells that nothing ended yet.
func (r *RunTimes) Empty() bool { return r.num == 0 }

// Ended tells that a job that began at start ran to its end.
func (r *RunTimes) Ended(t Trait, start, run grid.Tick) {
	if r.by == nil {
		r.by = make(map[int64]*history)
	}
	h := r.by[t.Who]
	if h == nil {
		if len(r.by) >= keptUsers {
			r.forget()
		}
		h = &history{}
		r.by[t.Who] = h
	}
	r.num++
	h.last = r.num
	p := past{start, t.Cores, max(t.Limit, 1), run}
	if len(h.ended) >= keptEach*forgetAfter {
		h.ended = append(h.ended[:0], h.ended[len(h.ended)-keptEach+1:]...)
	}
	at, _ := slices.BinarySearchFunc(h.ended, start+1, func(p past, t grid.Tick) int { return cmp.Compare(p.start, t) })
	h.ended = slices.Insert(h.ended, at, p)
	r.join(member{r.num, min(float64(run)/float64(p.limit), 1), t.Cores, p.limit})
}

// join takes a job into the crowd, in place of the oldest.
func (r *RunTimes) join(m member) {
	if len(r.crowd) == keptCrowd {
		r.crowd = slices.DeleteFunc(r.crowd, func(o member) bool { return o.num <= m.num-keptCrowd })
	}
	at, _ := slices.BinarySearchFunc(r.crowd, m, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.num, b.num))
	})
	r.crowd = slices.Insert(r.crowd, at, m)
}

// forget drops the half of the users whose last job ended the longest ago.
func (r *RunTimes) forget() {
	lasts := make([]int64, 0, len(r.by))
	for _, h := range r.by {
		lasts = append(lasts, h.last)
	}
	slices.Sort(lasts)
	for who, h := range r.by {
		if h.last < lasts[len(lasts)/2] {
			delete(r.by, who)
		}
	}
}

// of is what is known of one user.
func (r *RunTimes) of(who int64) []past {
	if h := r.by[who]; h != nil {
		return h.ended[max(0, len(h.ended)-keptEach):]
	}
	return nil
}

// like is the weight of a job of the crowd for one with a trait.
func (m *member) like(t Trait) float64 {
	return ratio(float64(m.limit), float64(max(t.Limit, 1))) * math.Sqrt(math.Sqrt(ratio(float64(max(m.cores, 1)), float64(max(t.Cores, 1)))))
}

// ratio of the lesser to the greater.
func ratio(a, b float64) float64 {
	if a > b {
		return b / a
	}
	return a / b
}
