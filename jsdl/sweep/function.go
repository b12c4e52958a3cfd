package sweep

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gbroker/jsdl"
)

// function gives values by their number, from 0.
type function interface {
	count() int64
	value(n int) string
}

type list []string

func (l list) count() int64       { return int64(len(l)) }
func (l list) value(n int) string { return l[n] }

// loop has the values start, start+step ..., which are whole numbers of 10^-scale, without some.
type loop struct {
	start, step int64
	steps       int64   // values, with those that are left out
	out         []int64 // numbers of those that are left out, in order
	scale       int
}

func (l loop) count() int64 { return l.steps - int64(len(l.out)) }

func (l loop) value(n int) string {
	// Before the value are those of out whose number less how many of out are before is at most n.
	skipped := sort.Search(len(l.out), func(k int) bool { return l.out[k]-int64(k) > int64(n) })
	return decimal(l.start+(int64(n)+int64(skipped))*l.step, l.scale)
}

// decimal writes v times 10^-scale.
func decimal(v int64, scale int) string {
	if scale == 0 {
		return strconv.FormatInt(v, 10)
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	digits := strconv.FormatInt(v, 10)
	if n := scale + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	whole, part := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if part != "" {
		part = "." + part
	}
	return sign + whole + part
}

func (r *reader) function(e *jsdl.Element) (function, bool) {
	switch {
	case e.Space != Functions:
		r.unknown(e, "functions are Values, LoopInteger and LoopDouble in the namespace "+Functions)
	case e.Local == "Values":
		return r.values(e)
	case e.Local == "LoopInteger":
		return r.loop(e, 0)
	case e.Local == "LoopDouble":
		return r.loop(e, maxScale)
	default:
		r.unknown(e, "functions are Values, LoopInteger and LoopDouble")
	}
	return nil, false
}

func (r *reader) values(e *jsdl.Element) (function, bool) {
	r.attributes(e)
	var l list
	for _, c := range e.Children {
		switch {
		case c.Space != Functions || c.Local != "Value":
			r.unknown(c, "Values has Value elements")
			return nil, false
		case len(c.Children) > 0:
			r.At(c, "a Value is text: elements in it are not taken")
			return nil, false
		}
		r.attributes(c)
		l = append(l, c.Text)
	}
	if len(l) == 0 {
		r.At(e, "Values has no Value: there would be no job")
		return nil, false
	}
	return l, true
}

func (r *reader) loop(e *jsdl.Element, scale int) (function, bool) {
	r.attributes(e, "start", "end", "step")
	start, ok1 := r.number(e, "start", "", scale)
	end, ok2 := r.number(e, "end", "", scale)
	step, ok3 := r.number(e, "step", "1", scale)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	numbers := []number{start, end, step}
	for _, c := range e.Children {
		if c.Space != Functions || c.Local != "Exception" {
			r.unknown(c, "a loop has Exception elements")
			return nil, false
		}
		n, ok := r.exception(c, scale)
		if !ok {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	l := loop{scale: max(start.scale, step.scale)}
	common := l.scale
	for _, n := range numbers {
		common = max(common, n.scale)
	}
	scaled := make([]int64, len(numbers))
	for i, n := range numbers {
		v, fits := n.at(common)
		if !fits {
			r.At(e, "the numbers of this loop need more than 18 digits together")
			return nil, false
		}
		scaled[i] = v
	}
	first, last, by := scaled[0], scaled[1], scaled[2]
	switch {
	case by == 0:
		r.At(e, "the step of this loop is 0: it would never end")
		return nil, false
	case by > 0 && last < first, by < 0 && last > first:
		r.At(e, "this loop never gets from %s to %s by steps of %s", decimal(first, common), decimal(last, common), decimal(by, common))
		return nil, false
	}
	l.steps = (last-first)/by + 1
	for _, v := range scaled[3:] {
		if k := (v - first) / by; (v-first)%by == 0 && k >= 0 && k < l.steps {
			l.out = append(l.out, k)
		}
	}
	slices.Sort(l.out)
	l.out = slices.Compact(l.out)
	l.start, _ = start.at(l.scale)
	l.step, _ = step.at(l.scale)
	if l.count() == 0 {
		r.At(e, "the Exceptions of this loop leave none of its values: there would be no job")
		return nil, false
	}
	return l, true
}

func (r *reader) exception(e *jsdl.Element, scale int) (number, bool) {
	r.attributes(e, "value")
	text, is := e.Attribute("", "value")
	if !is {
		text = e.Text
	}
	return r.parse(e, "Exception", text, scale)
}

func (r *reader) number(e *jsdl.Element, name, otherwise string, scale int) (number, bool) {
	text, is := e.Attribute("", name)
	switch {
	case !is && otherwise == "":
		r.At(e, "%s has no %s", e.Local, name)
		return number{}, false
	case !is:
		text = otherwise
	}
	return r.parse(e, name, text, scale)
}

func (r *reader) parse(e *jsdl.Element, name, text string, scale int) (number, bool) {
	n, ok := parseNumber(strings.Trim(text, space))
	switch {
	case !ok:
		r.At(e, "%s is %s: it is a number of at most 18 digits", name, jsdl.Quote(text))
	case n.scale > scale && scale == 0:
		r.At(e, "%s is %s: LoopInteger has whole numbers; LoopDouble has others", name, jsdl.Quote(text))
	default:
		return n, true
	}
	return n, false
}

// maxScale is how many digits a number may have behind its point, and altogether.
const maxScale = 18

// number is digits times 10^-scale; scale is as small as can be.
type number struct {
	digits int64
	scale  int
}

// at gives the number in units of 10^-scale, far enough from the end of what an int64 takes that
// the difference of two is one.
func (n number) at(scale int) (int64, bool) {
	v := n.digits
	for range scale - n.scale {
		if v > math.MaxInt64/40 || v < -math.MaxInt64/40 {
			return 0, false
		}
		v *= 10
	}
	return v, true
}

// parseNumber reads xsd:integer and xsd:double, but for INF and NaN.
func parseNumber(s string) (n number, ok bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	shift := 0
	if hasExponent {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -maxScale || e > maxScale {
			return n, false
		}
		shift = e
	}
	sign := int64(1)
	if rest, minus := strings.CutPrefix(mantissa, "-"); minus {
		sign, mantissa = -1, rest
	} else {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits := whole + part
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return n, false
	}
	n.scale = len(part) - shift
	digits = strings.TrimLeft(digits, "0")
	for n.scale > 0 && strings.HasSuffix(digits, "0") {
		digits, n.scale = digits[:len(digits)-1], n.scale-1
	}
	switch {
	case digits == "":
		return number{}, true
	case n.scale < 0:
		if len(digits)-n.scale > maxScale {
			return n, false
		}
		digits, n.scale = digits+strings.Repeat("0", -n.scale), 0
	}
	if len(digits) > maxScale || n.scale > maxScale {
		return n, false
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	n.digits = sign * v
	return n, err == nil && v <= math.MaxInt64/4
}
