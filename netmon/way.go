package netmon

import (
	"math"
	"slices"
	"time"

	"gbroker/grid"
)

// way is all that is known of the way to one peer, and what measuring it may still
// cost. It reads no clock.
type way struct {
	cfg     *Config
	gauges  []gauge       // of each size of cfg, and of the larger ones that only real transfers tell of
	assumed float64       // bytes per second, until measured
	limit   float64       // the member's rate limit; +Inf if none
	tail    series        // bytes per second, of the second half of the largest probe
	rtt     series        // seconds
	cold    time.Time     // from then on a message finds the windows of connections as small as a file does
	seconds bucket        // time that probes may take
	stale   time.Duration // older measurements do not count
}

// gauge is what is known of messages of one size.
type gauge struct {
	size  int64
	rate  series // bytes per second
	day   *day   // nil until it is measured
	rest  rest
	warm  bool   // it was measured twice. The first message finds a connection that knows nothing of the way, and is forgotten
	bytes bucket // that its probes may send; of a size that is none, nothing
}

func newWay(cfg *Config, now time.Time) *way {
	round := 0.0
	for _, z := range cfg.Sizes {
		round += float64(z)
	}
	w := &way{
		cfg: cfg, seconds: newBucket(cfg.TimeShare, 2*cfg.MaxProbe.Seconds(), now),
		stale: staleAfter*cfg.Interval + time.Duration(4*round/float64(cfg.BytesPerHour)*float64(time.Hour)),
	}
	for _, z := range slices.Concat(cfg.Sizes, larger) {
		w.gauges = append(w.gauges, gauge{size: z})
	}
	rate := float64(cfg.BytesPerHour) / 3600
	for k, z := range slices.Backward(cfg.Sizes) {
		if k > 0 {
			rate /= 2
		}
		w.gauges[k].bytes = newBucket(rate, float64(max(z, min(quickMessages*z, quickBytes))), now)
	}
	return w
}

// What each size may send at once, in messages and bytes, or one message if that is more: a change is looked at soon, and up to 1 MiB is
// measured more than once on a new way.
const (
	quickMessages = 4
	quickBytes    = 2 << 20
)

// configure takes over the member's line.
func (w *way) configure(m grid.Member) {
	w.assumed, w.limit = grid.DefaultBandwidth, math.Inf(1)
	if m.DefaultBandwidth > 0 {
		w.assumed = float64(m.DefaultBandwidth)
	}
	if m.RateLimit > 0 {
		w.limit = float64(m.RateLimit)
	}
	w.assumed = min(w.assumed, w.limit)
}

// Bounds on what is believed of a measurement.
const (
	slowest = 1.0 // bytes per second
	fastest = 1 << 40
)

// opening is from how many bytes on a message leaves the window of its connection wider than it was: what comes within coolDown
// goes faster than a file does, which comes seldom.
const (
	opening  = 64 << 10
	coolDown = 3 * time.Second
)

// note takes the delivery time of one message. One of another size than those of w tells by how much faster the way is than was
// thought.
func (w *way) note(now time.Time, size int64, d time.Duration) {
	if size <= 0 || d <= 0 {
		return
	}
	if size >= opening {
		w.cold = later(w.cold, now.Add(coolDown))
	}
	k, x := w.nearest(size), float64(size)/d.Seconds()
	g := &w.gauges[k]
	if size != g.size {
		l := w.link(now)
		told, _ := l.Bandwidth(size)
		x *= l.Rates[k].BytesPerSecond / told
	}
	x = min(max(x, slowest), fastest)
	by := w.scale(now, k)
	if k < len(w.cfg.Sizes) && len(g.rate.recent) == 1 && !g.warm {
		g.rate, g.warm = series{}, true
	} else if g.rate.measured() {
		f := g.rate.forecast(by)
		w.settle(k, math.Abs(x-f) <= max(steady, unsteady*g.rate.spread(by))*max(x, f))
	}
	g.learnHour(now, x)
	g.rate.add(now, x, by)
}

// noteTail takes the rate at which the second half of the largest probe came.
func (w *way) noteTail(now time.Time, size int64, x float64) {
	if size == w.cfg.Sizes[len(w.cfg.Sizes)-1] {
		w.tail.add(now, min(max(x, slowest), fastest), nil)
	}
}

// rest is how long a size is let alone.
type rest struct {
	factor float64 // of Interval, less one: 0 is Interval
	odd    bool    // the last measurement was not what was expected
}

