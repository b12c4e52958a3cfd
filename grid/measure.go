package grid

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of what nodes are chosen by.
const (
	MaxHosts     = 1024 // names of hosts
	MaxHostName  = 253  // bytes of one
	MaxIntervals = 16   // of one measure
)

// Quantity is something that a site declares of its nodes.
type Quantity string

// Quantities.
const (
	ClockSpeed Quantity = "clock"     // of a core, in hertz
	Bandwidth  Quantity = "bandwidth" // of a node's network, in bits per second
)

// Quantities are all of them, in the order in which a demand has them.
var Quantities = []Quantity{Bandwidth, ClockSpeed}

// Measure is what every node of a job must have of a quantity: a value in one of the intervals.
type Measure struct {
	Of     Quantity
	Within []Interval
}

// Interval is a range of values, which are not negative. High 0 is no bound above.
type Interval struct {
	Low, High         float64
	LowOpen, HighOpen bool // the bound itself is left out
}

// Holds tells that v lies in it.
func (i Interval) Holds(v float64) bool {
	return (v > i.Low || v == i.Low && !i.LowOpen) && (i.High == 0 || v < i.High || v == i.High && !i.HighOpen)
}

// Holds tells that a value meets the measure.
func (m *Measure) Holds(v float64) bool {
	return slices.ContainsFunc(m.Within, func(i Interval) bool { return i.Holds(v) })
}

// String shows the intervals as in "2e+09 to 3e+09, or from 4e+09".
func (m Measure) String() string {
	var terms []string
	for _, i := range m.Within {
		text := "from "
		if i.LowOpen {
			text = "above "
		}
		text += fmt.Sprint(i.Low)
		switch {
		case i.HighOpen:
			text += fmt.Sprint(" below ", i.High)
		case i.High > 0:
			text += fmt.Sprint(" to ", i.High)
		}
		terms = append(terms, text)
	}
	return strings.Join(terms, ", or ")
}

// CheckMeasures says why a list is none of measures: each is of a quantity of its own, in the
// order of Quantities, with intervals that are not empty.
func CheckMeasures(list []Measure) error {
	last := -1
	for _, m := range list {
		k := slices.Index(Quantities, m.Of)
		switch {
		case k < 0:
			return fmt.Errorf("%.40q is no quantity of a node: use one of %v", string(m.Of), Quantities)
		case k <= last:
			return fmt.Errorf("%s does not follow %s: each once, in the order of their names", m.Of, Quantities[last])
		case len(m.Within) == 0 || len(m.Within) > MaxIntervals:
			return fmt.Errorf("%s has %d intervals: from 1 to %d", m.Of, len(m.Within), MaxIntervals)
		}
		last = k
		for _, i := range m.Within {
			if !(i.Low >= 0) || !(i.High >= 0) || math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) ||
				i.High != 0 && (i.High < i.Low || i.High == i.Low && (i.LowOpen || i.HighOpen)) {
				return fmt.Errorf("%s from %v to %v is no interval", m.Of, i.Low, i.High)
			}
		}
	}
	return nil
}

// CheckHosts says why a list is none of hosts' names: letters, digits and . _ -, none twice.
func CheckHosts(list []string) error {
	if len(list) > MaxHosts {
		return fmt.Errorf("%d hosts: at most %d", len(list), MaxHosts)
	}
	seen := make(map[string]bool, len(list))
	for _, h := range list {
		if h == "" || len(h) > MaxHostName {
			return fmt.Errorf("the name of a host has %d bytes: from 1 to %d", len(h), MaxHostName)
		}
		for i, c := range []byte(h) {
			letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
			if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
				return fmt.Errorf("the host %q has %q at position %d: use letters, digits and . _ -, first a letter or digit", h, c, i+1)
			}
		}
		if seen[h] {
			return fmt.Errorf("the host %s is named twice: once only", h)
		}
		seen[h] = true
	}
	return nil
}
