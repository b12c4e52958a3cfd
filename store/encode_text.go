package store

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// present is nil for a zero value, which a row leaves out.
func present[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// text is a string of any bytes. JSON holds only UTF-8, and would replace the rest:
// each byte that is not part of a character is written as a character of its own, from
// a range that nobody uses. Characters of that range are written byte by byte too.
type text string

// The bytes 0x80 to 0xff as characters of the private use area.
const (
	firstByte = 0xf780
	lastByte  = 0xf7ff
	byteBase  = 0xf700
)

// MarshalText writes the text as UTF-8.
func (t text) MarshalText() ([]byte, error) {
	s := string(t)
	if utf8.ValidString(s) && strings.IndexFunc(s, standsForByte) < 0 {
		return []byte(s), nil
	}
	b := make([]byte, 0, 2*len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || standsForByte(r) {
			for _, c := range []byte(s[i : i+n]) {
				b = utf8.AppendRune(b, byteBase+rune(c))
			}
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return b, nil
}

// UnmarshalText is the inverse of MarshalText.
func (t *text) UnmarshalText(b []byte) error {
	if bytes.IndexFunc(b, standsForByte) < 0 {
		*t = text(b)
		return nil
	}
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		if standsForByte(r) {
			out = append(out, byte(r-byteBase))
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	*t = text(out)
	return nil
}

func standsForByte(r rune) bool { return r >= firstByte && r <= lastByte }