const (
	steady    = 0.2 // what is within that of the forecast is as expected,
	unsteady  = 2   // or within so many times the spread
	calmBytes = 128 // per second, that the probes of one size come to where all is as expected: with gossip a neighbour costs less than 1 KiB/s
	calmLeast = 10 * time.Minute
	calmMost  = 12 * time.Hour
)

// settle lets a size alone for twice as long where all was as expected. What was not is measured again soon, and, if that was not as
// expected either, the way has changed: so are all sizes.
func (w *way) settle(k int, expected bool) {
	r := &w.gauges[k].rest
	switch {
	case expected:
		*r = rest{factor: 2*r.factor + 1}
	case !r.odd:
		*r = rest{odd: true}
	default:
		for i := range w.gauges {
			w.gauges[i].rest = rest{}
		}
	}
}

// pause is how long after a measurement size k is measured again.
func (w *way) pause(k int) time.Duration {
	calm := time.Duration(float64(w.gauges[k].size) / calmBytes * float64(time.Second))
	calm = max(min(max(calm, calmLeast), calmMost), w.cfg.Interval)
	if d := (1 + w.gauges[k].rest.factor) * float64(w.cfg.Interval); d < float64(calm) {
		return time.Duration(d)
	}
	return calm
}

// nearest is the measured size nearest to size, by ratio.
func (w *way) nearest(size int64) int {
	best, distance := 0, math.Inf(1)
	for k := range w.gauges {
		if d := math.Abs(math.Log(float64(w.gauges[k].size) / float64(size))); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// known tells that a size has a measurement that still counts: one that is not too
// old to be believed (large sizes are no longer sent when a link has become slow).
func (w *way) known(now time.Time, k int) bool {
	stale := max(w.stale, staleAfter*w.pause(k)/10)
	if k >= len(w.cfg.Sizes) {
		stale = max(stale, largerStale)
	}
	r := &w.gauges[k].rate
	return r.measured() && now.Sub(r.at) < stale
}

// larger are sizes, in bytes, that are never sent as probes: what they take is learned from real transfers, and believed for longer.
var larger = []int64{64 << 20, 512 << 20}

const largerStale = 6 * time.Hour

// telling is from how many bytes on one size alone says more of the others than what is assumed of all ways.
const telling = 1 << 20

// In intervals; slowDown is how much rarer a size is measured that takes too long.
const (
	staleAfter = 20
	slowDown   = 5
)

// link is the forecast.
func (w *way) link(now time.Time) grid.Link {
	l := grid.Link{Rates: make([]grid.Rate, len(w.gauges))}
	if w.rtt.measured() {
		l.RTTFine = w.rtt.forecast(nil)
		l.RTT = max(grid.FromSeconds(l.RTTFine), grid.Millisecond)
	}
	for k := range w.gauges {
		z := w.gauges[k].size
		l.Rates[k] = grid.Rate{Size: z}
		if w.known(now, k) {
			l.Rates[k].BytesPerSecond, l.Rates[k].Measured = w.forecast(now, k), true
		} else {
			l.Rates[k].BytesPerSecond = w.derived(now, k, len(w.gauges), float64(z))
		}
	}
	return l
}

// qualities go with the rates of link; zero where a rate is not measured.
func (w *way) qualities(now time.Time) []grid.Quality {
	list := make([]grid.Quality, len(w.gauges))
	for k := range list {
		if g := &w.gauges[k]; w.known(now, k) {
			list[k] = grid.Quality{Age: grid.FromSeconds(now.Sub(g.rate.at).Seconds()), Spread: g.rate.spread(w.scale(now, k)), ByHour: g.byHour()}
		}
	}
	return list
}

// derived is the rate of z bytes by the line through the two known sizes below index end that are nearest to size k, other than k
// itself; else what is assumed. Beyond the largest probe it goes on as its second half did: smaller ones have fewer streams.
func (w *way) derived(now time.Time, k, end int, z float64) float64 {
	near := [2]int{-1, -1} // nearest first
	for i := range end {
		if i == k || !w.known(now, i) {
			continue
		}
		switch d := abs(i - k); {
		case near[0] < 0 || d < abs(near[0]-k):
			near[0], near[1] = i, near[0]
		case near[1] < 0 || d < abs(near[1]-k):
			near[1] = i
		}
	}
	if near[1] < 0 && near[0] >= 0 && w.gauges[near[0]].size >= telling {
		return w.forecast(now, near[0])
	}
	if near[1] < 0 {
		return w.assumed
	}
	if top := len(w.cfg.Sizes) - 1; near[0] == top && k > top && w.tail.measured() {
		p := w.point(now, top)
		return min(z/(p[1]+(z-p[0])/w.tail.forecast(w.scale(now, top))), w.limit)
	}
	lo, hi := min(near[0], near[1]), max(near[0], near[1])
	return min(line(w.point(now, lo), w.point(now, hi), z), w.limit)
}

func (w *way) point(now time.Time, k int) [2]float64 {
	z := float64(w.gauges[k].size)
	return [2]float64{z, z / w.forecast(now, k)}
}

// line is z/t(z) with t(z) = a + z/B through two points (size, seconds), lo the
// smaller size. Where the larger took no longer, its rate stands; a < 0 counts as 0.
func line(lo, hi [2]float64, z float64) float64 {
	if hi[1] <= lo[1] {
		return hi[0] / hi[1]
	}
	bandwidth := (hi[0] - lo[0]) / (hi[1] - lo[1])
	a := max(lo[1]-lo[0]/bandwidth, 0)
	if a == 0 {
		return hi[0] / hi[1]
	}
	return z / (a + z/bandwidth)
}

func abs(n int) int { return max(n, -n) }

// predicted is how long a message of size k would take at least, judged by the smaller sizes,
// which are measured however slow the link has become: as if each of its streams went as fast as one.
func (w *way) predicted(now time.Time, k int) time.Duration {
	z := float64(w.gauges[k].size) / float64(max(w.cfg.Streams(w.gauges[k].size), 1))
	count, last := 0, -1
	for i := range k {
		if w.known(now, i) {
			count, last = count+1, i
		}
	}
	rate := w.assumed
	switch {
	case count >= 2:
		rate = w.derived(now, k, k, z)
	case count == 1:
		rate = min(max(rate, w.forecast(now, last)), w.limit) // one small message says more of latency than of bandwidth
	case w.known(now, k):
		rate = w.forecast(now, k)
	}
	return time.Duration(z / max(rate, slowest) * float64(time.Second))
}

// limitOf is after how long a message of size k is given up. Who has died must not hold up the others for long, and a message that was
// cut for less than MaxProbe is expected to take as long from then on.
func (w *way) limitOf(now time.Time, k int) time.Duration {
	expected := w.predicted(now, k)
	if w.gauges[k].rate.measured() {
		expected = max(expected, time.Duration(float64(w.gauges[k].size)/w.forecast(now, k)*float64(time.Second)))
	}
	return min(max(cutFactor*expected, turnLimit), cutFactor*w.cfg.MaxProbe)
}

// expense is the time that must be at hand before a message of size k is sent.
func (w *way) expense(now time.Time, k int) float64 {
	return min(w.predicted(now, k), w.cfg.MaxProbe).Seconds()
}

// next is the size to probe next and when, which may be past; ok is false if none is.
// Sizes never measured come first, small ones before large ones. A size follows only
// when the smaller ones are known, because they tell what it will cost.
func (w *way) next(now time.Time) (k int, at time.Time, ok bool) {
	for i, z := range w.cfg.Sizes {
		if i > 0 && (w.cfg.Quiet || w.predicted(now, i) > w.cfg.MaxProbe) {
			continue
		}
		due := now
		if s := &w.gauges[i].rate; s.measured() {
			due = s.at.Add(w.pause(i))
			if float64(z)/w.forecast(now, i) > w.cfg.MaxProbe.Seconds() { // the prediction was too good
				due = s.at.Add(max(w.pause(i), slowDown*w.cfg.Interval))
			}
		}
		if z >= opening {
			due = later(due, w.cold)
		}
		ready := later(w.gauges[i].bytes.when(now, float64(z)), w.seconds.when(now, w.expense(now, i)))
		if due = later(due, ready); !ok || due.Before(at) {
			k, at, ok = i, due, true
		}
		if !w.gauges[i].rate.measured() {
			break
		}
	}
	return k, at, ok
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// bucket fills at a rate up to a burst; what is spent may make it negative.
type bucket struct {
	rate, burst, level float64
	at                 time.Time
}

func newBucket(rate, burst float64, now time.Time) bucket {
	return bucket{rate: rate, burst: burst, level: burst, at: now}
}

func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at).Seconds(); d > 0 {
		b.level = min(b.level+d*b.rate, b.burst)
		b.at = now
	}
}

func (b *bucket) spend(now time.Time, n float64) {
	b.fill(now)
	b.level -= n
}

// when tells the instant at which n will be there.
func (b *bucket) when(now time.Time, n float64) time.Time {
	b.fill(now)
	if missing := min(n, b.burst) - b.level; missing > 0 {
		return now.Add(time.Duration(math.Ceil(missing / b.rate * float64(time.Second))))
	}
	return now
}
