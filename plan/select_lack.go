package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gbroker/grid"
)

// Check says what makes no sense about w, for a market of that many sites.
func (w *Wanted) Check(sites int) error {
	chunks, pieces := 0, 0
	for _, c := range w.Demand.Chunks {
		if c.Count > 0 {
			chunks++
			pieces = min(pieces+min(c.Count, grid.MaxProcesses+1), grid.MaxProcesses+1)
		}
	}
	switch {
	case pieces < 1:
		return errors.New("no pieces are asked for: at least 1")
	case pieces > grid.MaxProcesses:
		return fmt.Errorf("more than %d pieces", grid.MaxProcesses)
	case !(w.Fee >= 0):
		return fmt.Errorf("a fee of %v: a number from 0 up", w.Fee)
	case w.Walltime < 1 || w.Walltime > maxWalltime:
		return fmt.Errorf("a walltime of %v s: more than 0, at most %.0e s", w.Walltime.Seconds(), float64(maxWalltime)/1000)
	case w.MaxSites < 0:
		return fmt.Errorf("at most %d sites: 0 (any number) or more", w.MaxSites)
	case w.MinPerSite < 0:
		return fmt.Errorf("at least %d pieces per site: 0 or more", w.MinPerSite)
	case w.MinPerSite > pieces:
		return fmt.Errorf("at least %d pieces per site, of %d pieces in all", w.MinPerSite, pieces)
	case (w.MaxSites > 0 || w.MinPerSite > 1) && chunks > 1:
		return errors.New("limits of sites are for a demand of one kind of pieces")
	}
	return w.checkTimes(sites)
}

func (w *Wanted) checkTimes(sites int) error {
	switch {
	case w.Now < -maxInstant || w.Now > maxInstant:
		return fmt.Errorf("now is %v s: within ±%.0e s", w.Now.Seconds(), float64(maxInstant)/1000)
	case w.Margin < 0 || w.Margin > maxInstant:
		return fmt.Errorf("a margin of %v s: 0 to %.0e s", w.Margin.Seconds(), float64(maxInstant)/1000)
	case w.Delivery != nil && len(w.Delivery) != sites:
		return errors.New("not as many delivery times as sites")
	}
	for j, d := range w.Delivery {
		if d < 0 || d > maxInstant {
			return fmt.Errorf("sites[%d]: a delivery time of %v s: 0 to %.0e s", j, d.Seconds(), float64(maxInstant)/1000)
		}
	}
	return nil
}

// Lack is why no slots will do. Of several kinds of pieces it tells of the one that comes
// the least near.
type Lack struct {
	Asked  int // pieces
	Most   int // that have room at once under all the rules, were no others there,
	MostAt grid.Tick
	Length grid.Tick // for that time: the job's, at the speed of the class that came nearest
	// Of all slots, how many were left out: over the fee; with no room for any piece, or on
	// a node of another kind; and of the rest, as stretches, shorter than the job even on
	// the fastest site; long enough, but not from when the site is usable.
	Slots, Dear, Small, Short, Late int
	Without                         []Without
}

// Without is a rule that alone stands in the way.
type Without struct {
	Rule  Rule
	Start grid.Tick // what would be had without it
}

// Rule is one that the selection kept.
type Rule string

// The rules that can be given up.
const (
	RuleFee        Rule = "the limit of the price"
	RuleMaxSites   Rule = "the limit of sites"
	RuleMinPerSite Rule = "the least number of pieces per site"
	RuleDelivery   Rule = "delivery time and margin"
)

func (o *offers) lack(w *Wanted) *Lack {
	out := &Lack{Slots: o.slots, Dear: o.dear, Small: o.small}
	for i := range o.chunks {
		c := &o.chunks[i]
		if s := o.nearest(w, c); i == 0 || s.most*out.Asked < out.Most*c.Count {
			out.Asked, out.Most, out.MostAt, out.Length = c.Count, s.most, s.mostAt, s.length
		}
		for a := range c.byStart.all {
			length := w.length(o.market.sites[a.site].site.Speed)
			switch {
			case a.end-a.start < length:
				out.Short++
			case a.end-max(a.start, w.usable(int(a.site))) < length:
				out.Late++
			}
		}
	}
	out.Without = o.without(w)
	return out
}

// nearest is the sweep over a chunk in the speed class in which the most pieces have room.
func (o *offers) nearest(w *Wanted, c *chunkOffers) *sweep {
	var most *sweep
	for _, speed := range o.market.speeds {
		s := newSweep(c, o.market, w, speed)
		s.wanted = math.MaxInt
		s.run()
		if most == nil || s.most > most.most {
			most = s
		}
	}
	if most == nil || most.most == 0 {
		return &sweep{length: w.Walltime}
	}
	return most
}

// without asks again without one rule, where it was in force.
func (o *offers) without(w *Wanted) []Without {
	var out []Without
	try := func(rule Rule, o *offers, inForce bool, change func(w *Wanted)) {
		some := *w
		change(&some)
		if inForce {
			if b := o.search(&some); b.found {
				out = append(out, Without{rule, b.start})
			}
		}
	}
	if o.dear > 0 {
		try(RuleFee, o.priceless(&w.Demand), true, func(*Wanted) {})
	}
	try(RuleMaxSites, o, w.MaxSites > 0, func(w *Wanted) { w.MaxSites = 0 })
	try(RuleMinPerSite, o, w.MinPerSite > 1, func(w *Wanted) { w.MinPerSite = 0 })
	try(RuleDelivery, o, true, func(w *Wanted) { w.Delivery, w.Margin = nil, 0 })
	return out
}

// priceless is what there is at any price.
func (o *offers) priceless(d *grid.Demand) *offers {
	if o.hall != nil {
		return o.hall.untouched().offersFor(d, AnyFee)
	}
	return o.market.offersFor(d, AnyFee)
}

func (k *Lack) String() string {
	var s strings.Builder
	switch {
	case k.Most == 0:
		fmt.Fprintf(&s, "none of the %d pieces has room", k.Asked)
	case k.Most >= k.Asked:
		s.WriteString("each kind of pieces has room by itself, but not beside the others")
	default:
		fmt.Fprintf(&s, "at most %d of the %d pieces have room at once for %v s, first at %s", k.Most, k.Asked, k.Length.Seconds(), instant(k.MostAt))
	}
	fmt.Fprintf(&s, "; of %d slots %d cost too much, %d have no room for any piece, %d are too short, %d end too soon after the files are there", k.Slots, k.Dear, k.Small, k.Short, k.Late)
	for _, w := range k.Without {
		fmt.Fprintf(&s, "; without %s it would start at %s", w.Rule, instant(w.Start))
	}
	return s.String()
}

// instant is a time of day for people, or the seconds since the start where the clock is that of a simulation.
func instant(t grid.Tick) string {
	if t < 10*365*grid.Day {
		return fmt.Sprintf("%v s", t.Seconds())
	}
	return t.Stamp()
}
