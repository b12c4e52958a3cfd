package netmon

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
)

// How much do probes cost over a day, on links from slow to fast?
func TestSerialCostIsBounded(t *testing.T) {
	for _, rate := range []float64{500, 20e3, 1e6, 20e6, 1e9} {
		cfg := Config{}
		setDefaults(&cfg)
		start := time.Unix(1e9, 0)
		now := start
		w := newWay(&cfg, now)
		w.configure(grid.Member{})
		var bytes, seconds float64
		probes := 0
		for now.Sub(start) < 24*time.Hour {
			k, at, ok := w.next(now)
			if !ok {
				now = now.Add(cfg.Interval)
				continue
			}
			now = later(now, at)
			z := cfg.Sizes[k]
			d := time.Duration((0.01 + float64(z)/rate) * float64(time.Second))
			d = min(d, cutFactor*cfg.MaxProbe)
			w.gauges[k].bytes.spend(now, float64(z))
			now = now.Add(d)
			w.seconds.spend(now, d.Seconds())
			w.note(now, z, d)
			bytes += float64(z)
			seconds += d.Seconds()
			if probes++; probes > 1e6 {
				t.Fatal("endless")
			}
		}
		span := now.Sub(start)
		if limit := cfg.TimeShare*span.Seconds() + w.seconds.burst + cutFactor*cfg.MaxProbe.Seconds(); seconds > limit {
			t.Errorf("%v B/s: probes took %.0f s, limit %.0f", rate, seconds, limit)
		}
		if limit := float64(cfg.BytesPerHour)*span.Hours() + bursts(w); bytes > limit {
			t.Errorf("%v B/s: probes sent %.0f bytes, limit %.0f", rate, bytes, limit)
		}
		if probes < 40 {
			t.Errorf("%v B/s: only %d probes in a day", rate, probes)
		}
	}
}

// bursts is what all sizes may send at once.
func bursts(w *way) (bytes float64) {
	for _, g := range w.gauges {
		bytes += g.bytes.burst
	}
	return bytes
}

// Do probes of a way on which nothing is as expected cost less than 1 KiB/s, with no size that the others leave nothing for?
func TestSerialAnUnsteadyWayIsBoundedToo(t *testing.T) {
	for _, noise := range []float64{0.1, 0.2, 0.3, 0.5} {
		cfg := Config{}
		setDefaults(&cfg)
		now := time.Unix(1e9, 0)
		w := newWay(&cfg, now)
		w.configure(grid.Member{})
		r := rand.New(rand.NewPCG(rand.Uint64(), 0))
		begun, start := now.Add(5*time.Minute), now.Add(24*time.Hour)
		var bytes, soon float64
		latest, longest := map[int]time.Time{}, map[int]time.Duration{}
		for now.Before(start.Add(96 * time.Hour)) {
			k, at, ok := w.next(now)
			if !ok {
				t.Fatal("nothing is to be measured")
			}
			now = later(now, at)
			z := float64(cfg.Sizes[k])
			w.gauges[k].bytes.spend(now, z)
			w.note(now, cfg.Sizes[k], time.Duration((0.01+z/20e6)*math.Exp(noise*r.NormFloat64())*float64(time.Second)))
			if now.After(begun) && now.Before(begun.Add(time.Hour)) {
				soon += z
			}
			if now.After(start) {
				bytes += z
				longest[k] = max(longest[k], now.Sub(later(latest[k], start)))
			}
			latest[k] = now
		}
		perSecond := bytes / now.Sub(start).Seconds()
		t.Logf("noise of %.0f %%: %.0f B/s, rests of at most %v", 100*noise, perSecond, longest)
		if perSecond > 900 || soon/3600 > 900 {
			t.Errorf("noise of %.0f %%: probes take %.0f B/s, %.0f in the first hour", 100*noise, perSecond, soon/3600)
		}
		for k, z := range cfg.Sizes {
			if d, ok := longest[k]; !ok || d > calmMost+time.Hour {
				t.Errorf("noise of %.0f %%: %d bytes were not measured for %v", 100*noise, z, d)
			}
		}
	}
}

func TestForecastIgnoresAnOutlierAndFollowsAChange(t *testing.T) {
	var s series
	now := time.Unix(1e9, 0)
	for range 8 {
		s.add(now, 100, nil)
	}
	s.add(now, 5, nil)
	s.add(now, 100, nil)
	if f := s.forecast(nil); math.Abs(f-100) > 10 {
		t.Errorf("after one outlier: %v, want about 100", f)
	}
	for i := range 4 {
		s.add(now, 30, nil)
		if i == 3 && math.Abs(s.forecast(nil)-30) > 3 {
			t.Errorf("after four values of 30: %v", s.forecast(nil))
		}
	}
}

