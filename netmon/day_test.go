package netmon

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// naive keeps all measurements, and works out the ratio of two hours from them each time.
type naive struct {
	at []time.Time
	x  []float64
}

func (n *naive) slot(now time.Time, slot int) (mean float64, known bool) {
	var dates []int
	of := map[int][]float64{}
	for i, at := range n.at {
		if slotOf(at) == slot && dateOf(at) != dateOf(now) {
			of[dateOf(at)] = append(of[dateOf(at)], math.Log(n.x[i]))
		}
	}
	for date := range of {
		dates = append(dates, date)
	}
	slices.SortFunc(dates, cmp.Compare)
	for i, date := range dates {
		sum := 0.0
		for _, y := range of[date] {
			sum += y
		}
		w := 1 / float64(min(i+1, dayMemory))
		mean = (1-w)*mean + w*sum/float64(len(of[date]))
	}
	return mean, len(dates) > 0
}

func TestSerialHoursAgainstANaiveTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	d, n := &day{}, &naive{}
	now := time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC) // the year ends meanwhile
	for range 3000 {
		now = now.Add(time.Duration(r.Float64() * float64(time.Hour)))
		from := r.IntN(daySlots)
		got, known := d.ratio(dateOf(now), slotOf(now), from)
		a, knowsA := n.slot(now, from)
		b, knowsB := n.slot(now, slotOf(now))
		if known != (knowsA && knowsB) || known && !near(got, math.Exp(b-a), 1e-9) {
			t.Fatalf("%v from slot %d: %v, %v; want %v, %v", now, from, got, known, math.Exp(b-a), knowsA && knowsB)
		}
		x := math.Exp(3 * r.NormFloat64())
		d.add(now, x)
		n.at, n.x = append(n.at, now), append(n.x, x)
	}
}

// hourly follows a way for three weeks, of which the last two count: the mean relative error of the forecast of 16 MiB, each five minutes,
// in all and in the first half hour after the rate has changed; with and without the hour.
func hourly(t *testing.T, perHour int64, noise float64, rate func(now time.Time) float64) (with, without, after float64) {
	t.Helper()
	cfg := Config{BytesPerHour: perHour}
	setDefaults(&cfg)
	now := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	w := newWay(&cfg, now)
	w.configure(grid.Member{})
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	learned, end := now.AddDate(0, 0, 7), now.AddDate(0, 0, 21)
	const large = 5
	n, changed, changes := 0, time.Time{}, 0
	for was := rate(now); now.Before(end); now = now.Add(5 * time.Minute) {
		if x := rate(now); x != was {
			was, changed = x, now
		}
		if now.After(learned) {
			truth := float64(cfg.Sizes[large]) / (0.01 + float64(cfg.Sizes[large])/rate(now))
			e := apart(w.forecast(now, large), truth)
			with, without, n = with+e, without+apart(w.gauges[large].rate.forecast(nil), truth), n+1
			if now.Sub(changed) < 30*time.Minute {
				after, changes = after+e, changes+1
			}
		}
		for range 20 {
			k, at, ok := w.next(now)
			if !ok || at.After(now) {
				break
			}
			z := cfg.Sizes[k]
			d := (0.01 + float64(z)/rate(now)) * math.Exp(noise*r.NormFloat64())
			w.gauges[k].bytes.spend(now, float64(z))
			w.note(now, z, time.Duration(d*float64(time.Second)))
		}
	}
	return with / float64(n), without / float64(n), after / float64(max(changes, 1))
}

// A way that is slow in office hours is forecast to be so from the first minute on, also for the size that is measured each few hours alone;
// with the bytes of the default, which measure that size twice a day, half as well.
func TestSerialForecastGoesWithTheHour(t *testing.T) {
	for _, c := range []struct {
		perHour                   int64
		share, mean, afterAChange float64 // at most
	}{{16 << 20, 0.5, 0.12, 0.25}, {0, 0.7, 0.22, 0.45}} {
		with, without, after := hourly(t, c.perHour, 0.1, func(now time.Time) float64 {
			if h := now.Hour(); slotOf(now) < 24 && h >= 9 && h < 17 {
				return 4e6
			}
			return 20e6
		})
		t.Logf("error of 16 MiB: %.1f %%, without the hour %.1f %%; %.1f %% in the first half hour after a change", 100*with, 100*without, 100*after)
		if with > without*c.share || with > c.mean || after > c.afterAChange {
			t.Errorf("the error is %.3f with the hour, %.3f without it; %.3f after a change", with, without, after)
		}
	}
}

// Where nothing goes with the hour, its noise is not taken for that.
func TestSerialHoursOfASteadyWay(t *testing.T) {
	const ways = 4 // of one chance may make a difference
	var with, without float64
	for range ways {
		a, b, _ := hourly(t, 0, 0.2, func(time.Time) float64 { return 20e6 })
		with, without = with+a/ways, without+b/ways
	}
	t.Logf("error of 16 MiB: %.1f %%, without the hour %.1f %%", 100*with, 100*without)
	if with > without+0.02 { // of a hundred draws the farthest apart are 0.01
		t.Errorf("the error is %.3f with the hour, %.3f without it", with, without)
	}
}

// Whoever decides hears of it when the hour comes, before anything is measured.
func TestTheHourIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last atomic.Pointer[grid.Link]
		m := start(t, Config{Changed: func(_ grid.PeerID, l grid.Link) { last.Store(&l) }}, nil, grid.Member{Peer: "j"})
		const z = 4 << 20
		for time.Now().Before(time.Date(2000, 1, 7, 8, 45, 0, 0, time.UTC)) {
			rate := 20e6
			if time.Now().Hour() >= 9 {
				rate = 4e6
			}
			m.Observe("j", z, time.Duration(z/rate*float64(time.Second)))
			elapse(10 * time.Minute)
		}
		if b, _ := last.Load().Bandwidth(z); !near(b, 20e6, 0.1) {
			t.Fatalf("before nine it is %.0f", b)
		}
		last.Store(&grid.Link{})
		elapse(time.Until(time.Date(2000, 1, 7, 9, 0, 1, 0, time.UTC)))
		if b, measured := last.Load().Bandwidth(z); !near(b, 4e6, 0.1) || !measured {
			t.Errorf("at nine %.0f is told, measured %v", b, measured)
		}
		if q := m.Qualities("j"); !q[4].ByHour || q[0].ByHour {
			t.Errorf("what goes by the hour: %+v", q)
		}
	})
}

// The next hour is never behind us, also where the clock leaves one out or has one twice: who waits for it would not wait at all.
func TestNextHour(t *testing.T) {
	t.Parallel()
	for name, day := range map[string]time.Time{
		"America/New_York": time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), "Europe/Berlin": time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
		"Asia/Kolkata": time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC),
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for now := day; now.Before(day.AddDate(0, 0, 1)); now = now.Add(7 * time.Minute) {
			next := nextHour(now.In(zone))
			if ahead := next.Sub(now); ahead <= 0 || ahead > time.Hour || next.Minute() != 0 {
				t.Errorf("after %v comes %v", now.In(zone), next)
			}
		}
	}
}
