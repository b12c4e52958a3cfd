package netmon

import (
	"context"
	"errors"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// What is thought of a way before anything is measured is what its member's line says, and never more than its limit.
func TestWhatIsAssumedOfAWay(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		m     grid.Member
		rate  float64
		limit float64
	}{
		{grid.Member{}, grid.DefaultBandwidth, math.Inf(1)}, {grid.Member{DefaultBandwidth: 1}, 1, math.Inf(1)}, {grid.Member{RateLimit: 1}, 1, 1},
		{grid.Member{DefaultBandwidth: 7, RateLimit: 5}, 5, 5}, {grid.Member{DefaultBandwidth: 5, RateLimit: 7}, 5, 7},
	} {
		w := &way{}
		if w.configure(k.m); w.assumed != k.rate || w.limit != k.limit {
			t.Errorf("%+v: %v, at most %v", k.m, w.assumed, w.limit)
		}
	}
}

// A message takes the time of an empty one and what its bytes take; where the larger of two took no longer, or the smaller none at all, the larger tells the rate.
func TestTheLineThroughTwoMessages(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		lo, hi  [2]float64
		z, rate float64
	}{
		"latency and rate":  {[2]float64{100, 2}, [2]float64{300, 4}, 900, 900 / 10.},
		"between":           {[2]float64{100, 2}, [2]float64{300, 4}, 200, 200 / 3.},
		"no latency":        {[2]float64{100, 1}, [2]float64{300, 3}, 900, 100},
		"less than none":    {[2]float64{100, 0.5}, [2]float64{300, 3}, 900, 100},
		"as fast as before": {[2]float64{100, 2}, [2]float64{300, 2}, 900, 150},
		"faster":            {[2]float64{100, 2}, [2]float64{300, 1}, 900, 300},
	} {
		if got := line(k.lo, k.hi, k.z); !near(got, k.rate, 1e-12) {
			t.Errorf("%s: %v, want %v", name, got, k.rate)
		}
	}
}

