package plan

import "gbroker/grid"

// Runs are how long the jobs of a snapshot run in all, by index into its lists, as far as is believed: each at least 1, and more than
// the job has run.
type Runs struct {
	Running, Waiting []grid.Tick
}

const (
	// UsualDraws is how often brokers draw run times. On logs of real machines 31 draws are little better (docs/experiments.md).
	UsualDraws = 7
	// maxDraws bounds it.
	maxDraws = 31
)

// Draw draws run times for all jobs of a snapshot, n times; n is a prime to [maxDraws], or 1, which has the median of each job. The
// draws take the views in turn. A job has each of a view's run times in some of its draws, in an order of its own, so that what one
// runs for tells nothing of another. Where it is known how long a job runs, all draws have that.
func (b *Beliefs) Draw(s *Snapshot, n int) []Runs {
	n = min(max(n, 1), maxDraws)
	d := drawing{b: b, runs: make([]Runs, n), into: make([]grid.Tick, Views*n), like: make(map[like]uint64), fresh: make(map[Trait][]grid.Tick)}
	for k := range d.runs {
		d.runs[k] = Runs{make([]grid.Tick, len(s.Running)), make([]grid.Tick, len(s.Waiting))}
	}
	for i := range s.Running {
		r := &s.Running[i]
		believed, key := d.believe(r.Trait, max(s.At-r.Start, 0)), d.key(like{r.Trait, r.Start})
		for k := range d.runs {
			d.runs[k].Running[i] = believed[d.turn(key, k)]
		}
	}
	for i := range s.Waiting {
		t := s.Waiting[i].Trait
		believed, ok := d.fresh[t]
		if !ok {
			believed = append(believed, d.believe(t, 0)...)
			d.fresh[t] = believed
		}
		key := d.key(like{t, waits})
		for k := range d.runs {
			d.runs[k].Waiting[i] = believed[d.turn(key, k)]
		}
	}
	return d.runs
}

// drawing is a call of Draw.
type drawing struct {
	b     *Beliefs
	runs  []Runs
	into  []grid.Tick
	like  map[like]uint64 // how many were drawn
	fresh map[Trait][]grid.Tick
}

// like is what jobs have in common between which no draw tells apart.
type like struct {
	trait Trait
	start grid.Tick
}

const waits = -1 // the start of what waits

// believe are the run times by all views, of a job that has run for elapsed.
func (d *drawing) believe(t Trait, elapsed grid.Tick) []grid.Tick {
	switch {
	case t.Known > 0:
		for i := range d.into {
			d.into[i] = max(t.Known, elapsed+1)
		}
	case len(d.runs) == 1:
		m := d.b.Median(t, elapsed)
		for i := range d.into {
			d.into[i] = m
		}
	default:
		d.b.Believe(t, elapsed, d.into)
	}
	return d.into
}

// turn is the index of the run time that a job has in a draw.
func (d *drawing) turn(key uint64, draw int) int {
	n := len(d.runs)
	return draw%Views*n + Turn(key, draw, n)
}

// key tells jobs apart. It stays that of a job while it runs or waits, or goes to one that is like it.
func (d *drawing) key(l like) uint64 {
	n := d.like[l]
	d.like[l]++
	h := n
	for _, x := range []uint64{uint64(l.trait.Who), uint64(l.trait.Cores), uint64(l.trait.Limit), uint64(l.start)} {
		h = mix(h) ^ x
	}
	return h
}

// Turn is which of n equally likely values, n a prime or 1, one that has a key takes in a draw: in n draws each of them once.
func Turn(key uint64, draw, n int) int {
	if n == 1 {
		return 0
	}
	h, m := mix(key), uint64(n)
	return int((uint64(draw)*(h%(m-1)+1) + h>>32%m) % m)
}

// mix hashes a number (the end of SplitMix64).
func mix(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
