package plan

import (
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
)

// Check says what makes no sense about w, for a market of that many sites.
func (w *Wanted) Check(sites int) error {
	switch {
	case w.Processes < 1:
		return fmt.Errorf("%d processes: at least 1", w.Processes)
	case w.Walltime < 1 || w.Walltime > maxWalltime:
		return fmt.Errorf("a walltime of %v s: more than 0, at most %.0e s", w.Walltime.Seconds(), float64(maxWalltime)/1000)
	case w.MaxSites < 0:
		return fmt.Errorf("at most %d sites: 0 (any number) or more", w.MaxSites)
	case w.MinPerSite < 0:
		return fmt.Errorf("at least %d processes per site: 0 or more", w.MinPerSite)
	case w.MinPerSite > w.Processes:
		return fmt.Errorf("at least %d processes per site, of %d processes in all", w.MinPerSite, w.Processes)
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

// Lack is why no slots will do.
type Lack struct {
	Asked  int // processes
	Most   int // that could run at once under all the rules,
	MostAt grid.Tick
	Length grid.Tick // for that time: the job's, at the speed of the class that came nearest
	// Of all slots, how many were left out: over the fee; and of the rest, once merged,
	// shorter than the job even on the fastest site; long enough, but not from when the
	// site is usable.
	Slots, Dear, Short, Late int
	Without                  []Without
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
	RuleMinPerSite Rule = "the least number of processes per site"
	RuleDelivery   Rule = "delivery time and margin"
)

func (l *Lists) lack(w Wanted, b best) *Lack {
	out := &Lack{Asked: w.Processes, Most: b.most, MostAt: b.mostAt, Length: b.mostLength, Slots: len(l.market.parts), Dear: l.dear}
	for _, a := range l.byStart {
		length := runTime(w.Walltime, l.market.sites[a.site].Speed)
		switch {
		case a.end-a.start < length:
			out.Short++
		case a.end-max(a.start, w.usable(int(a.site))) < length:
			out.Late++
		}
	}
	if out.Length == 0 {
		out.Length = w.Walltime
	}
	if l.dear > 0 {
		out.try(RuleFee, l.market.Within(AnyFee), w, true)
	}
	some := w
	some.MaxSites = 0
	out.try(RuleMaxSites, l, some, w.MaxSites > 0)
	some = w
	some.MinPerSite = 0
	out.try(RuleMinPerSite, l, some, w.MinPerSite > 1)
	some = w
	some.Delivery, some.Margin = nil, 0
	out.try(RuleDelivery, l, some, true)
	return out
}

// try asks again without one rule, where it was in force.
func (k *Lack) try(rule Rule, l *Lists, w Wanted, inForce bool) {
	if !inForce {
		return
	}
	if b := l.search(w); b.found {
		k.Without = append(k.Without, Without{rule, b.start})
	}
}

func (k *Lack) String() string {
	var s strings.Builder
	if k.Most == 0 {
		fmt.Fprintf(&s, "none of the %d processes can run", k.Asked)
	} else {
		fmt.Fprintf(&s, "at most %d of the %d processes can run at once for %v s, first at %v s", k.Most, k.Asked, k.Length.Seconds(), k.MostAt.Seconds())
	}
	fmt.Fprintf(&s, "; of %d slots %d cost too much, %d are too short, %d end too soon after the files are there", k.Slots, k.Dear, k.Short, k.Late)
	for _, w := range k.Without {
		fmt.Fprintf(&s, "; without %s it would start at %v s", w.Rule, w.Start.Seconds())
	}
	return s.String()
}
