package pool

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// drawHistory draws facts of whole minutes over some days.
func drawHistory(t *rapid.T) (h History, p Policy, now grid.Tick) {
	minutes := func(from, to int, what string) grid.Tick {
		return grid.Tick(rapid.IntRange(from, to).Draw(t, what)) * grid.Minute
	}
	now = 56*Week + minutes(0, 7*24*60, "now")
	h = History{
		Since: now - minutes(0, 5*24*60, "since"), Window: minutes(60, 4*24*60, "window"), Offset: minutes(-12*60, 14*60, "offset"),
		Speed: float64(rapid.IntRange(1, 8).Draw(t, "speed")) / 4, Presume: 0.25,
	}
	at := now - minutes(0, 6*24*60, "first")
	for range rapid.IntRange(0, 12).Draw(t, "facts") {
		at += minutes(0, 600, "gap")
		f := Fact{From: at, To: at + minutes(1, 900, "span"), Active: rapid.Bool().Draw(t, "active"), Battery: rapid.Bool().Draw(t, "battery"), Idle: float64(rapid.IntRange(0, 4).Draw(t, "idle")) / 4}
		at = f.To
		if rapid.IntRange(0, 4).Draw(t, "twice") == 0 {
			at = max(f.From, at-minutes(0, 30, "overlap"))
		}
		h.Facts = append(h.Facts, f)
	}
	p = Policy{Quiet: minutes(0, 40, "quiet"), Share: float64(rapid.IntRange(0, 4).Draw(t, "share")) / 4, OnBattery: rapid.Bool().Draw(t, "on battery")}
	if rapid.Bool().Draw(t, "has hours") {
		var open [7]uint32
		for i := range open {
			open[i] = rapid.Uint32Range(0, 1<<24-1).Draw(t, "hours")
		}
		p.Hours = &open
	}
	return h, p, now
}

// minuteByMinute is H by the hour of the owner's week, by a walk over each minute, in which all that is asked for is asked anew.
func minuteByMinute(h *History, p *Policy, now grid.Tick) (out [hours]float64) {
	type sum struct{ work, minutes float64 }
	var cells [hours]sum
	for at := max(h.Since, now-h.Window); at < now; at += grid.Minute {
		owner := (at + h.Offset).Time()
		hour := int(owner.Weekday())*24 + owner.Hour()
		cells[hour].minutes++
		open := p.Hours == nil || p.Hours[owner.Weekday()]>>owner.Hour()&1 == 1
		idle, told, last := 0.0, false, grid.Tick(0)
		for _, f := range h.Facts {
			if f.To <= last {
				continue // all of it was told before
			}
			last = f.To
			if f.Active && f.To <= at && at < f.To+p.Quiet {
				open = false
			}
			if f.From <= at && at < f.To && !told {
				told = true // the first to tell is believed
				if idle = f.Idle; f.Active || f.Battery && !p.OnBattery {
					idle = 0
				}
			}
		}
		if p.Share > 0 {
			idle = min(idle, p.Share)
		}
		if open {
			cells[hour].work += idle
		}
	}
	weekend := func(hour int) bool {
		day := time.Weekday(hour / 24)
		return day == time.Saturday || day == time.Sunday
	}
	for hour := range out {
		h0 := func(like func(int) bool) (sum sum) {
			for k, c := range cells {
				if k%24 == hour%24 && like(k) {
					sum.work, sum.minutes = sum.work+c.work, sum.minutes+c.minutes
				}
			}
			return sum
		}
		out[hour] = h.Presume
		for _, like := range []func(int) bool{func(k int) bool { return k == hour }, func(k int) bool { return weekend(k) == weekend(hour) }, func(int) bool { return true }} {
			if s := h0(like); s.minutes >= 30 {
				out[hour] = s.work / s.minutes
				break
			}
		}
		if p.Hours != nil && p.Hours[hour/24]>>(hour%24)&1 == 0 {
			out[hour] = 0
		}
		out[hour] *= h.Speed
	}
	return out
}

// H by hour is that of a twin which walks through the minutes.
func TestHistoryAgainstMinutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, p, now := drawHistory(t)
		want := minuteByMinute(&h, &p, now)
		for range 2 {
			f := h.Forecast(now, &p)
			for hour := range hours {
				at := now + grid.Tick(hour)*grid.Hour
				owner := (at + h.Offset).Time()
				if got, want := f.At(at), want[int(owner.Weekday())*24+owner.Hour()]; math.Abs(got-want) > 1e-9 {
					t.Fatalf("%v, %s: H %v, twin %v\n%+v\n%+v", owner.Weekday(), owner, got, want, h, p)
				}
			}
		}
	})
}

// Suspension counts once: an hour of which the owner took half, on a computer idle in the other half, has H 0.5.
func TestSuspensionCountsOnce(t *testing.T) {
	t.Parallel()
	now := 60 * Week
	var facts []Fact
	for at := now - Week; at < now; at += grid.Hour {
		facts = append(facts, Fact{From: at, To: at + grid.Hour/2, Active: true, Idle: 0.9}, Fact{From: at + grid.Hour/2, To: at + grid.Hour, Idle: 1})
	}
	h := History{Facts: facts, Since: now - Week, Window: Week, Speed: 1}
	f := h.Forecast(now, &Policy{})
	if f.At(now) != 0.5 || f.Mean() != 0.5 {
		t.Errorf("H %v, mean %v", f.At(now), f.Mean())
	}
	f = h.Forecast(now, &Policy{Share: 0.5}) // another policy, the same facts
	if f.At(now) != 0.25 {
		t.Errorf("H %v under another policy", f.At(now))
	}
}

// The owner was there until just before the window: the quiet after that is in it.
func TestQuietReachesIntoTheWindow(t *testing.T) {
	t.Parallel()
	now := 60 * Week
	h := History{
		Facts: []Fact{
			{From: now - 3*grid.Hour, To: now - grid.Hour, Active: true},
			{From: now - grid.Hour, To: now, Idle: 1},
		},
		Since: now - Week, Window: grid.Hour, Speed: 1,
	}
	f := h.Forecast(now, &Policy{Quiet: grid.Hour / 2})
	if got := f.At(now - grid.Hour); got != 0.5 {
		t.Errorf("H %v, the owner had left half an hour of quiet", got)
	}
}
