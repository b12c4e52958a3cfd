package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Trait is what is known of a job before it ran.
type Trait struct {
	Who   int64 // the caller's number for the user, or the user and the application
	Cores int32
	Limit grid.Tick
	Known grid.Tick // its run time, where somebody knows it (in experiments); 0: nobody does
}

// RunTimes believes how long jobs really run, by what ended. Requested times are
// several times too long, and a single guess in their stead is wrong as often as not;
// so the belief is a spread: the run times of the last jobs of the same user, each
// with a weight. A job weighs the more the later it ended, and the more it is like
// the one in question; the run time of one with another limit is taken in proportion.
// For a job that runs already, only those count that ran for longer.
//
// The zero value knows nothing, and believes in limits.
type RunTimes struct {
	by  map[int64]*history
	all []past
	num int64 // of the jobs that ended
}

// history is what ended of one user.
type history struct {
	ended []past
	last  int64 // number of the last
}

// past is a job that ended.
type past struct {
	cores      int32
	limit, run grid.Tick
}

const (
	keptEach    = 40 // ended jobs of each user
	keptAll     = 50 // and of all, for users of whom too little is known
	keptUsers   = 1 << 14
	older       = 0.8 // the weight of a job against that of the next of its user
	otherLimit  = 0.2 // of one with another limit
	otherCores  = 0.6 // of one with another number of cores
	ofOthers    = 0.01
	tooLittle   = 0.05 // below it the jobs of all users count too
	keptAtMost  = keptEach + keptAll
	forgetAfter = 2 // how many times more are held before the oldest are forgotten
)

// Empty tells that nothing ended yet.
func (r *RunTimes) Empty() bool { return len(r.all) == 0 }

// Ended tells that a job ran to its end.
func (r *RunTimes) Ended(t Trait, run grid.Tick) {
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
	p := past{t.Cores, max(t.Limit, 1), run}
	h.ended = remember(h.ended, p, keptEach)
	r.all = remember(r.all, p, keptAll)
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
		return h.ended
	}
	return nil
}

// remember keeps the last n, and for some time more of them.
func remember(all []past, p past, n int) []past {
	if len(all) >= n*forgetAfter {
		all = append(all[:0], all[len(all)-n+1:]...)
	}
	return append(all, p)
}

// guess is a run time that may be, with its weight.
type guess struct {
	run    grid.Tick
	weight float64
}

// Believe fills into with run times that are equally likely for a job that has run
// for elapsed (0 is not yet), ascending: all more than elapsed, and none beyond the
// limit unless elapsed is.
func (r *RunTimes) Believe(t Trait, elapsed grid.Tick, into []grid.Tick) {
	var room [keptAtMost]guess
	guesses, sum := weigh(room[:0], r.of(t.Who), keptEach, t, elapsed, 1)
	if sum < tooLittle {
		var more float64
		guesses, more = weigh(guesses, r.all, keptAll, t, elapsed, ofOthers)
		sum += more
	}
	if len(guesses) == 0 {
		for i := range into {
			into[i] = max(t.Limit, elapsed+1)
		}
		return
	}
	slices.SortFunc(guesses, func(a, b guess) int { return cmp.Compare(a.run, b.run) })
	g, below := 0, guesses[0].weight // the weight of those up to g
	for i := range into {
		for at := sum * (float64(i) + 0.5) / float64(len(into)); below < at && g+1 < len(guesses); {
			g++
			below += guesses[g].weight
		}
		into[i] = guesses[g].run
	}
}

// weigh adds the last n of what ended to guesses, and tells their weight.
func weigh(guesses []guess, ended []past, n int, t Trait, elapsed grid.Tick, weight float64) ([]guess, float64) {
	var sum float64
	for i := len(ended) - 1; i >= max(len(ended)-n, 0); i-- {
		p := &ended[i]
		run, w := p.run, weight
		if p.limit != t.Limit {
			run = grid.Tick(float64(run) / float64(p.limit) * float64(t.Limit))
			w *= otherLimit
		}
		if p.cores != t.Cores {
			w *= otherCores
		}
		if run = min(run, t.Limit); run > elapsed {
			guesses = append(guesses, guess{run, w})
			sum += w
		}
		weight *= older
	}
	return guesses, sum
}
