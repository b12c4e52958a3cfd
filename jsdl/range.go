package jsdl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// interval is one term of a RangeValue: values from low to high, of which the bounds may be left out.
type interval struct {
	at                position
	said              string // as the document has it
	low, high         float64
	lowOpen, highOpen bool
}

// maxTerms bounds the terms of one RangeValue.
const maxTerms = 16

// intervals reads a RangeValue: any of its terms may hold. nil if it is wrong, which was told.
func (p *parser) intervals(e *element, unit string) []interval {
	if len(e.children) == 0 {
		p.attributes(e)
		value := "1"
		if s := strings.Trim(e.text, whiteSpace); s != "" {
			value = cut(s, 20)
		}
		p.at(e.at, "%s has no value: write <Exact>%s</Exact> inside", e.local, value)
		return nil
	}
	before := len(p.list)
	found := p.content(e, rangePlace)
	var terms []interval
	upper, lower := first(found["UpperBoundedRange"]), first(found["LowerBoundedRange"])
	if upper != nil {
		i := interval{at: upper.at, said: said(upper)}
		i.high, i.highOpen = p.bound(upper, unit)
		terms = append(terms, i)
	}
	if lower != nil {
		i := interval{at: lower.at, said: said(lower), high: math.Inf(1)}
		i.low, i.lowOpen = p.bound(lower, unit)
		terms = append(terms, i)
	}
	if len(terms) == 2 && len(p.list) == before && terms[1].low <= terms[0].high {
		p.at(lower.at, "LowerBoundedRange, with the UpperBoundedRange in line %d, allows every value, as either may hold: write a Range", upper.at.line)
	}
	for _, exact := range found["Exact"] {
		terms = append(terms, p.exact(exact, unit))
	}
	for _, r := range found["Range"] {
		bounds := p.content(r, "Range")
		low, high := first(bounds["LowerBound"]), first(bounds["UpperBound"])
		if low == nil || high == nil {
			continue
		}
		i := interval{at: r.at, said: "Range of " + e.local + " allows no value"}
		i.low, i.lowOpen = p.bound(low, unit)
		i.high, i.highOpen = p.bound(high, unit)
		if i.low > i.high || i.low == i.high && (i.lowOpen || i.highOpen) {
			p.at(high.at, "Range of %s allows no value: UpperBound is %s, and LowerBound in line %d is %s", e.local, number(i.high), low.at.line, number(i.low))
		}
		terms = append(terms, i)
	}
	if len(terms) > maxTerms && len(p.list) == before {
		p.at(e.at, "%s has %d terms: at most %d", e.local, len(terms), maxTerms)
	}
	if len(p.list) > before {
		return nil
	}
	return terms
}

// said is the value of a term as the document has it.
func said(e *element) string { return e.local + " is " + quote(strings.Trim(e.text, whiteSpace)) }

// bound reads a bound, and whether it is itself left out.
func (p *parser) bound(e *element, unit string) (value float64, open bool) {
	value = p.double(e, unit)
	if s, given := e.attribute("", "exclusiveBound"); given {
		var valid bool
		if open, valid = parseBoolean(s); !valid {
			p.at(e.at, "exclusiveBound is %s: give true or false", quote(s))
		}
	}
	return value, open
}

// exact reads an Exact term: the value, or all within epsilon of it.
func (p *parser) exact(e *element, unit string) interval {
	v, epsilon := p.double(e, unit), 0.0
	if math.IsInf(v, 0) {
		p.at(e.at, "Exact is %s: give %s", quote(strings.Trim(e.text, whiteSpace)), unit)
	}
	if s, given := e.attribute("", "epsilon"); given {
		var valid bool
		if epsilon, valid = parseDouble(strings.Trim(s, whiteSpace)); !valid || epsilon < 0 {
			p.at(e.at, "epsilon is %s: give a number from 0", quote(s))
		}
	}
	return interval{at: e.at, said: said(e), low: max(v-epsilon, 0), high: v + epsilon}
}

// double reads a number that is not negative, but perhaps infinite.
func (p *parser) double(e *element, unit string) float64 {
	s := p.word(e)
	v, ok := parseDouble(s)
	if ok && math.IsInf(v, -1) && e.local != "Exact" {
		return 0
	}
	if !ok || v < 0 {
		p.at(e.at, "%s is %s: give %s", e.local, quote(s), unit)
		return 0
	}
	return v
}

// number shows a bound as people write it.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// span is an interval of whole numbers, with its bounds.
type span struct{ low, high int64 }

// allowed is the set of whole numbers of a RangeValue: the union of its spans, none of
// which is empty.
type allowed struct {
	at    position
	name  string
	spans []span
}

// values reads a RangeValue of whole numbers from 1 to most; nil if it is wrong, which was told.
func (p *parser) values(e *element, unit string, most int64) *allowed {
	set := &allowed{at: e.at, name: e.local}
	terms := p.intervals(e, fmt.Sprintf("%s from 1 to %d", unit, most))
	for _, i := range terms {
		low, high := math.Ceil(i.low), math.Floor(i.high)
		if i.lowOpen && low == i.low {
			low++
		}
		if i.highOpen && high == i.high {
			high--
		}
		s := span{1, most}
		if low > 1 {
			s.low = int64(min(low, float64(most)+1))
		}
		if high < float64(most) {
			s.high = int64(high)
		}
		if s.low > s.high {
			p.at(i.at, "%s: give %s from 1 to %d", i.said, unit, most)
			return nil
		}
		set.spans = append(set.spans, s)
	}
	if len(set.spans) == 0 {
		return nil
	}
	return set
}

// measure reads a RangeValue as what nodes must have of a quantity.
func (p *parser) measure(e *element, of grid.Quantity, unit string) (m grid.Measure, ok bool) {
	m.Of = of
	for _, i := range p.intervals(e, "a number of "+unit) {
		if math.IsInf(i.low, 1) || i.high == 0 {
			p.at(i.at, "%s: give a number of %s", i.said, unit)
			return m, false
		}
		if math.IsInf(i.high, 1) {
			i.high, i.highOpen = 0, false
		}
		m.Within = append(m.Within, grid.Interval{Low: i.low, High: i.high, LowOpen: i.lowOpen, HighOpen: i.highOpen})
	}
	return m, len(m.Within) > 0
}

func (a *allowed) has(n int64) bool {
	return slices.ContainsFunc(a.spans, func(s span) bool { return s.low <= n && n <= s.high })
}

// least is the smallest multiple of step allowed that is not below from; 0 if there is none.
func (a *allowed) least(from, step int64) int64 {
	var best int64
	for _, s := range a.spans {
		n := max(s.low, from)
		n += (step - n%step) % step
		if n <= s.high && (best == 0 || n < best) {
			best = n
		}
	}
	return best
}

// limit is what a set of spans of time allows a program to run: the largest bound from above, or
// where there is none the largest from below.
func (a *allowed) limit(most int64) int64 {
	var upper, lower int64
	for _, s := range a.spans {
		lower = max(lower, s.low)
		if s.high < most {
			upper = max(upper, s.high)
		}
	}
	if upper > 0 {
		return upper
	}
	return lower
}

// String shows the set as in "4", "4 to 8" or "4 or 8".
func (a *allowed) String() string {
	var terms []string
	for _, s := range a.spans[:min(len(a.spans), 4)] {
		term := strconv.FormatInt(s.low, 10)
		if s.high != s.low {
			term = fmt.Sprintf("%d to %d", s.low, s.high)
		}
		terms = append(terms, term)
	}
	if len(a.spans) > len(terms) {
		terms = append(terms, "…")
	}
	return strings.Join(terms, " or ")
}
