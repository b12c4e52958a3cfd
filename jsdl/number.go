package jsdl

import (
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

// parseDouble reads an xsd:double but NaN. Its lexical form is checked here, because
// strconv also takes hexadecimal, underscores, "inf" and "Infinity".
func parseDouble(s string) (v float64, ok bool) {
	switch s {
	case "INF":
		return math.Inf(1), true
	case "-INF":
		return math.Inf(-1), true
	}
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// whole reads a whole number of e from least to most; unit names what is counted. One that is
// written as 8.0 or 1e3 is taken with a warning.
func (p *parser) whole(e *element, unit string, least, most int64) (n int64, ok bool) {
	s := p.word(e)
	n, ok = parseInteger(s)
	if !ok {
		if v, double := parseDouble(s); double && v == math.Trunc(v) && v >= float64(least) && v <= float64(most) {
			p.warn(e.at, "%s is %s: taken for %d", e.local, quote(s), int64(v))
			return int64(v), true
		}
	}
	if !ok || n < least || n > most {
		p.at(e.at, "%s is %s: give %s from %d to %d", e.local, quote(s), unit, least, most)
		return 0, false
	}
	return n, true
}
