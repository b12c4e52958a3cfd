package jsdl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// whiteSpace is what XML counts as such.
const whiteSpace = " \t\r\n"

func parseBoolean(s string) (value, ok bool) {
	switch strings.Trim(s, whiteSpace) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// parseInteger reads an xsd:integer, which has no largest value: what int64 does
// not hold becomes the nearer bound.
func parseInteger(s string) (n int64, ok bool) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // the range alone is left to be wrong
		n = math.MaxInt64
		if s[0] == '-' {
			n = math.MinInt64
		}
	}
	return n, true
}

// parseDouble reads a finite xsd:double. Its lexical form is checked here, because
// strconv also takes hexadecimal, underscores, "inf" and "Infinity".
func parseDouble(s string) (v float64, ok bool) {
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// whole reads a whole number of e from 1 to most; unit names what is counted.
func (p *parser) whole(e *element, unit string, most int64, attributes ...string) (n int64, ok bool) {
	s := p.word(e, attributes...)
	n, ok = parseInteger(s)
	if !ok || n < 1 || n > most {
		p.at(e.at, "%s is %s: give %s from 1 to %d", e.local, quote(s), unit, most)
		return 0, false
	}
	return n, true
}

// span is an interval of whole numbers, with its bounds.
type span struct{ low, high int64 }

// allowed is the set of values of a RangeValue: the union of its spans, none of
// which is empty.
type allowed struct {
	at    position
	name  string
	spans []span
}

func (a *allowed) has(n int64) bool {
	for _, s := range a.spans {
		if s.low <= n && n <= s.high {
			return true
		}
	}
	return false
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

// maxTerms bounds the terms of one RangeValue.
const maxTerms = 16

var rangeValue = []child{
	{space: Core, local: "UpperBoundedRange"},
	{space: Core, local: "LowerBoundedRange"},
	{space: Core, local: "Exact", many: true},
	{space: Core, local: "Range", many: true},
}

var rangeBounds = []child{
	{space: Core, local: "LowerBound", needed: "give both bounds"},
	{space: Core, local: "UpperBound", needed: "give both bounds"},
}

// values reads a RangeValue of whole numbers from 1 to most; nil if it is wrong, which was told.
func (p *parser) values(e *element, unit string, most int64) *allowed {
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
	found := p.content(e, rangeValue)
	set := &allowed{at: e.at, name: e.local}
	if upper := first(found["UpperBoundedRange"]); upper != nil {
		if high, ok := p.bound(upper, unit, most, -1); ok {
			p.add(set, upper, 1, high)
		}
		if len(found["LowerBoundedRange"]) > 0 {
			p.at(upper.at, "UpperBoundedRange and LowerBoundedRange together allow every value: write a Range")
		}
	}
	if lower := first(found["LowerBoundedRange"]); lower != nil {
		if low, ok := p.bound(lower, unit, most, +1); ok {
			p.add(set, lower, low, most)
		}
	}
	for _, exact := range found["Exact"] {
		p.exact(set, exact, unit, most)
	}
	for _, r := range found["Range"] {
		bounds := p.content(r, rangeBounds)
		lower, upper := first(bounds["LowerBound"]), first(bounds["UpperBound"])
		if lower == nil || upper == nil {
			continue
		}
		low, lowOK := p.bound(lower, unit, most, +1)
		high, highOK := p.bound(upper, unit, most, -1)
		if lowOK && highOK {
			p.add(set, r, low, high)
		}
	}
	if len(set.spans) > maxTerms {
		p.at(e.at, "%s has %d terms: at most %d", e.local, len(set.spans), maxTerms)
	}
	if len(p.list) > before || len(set.spans) == 0 {
		return nil
	}
	return set
}

// add takes the span of a term, which must not be empty.
func (p *parser) add(set *allowed, term *element, low, high int64) {
	if low > high {
		p.at(term.at, "%s of %s allows no value: from %d to %d", term.local, set.name, low, high)
		return
	}
	set.spans = append(set.spans, span{low, high})
}

// bound reads a bound; an exclusive one is moved by one in the direction inward.
func (p *parser) bound(e *element, unit string, most, inward int64) (value int64, ok bool) {
	value, ok = p.wholeDouble(e, unit, most, "exclusiveBound")
	s, given := e.attribute("", "exclusiveBound")
	if !given {
		return value, ok
	}
	exclusive, valid := parseBoolean(s)
	if !valid {
		p.at(e.at, "exclusiveBound is %s: give true or false", quote(s))
	}
	if exclusive {
		value += inward
	}
	return value, ok && valid
}

// wholeDouble reads a whole number from 1 to most written as xsd:double.
func (p *parser) wholeDouble(e *element, unit string, most int64, attributes ...string) (n int64, ok bool) {
	s := p.word(e, attributes...)
	v, ok := parseDouble(s)
	if !ok || v != math.Trunc(v) || v < 1 || v > float64(most) {
		p.at(e.at, "%s is %s: give %s from 1 to %d", e.local, quote(s), unit, most)
		return 0, false
	}
	return int64(v), true
}

// exact reads an Exact term: the value, or all whole numbers within epsilon of it.
func (p *parser) exact(set *allowed, e *element, unit string, most int64) {
	v, ok := p.wholeDouble(e, unit, most, "epsilon")
	around := int64(0)
	if s, given := e.attribute("", "epsilon"); given {
		epsilon, valid := parseDouble(strings.Trim(s, whiteSpace))
		if !valid || epsilon < 0 {
			p.at(e.at, "epsilon is %s: give a number from 0", quote(s))
			return
		}
		around = int64(min(epsilon, float64(most)))
	}
	if ok {
		p.add(set, e, max(v-around, 1), min(v+around, most))
	}
}