// What a neighbour tells of a way has one to sixteen rates, of sizes that ascend, and a round trip of an hour at most.
func TestWhatANeighbourMayTell(t *testing.T) {
	t.Parallel()
	rates := func(n int) (list []sized) {
		for i := range n {
			list = append(list, sized{Size: int64(i + 1), Rate: 5})
		}
		return list
	}
	for n, fine := range map[int]bool{0: false, 1: true, maxSizes: true, maxSizes + 1: false} {
		l, err := (&answered{Rates: rates(n)}).link()
		if (err == nil) != fine || fine && (len(l.Rates) != n || l.RTT != 0) {
			t.Errorf("%d rates: %+v, %v", n, l, err)
		}
	}
	for rtt, want := range map[float64]grid.Tick{0: 0, 1e-6: 1, 2.5: 2500, 1e9: grid.Hour, -1e-9: -1, math.NaN(): -1} {
		l, err := (&answered{RTTS: rtt, Rates: rates(1)}).link()
		if (err != nil) != (want < 0) || err == nil && l.RTT != want {
			t.Errorf("a round trip of %v s: %v, %v", rtt, l.RTT, err)
		}
	}
	same, none, endless := rates(2), rates(1), rates(1)
	same[1].Size, none[0].Size, endless[0].Rate = 1, 0, math.Inf(1)
	for name, list := range map[string][]sized{"of one size twice": same, "of no size": none, "endless": endless} {
		if l, err := (&answered{Rates: list}).link(); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// silent says nothing.
type silent struct{}

func (silent) Open(context.Context, grid.PeerID, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		for b := make([]byte, 1<<10); ; {
			if _, err := far.Read(b); err != nil {
				return
			}
		}
	}()
	return near, nil
}

// A neighbour that says nothing is waited for as long as who asks wants to, and never for longer than a few seconds.
func TestANeighbourThatSaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := monitor(t, silent{})
		begun := time.Now()
		if _, err := m.Ask(t.Context(), "far", []grid.PeerID{"k"}); err == nil || time.Since(begun) != askLimit {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := m.Ask(ctx, "far", []grid.PeerID{"k"}); err == nil || time.Since(begun) != time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// The bounds of a configuration are part of it.
func TestConfigOnItsBounds(t *testing.T) {
	t.Parallel()
	d := asked{}
	for name, c := range map[string]Config{
		"the smallest": {Dialer: d, Sizes: []int64{1}}, "the largest": {Dialer: d, Sizes: []int64{maxMessage}},
		"all of the time": {Dialer: d, TimeShare: 1}, "none": {Dialer: d, Sizes: []int64{}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]Config{
		"too large": {Dialer: d, Sizes: []int64{maxMessage + 1}}, "less than none of the time": {Dialer: d, TimeShare: -0.1}, "no number": {Dialer: d, TimeShare: math.NaN()},
		"interval": {Dialer: d, Interval: -1}, "longest": {Dialer: d, MaxProbe: -1},
	} {
		if err := c.Validate(); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A size of which all was as expected rests twice as long each time, up to its calm; of what was not once, it is measured soon, and of what was not twice, all sizes are.
func TestSizesThatRest(t *testing.T) {
	t.Parallel()
	cfg := Config{}
	setDefaults(&cfg)
	w := newWay(&cfg, time.Unix(1e9, 0))
	for n, want := range []time.Duration{1, 2, 4, 8} {
		if got := w.pause(0); got != min(want*cfg.Interval, calmLeast) {
			t.Errorf("after %d as expected it rests for %v", n, got)
		}
		w.settle(0, true)
	}
	w.settle(0, true)
	if got := w.pause(0); got != calmLeast {
		t.Errorf("the smallest rests for %v", got)
	}
	last := len(cfg.Sizes) - 1
	for range 30 {
		w.settle(last, true)
	}
	if got := w.pause(last); got != calmMost {
		t.Errorf("the largest rests for %v", got)
	}
	w.settle(0, false)
	if got := w.pause(0); got != cfg.Interval || w.pause(last) != calmMost {
		t.Errorf("after another rate it rests for %v, and others for %v", got, w.pause(last))
	}
	w.settle(0, true)
	if got := w.pause(0); got != 2*cfg.Interval {
		t.Errorf("after one that was as expected again it rests for %v", got)
	}
	w.settle(0, false)
	w.settle(0, false)
	if w.pause(0) != cfg.Interval || w.pause(last) != cfg.Interval {
		t.Errorf("after another rate twice it rests for %v, and others for %v", w.pause(0), w.pause(last))
	}
}

// Hours of Saturdays and Sundays are apart from those of other days.
func TestSlotsOfADay(t *testing.T) {
	t.Parallel()
	for day, want := range map[int]int{23: 5, 27: 5, 28: 29, 29: 29, 30: 5} { // Monday the 23rd of November 2026 and on
		if got := slotOf(time.Date(2026, 11, day, 5, 59, 0, 0, time.UTC)); got != want {
			t.Errorf("the %d.: slot %d, want %d", day, got, want)
		}
	}
}

// A message without bytes, or without a time, tells nothing of a way.
func TestWhatTellsNothingOfAWay(t *testing.T) {
	t.Parallel()
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	for size, d := range map[int64]time.Duration{0: time.Second, -1: time.Second, 1: 0, 1 << 20: -time.Second} {
		w.note(now, size, d)
	}
	for k := range w.gauges {
		if w.known(now, k) {
			t.Errorf("size %d is known", w.gauges[k].size)
		}
	}
	if !w.cold.IsZero() {
		t.Errorf("the way is cold until %v", w.cold)
	}
}

// How long a message will take is told by the smaller ones: by what is assumed without any, by one only where that was faster, and by itself where it alone is known.
func TestHowLongAMessageWillTake(t *testing.T) {
	t.Parallel()
	const z = 1 << 20
	for name, k := range map[string]struct {
		sizes []int64
		known map[int]float64 // bytes per second
		rate  float64
	}{
		"nothing is known":     {[]int64{1 << 10, z}, nil, 1000},
		"a slow small one":     {[]int64{1 << 10, z}, map[int]float64{0: 10}, 1000},
		"a fast small one":     {[]int64{1 << 10, z}, map[int]float64{0: 5000}, 5000},
		"itself alone":         {[]int64{1 << 10, z}, map[int]float64{1: 7000}, 7000},
		"itself and a smaller": {[]int64{1 << 10, z}, map[int]float64{0: 5000, 1: 7000}, 5000},
	} {
		cfg := Config{Sizes: k.sizes}
		setDefaults(&cfg)
		now := time.Unix(1e9, 0)
		w := newWay(&cfg, now)
		w.configure(grid.Member{DefaultBandwidth: 1000})
		for i, rate := range k.known {
			for range 3 { // the first finds a connection that knows nothing of the way
				w.note(now, k.sizes[i], time.Duration(float64(k.sizes[i])/rate*float64(time.Second)))
			}
		}
		if got, want := w.predicted(now, 1).Seconds(), z/k.rate; !near(got, want, 1e-6) {
			t.Errorf("%s: %v s, want %v", name, got, want)
		}
	}
}

// What is known of a way is forgotten when it is old; later for what has rested long since all was as expected.
func TestWhatIsKnownGrowsOld(t *testing.T) {
	t.Parallel()
	cfg := Config{BytesPerHour: 1 << 40}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	for range 2 {
		w.note(now, cfg.Sizes[0], time.Second)
	}
	if !w.known(now.Add(w.stale-1), 0) || w.known(now.Add(w.stale), 0) {
		t.Errorf("after %v it is known: %t", w.stale, w.known(now.Add(w.stale), 0))
	}
	last := len(cfg.Sizes) - 1
	for range 2 {
		w.note(now, cfg.Sizes[last], time.Second)
	}
	for range 30 {
		w.settle(last, true)
	}
	if long := staleAfter * w.pause(last) / 10; long <= w.stale || !w.known(now.Add(long-1), last) || w.known(now.Add(long), last) {
		t.Errorf("after %v, %v for others, it is known: %t", long, w.stale, w.known(now.Add(long-1), last))
	}
}

// Only the one right answer counts.
func TestAnswersToAProbe(t *testing.T) {
	t.Parallel()
	for _, said := range []byte{arrived, arrived + 1, 0} {
		near, far := net.Pipe()
		go func() { far.Write([]byte{said}); far.Close() }()
		if err := (&prober{c: near}).answered(); (err == nil) != (said == arrived) {
			t.Errorf("%d: %v", said, err)
		}
		near.Close()
	}
	near, far := net.Pipe()
	far.Close()
	if err := (&prober{c: near}).answered(); err == nil {
		t.Error("none")
	}
}
