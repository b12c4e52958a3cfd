package netmon

import (
	"math"
	"time"
)

// day is how the rate of one size goes with the hour of the day, by the local clock, working days and weekends apart.
type day struct {
	slots [daySlots]slot
	// Sums of the errors of forecasts without the hour and with it, older ones forgotten.
	plain, hourly float64
}

const (
	daySlots      = 2 * 24
	dayMemory     = 4    // days that count in a slot's mean, the newest most
	dayForgetting = 0.99 // weight that an error keeps with each newer one
	dayGain       = 0.9  // times the error without the hour: the hour is believed that leaves less
)

// slot is one hour.
type slot struct {
	past float64 // mean of the logarithms of the rates, of the days before date
	days int     // how many those are
	date int     // of the newest measurement
	sum  float64 // of the logarithms of that date
	n    int
}

// slotOf is the slot of an instant.
func slotOf(now time.Time) int {
	if d := now.Weekday(); d == time.Saturday || d == time.Sunday {
		return 24 + now.Hour()
	}
	return now.Hour()
}

func dateOf(now time.Time) int { return now.Year()*366 + now.YearDay() }

// before is the slot with all its measurements counted that are older than date.
func (s slot) before(date int) slot {
	if s.n > 0 && s.date != date {
		s.days++
		s.past += (s.sum/float64(s.n) - s.past) / float64(min(s.days, dayMemory))
		s.sum, s.n = 0, 0
	}
	return s
}

// add takes a rate measured at the instant now.
func (d *day) add(now time.Time, x float64) {
	s := &d.slots[slotOf(now)]
	*s = s.before(dateOf(now))
	s.date = dateOf(now)
	s.sum += math.Log(x)
	s.n++
}

// ratio is how much faster one slot is than another one was, by the days before today; known only if both have one.
func (d *day) ratio(today, slot, from int) (r float64, known bool) {
	a, b := d.slots[from].before(today), d.slots[slot].before(today)
	if a.days == 0 || b.days == 0 {
		return 1, false
	}
	return math.Exp(b.past - a.past), true
}

// judge counts two forecasts of x.
func (d *day) judge(plain, hourly, x float64) {
	d.plain = dayForgetting*d.plain + apart(plain, x)
	d.hourly = dayForgetting*d.hourly + apart(hourly, x)
}

func (d *day) believed() bool { return d.hourly < dayGain*d.plain }

// apart is the relative distance of two positive numbers.
func apart(a, b float64) float64 { return math.Abs(a-b) / max(a, b) }

// learnHour takes a rate for the hour of the day, and judges whether to go by the hour would have told it better.
func (g *gauge) learnHour(now time.Time, x float64) {
	if g.day == nil {
		g.day = &day{}
	}
	d, s := g.day, &g.rate
	if s.measured() {
		today, slot := dateOf(now), slotOf(now)
		if _, known := d.ratio(today, slot, s.recent[len(s.recent)-1].slot); known {
			d.judge(s.forecast(nil), s.forecast(func(from int) float64 { r, _ := d.ratio(today, slot, from); return r }), x)
		}
	}
	d.add(now, x)
}

// scale is by how much the hour changes the rate of size k, as far as that is believed: by its own measurements where they know both
// hours, else by those of the size nearest to it that do.
func (w *way) scale(now time.Time, k int) scale {
	today, slot := dateOf(now), slotOf(now)
	return func(from int) float64 {
		if from == slot {
			return 1
		}
		for distance := range len(w.gauges) {
			for _, i := range [...]int{k - distance, k + distance} {
				if i < 0 || i >= len(w.gauges) || w.gauges[i].day == nil {
					continue
				}
				if r, known := w.gauges[i].day.ratio(today, slot, from); known && w.gauges[i].byHour() {
					return r
				} else if known {
					return 1
				}
			}
		}
		return 1
	}
}

// forecast is the rate that is expected now of size k, which must have been measured.
func (w *way) forecast(now time.Time, k int) float64 {
	return w.gauges[k].rate.forecast(w.scale(now, k))
}

// byHour tells that the rate of a size goes by the hour as far as is known.
func (g *gauge) byHour() bool { return g.day != nil && g.day.believed() }
