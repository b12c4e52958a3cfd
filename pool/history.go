package pool

import "gbroker/grid"

// Week is the period of what is learned of owners.
const Week = 7 * grid.Day

// Fact is what an agent saw of its computer in an interval. What no fact tells of, while the pool watched, was unreachable.
type Fact struct {
	From, To grid.Tick
	Active   bool    // the owner was there
	Battery  bool    // it ran on battery
	Idle     float64 // part of all its processors that nobody else used
}

// Policy is what an owner admits.
type Policy struct {
	Hours     *[7]uint32 // of the week from Sunday on, a bit for each hour of the owner's clock from 0; nil is always
	Quiet     grid.Tick  // so long after the owner was last there nothing runs
	Share     float64    // the most of the processors; 0 is all
	OnBattery bool       // it may run on battery
}

// admits tells whether a policy lets run at an hour of the owner's week.
func (p *Policy) admits(hour int) bool {
	return p.Hours == nil || p.Hours[hour/24]&(1<<(hour%24)) != 0
}

// part is the part of the processors that a job would have had beside what a fact says.
func (p *Policy) part(f *Fact) float64 {
	if f.Active || f.Battery && !p.OnBattery {
		return 0
	}
	idle := min(max(f.Idle, 0), 1)
	if p.Share > 0 {
		idle = min(idle, p.Share)
	}
	return idle
}

// History is what was seen of a computer, in the order in which it began, and how to understand it. Where two facts overlap the first counts.
type History struct {
	Facts   []Fact
	Since   grid.Tick // the pool has watched since then
	Gaps    []Gap     // but not in these
	Offset  grid.Tick // of the owner's clock from UTC
	Speed   float64   // of the computer with all of its processor, relative to the reference
	Window  grid.Tick // how far back is looked
	Presume float64   // H of hours of which nothing was seen, as a part of the speed
}

// Gap is an interval in which the pool did not watch: nothing is known of the computer.
type Gap struct{ From, To grid.Tick }

// hours is how many there are in a week.
const hours = int(Week / grid.Hour)

// cell is what was seen of one hour of the week: work, in ticks of the computer with all of its processor, and for how long.
type cell struct{ work, seen float64 }

func (c *cell) add(d cell) { c.work, c.seen = c.work+d.work, c.seen+d.seen }

// Forecast is what to expect under the policy that is in force now. H of an hour of the week is the work that a job would have done in that
// hour, in the window, by the time that was watched. Where less than half an hour was, it is that of the same hour on like days (from Monday to Friday, or
// Saturday and Sunday), else of any day, else what is presumed. Hours that the policy closes have 0.
func (h *History) Forecast(now grid.Tick, p *Policy) Forecast {
	cells := h.cells(now, p)
	var likes [2][24]cell
	var days [24]cell
	for i, c := range cells {
		likes[kind(i)][i%24].add(c)
		days[i%24].add(c)
	}
	steps := make([]Step, 0, hours)
	for i, c := range cells {
		part := h.Presume
		for _, c := range []cell{c, likes[kind(i)][i%24], days[i%24]} {
			if c.seen >= float64(grid.Hour/2) {
				part = c.work / c.seen
				break
			}
		}
		if !p.admits(i) {
			part = 0
		}
		if part *= h.Speed; len(steps) == 0 || steps[len(steps)-1].H != part {
			steps = append(steps, Step{grid.Tick(i) * grid.Hour, part})
		}
	}
	return NewForecast(weekOf(now, h.Offset), Week, steps...)
}

// kind is 1 for an hour of a Saturday or a Sunday.
func kind(hour int) int {
	if day := hour / 24; day == 0 || day == 6 {
		return 1
	}
	return 0
}

// weekOf is the beginning of the owner's week in which t lies: Sunday, 0 o'clock. The epoch was a Thursday.
func weekOf(t, offset grid.Tick) grid.Tick {
	since := (t + offset + 4*grid.Day) % Week
	return t - since
}

// cells divides what was seen by hours of the week.
func (h *History) cells(now grid.Tick, p *Policy) []cell {
	cells := make([]cell, hours)
	from := max(h.Since, now-h.Window)
	each(from, now, h.Offset, func(hour int, span grid.Tick) { cells[hour].seen += float64(span) })
	for _, g := range h.Gaps {
		each(max(g.From, from), min(g.To, now), h.Offset, func(hour int, span grid.Tick) { cells[hour].seen -= float64(span) })
	}
	quiet := grid.Tick(0) // until then the owner counts as being there
	at := grid.Tick(0)
	for i := range h.Facts {
		f := &h.Facts[i]
		if f.To <= at {
			continue // all of it was told before
		}
		begins := max(f.From, at, quiet, from)
		if part := p.part(f); part > 0 {
			each(begins, min(f.To, now), h.Offset, func(hour int, span grid.Tick) {
				if p.admits(hour) {
					cells[hour].work += part * float64(span)
				}
			})
		}
		if f.Active {
			quiet = max(quiet, f.To+p.Quiet)
		}
		at = f.To // what is told twice counts once
	}
	return cells
}

// each divides an interval by the hours of the owner's week.
func each(from, to, offset grid.Tick, do func(hour int, span grid.Tick)) {
	for from < to {
		since := from - weekOf(from, offset)
		end := min(to, from+grid.Hour-since%grid.Hour)
		do(int(since/grid.Hour), end-from)
		from = end
	}
}