func TestForecastOfASteadyNoisySeriesIsNearItsMiddle(t *testing.T) {
	var s series
	for i := range 200 {
		s.add(time.Unix(1e9, 0), 100+20*math.Sin(float64(i*i)), nil)
	}
	if f := s.forecast(nil); f < 85 || f > 115 {
		t.Errorf("forecast %v", f)
	}
}

func TestSizesWithoutMeasurementFollowTheLine(t *testing.T) {
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{DefaultBandwidth: 777})
	const a, b = 0.05, 1e6
	send := func(k int) {
		z := float64(cfg.Sizes[k])
		w.note(now, cfg.Sizes[k], time.Duration((a+z/b)*float64(time.Second)))
	}
	send(0)
	if r := w.link(now).Rates; r[1].BytesPerSecond != 777 || r[1].Measured || !r[0].Measured {
		t.Errorf("with one measured size: %+v", r)
	}
	send(2)
	for k, r := range w.link(now).Rates {
		want := float64(r.Size) / (a + float64(r.Size)/b)
		if !near(r.BytesPerSecond, want, 0.01) || r.Measured != (k == 0 || k == 2) {
			t.Errorf("%d bytes: %+v, want %.0f", r.Size, r, want)
		}
	}
	w.configure(grid.Member{RateLimit: 1000})
	if r := w.link(now).Rates[4]; r.BytesPerSecond != 1000 {
		t.Errorf("beyond the member's rate limit: %+v", r)
	}
	if r := w.link(now.Add(1000 * time.Hour)).Rates[0]; r.Measured || r.BytesPerSecond != 1000 {
		t.Errorf("a measurement of long ago still counts: %+v", r)
	}
}

// A way on which all is as expected costs little, one with noise not much more; and a change is learned by two probes of a size, after
// which all sizes are measured anew.
func TestSerialASteadyWayIsLetAlone(t *testing.T) {
	for noise, limit := range map[float64]float64{0: 950, 0.1: 5000, 0.3: 30_000} {
		const ways = 3 // chance decides how often two measurements of one are odd
		perSecond := 0.0
		for range ways {
			perSecond += steadyCost(t, noise) / ways
		}
		t.Logf("noise of %.0f %%: %.0f B/s", 100*noise, perSecond)
		if perSecond > limit {
			t.Errorf("noise of %.0f %%: probes take %.0f B/s, want at most %.0f", 100*noise, perSecond, limit)
		}
	}
}

// steadyCost is what probes of a way take, in bytes per second, over two days after its first six hours; one without noise changes then.
func steadyCost(t *testing.T, noise float64) (perSecond float64) {
	t.Helper()
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	rate := 20e6
	probe := func() (k int) {
		k, at, ok := w.next(now)
		if !ok {
			t.Fatal("nothing is to be measured")
		}
		now = later(now, at)
		d := (0.01 + float64(cfg.Sizes[k])/rate) * math.Exp(noise*r.NormFloat64())
		w.note(now, cfg.Sizes[k], time.Duration(d*float64(time.Second)))
		return k
	}
	var bytes float64
	first := now.Add(6 * time.Hour)
	for now.Before(first.Add(48 * time.Hour)) {
		if k := probe(); now.After(first) {
			bytes += float64(cfg.Sizes[k])
		}
	}
	perSecond = bytes / now.Sub(first).Seconds()
	if noise > 0 {
		return perSecond
	}
	rate /= 5
	began, seen := now, map[int]int{}
	for seen[3] < 3 {
		seen[probe()]++
	}
	if took := now.Sub(began); took > calmLeast+5*time.Minute {
		t.Errorf("a change is known of 1 MiB after %v", took)
	}
	return perSecond
}

// Does the first message of a size count for nothing when the second is there, which finds a connection that knows the way?
func TestTheFirstMessageIsForgotten(t *testing.T) {
	cfg := Config{}
	setDefaults(&cfg)
	now := time.Unix(1e9, 0)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	w.note(now, 1<<20, 660*time.Millisecond)
	if got := w.forecast(now, 3); !near(got, (1<<20)/0.66, 0.01) {
		t.Errorf("after one message %.0f B/s are told", got)
	}
	for _, ms := range []time.Duration{330, 320, 340} {
		now = now.Add(time.Minute)
		w.note(now, 1<<20, ms*time.Millisecond)
		if got := w.forecast(now, 3); !near(got, (1<<20)/0.33, 0.05) {
			t.Errorf("after a message of %d ms %.0f B/s are told", ms, got)
		}
	}
	if w.gauges[3].rest.odd || w.gauges[3].rest.factor == 0 {
		t.Errorf("that the second message was faster is taken for a change: %+v", w.gauges[3].rest)
	}
	w.note(now, 512<<20, time.Minute)
	w.note(now, 512<<20, 2*time.Minute)
	if got := w.forecast(now, 7); !near(got, 0.75*(512<<20)/60, 0.01) {
		t.Errorf("of two large files %.0f B/s are told", got)
	}
}
