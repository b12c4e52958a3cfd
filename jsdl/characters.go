package jsdl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// meaning is a raw text with its references replaced. In an attribute each white space is a blank.
// s stands where the text begins, and is moved only to the place of an error.
func (s *scanner) meaning(raw string, attribute bool) (text string, half bool, err error) {
	plain := func(part string) string {
		part = lineEnds(part)
		if attribute && strings.ContainsAny(part, "\n\t") {
			part = strings.NewReplacer("\n", " ", "\t", " ").Replace(part)
		}
		return part
	}
	i := strings.IndexByte(raw, '&')
	if i < 0 {
		return plain(raw), false, nil
	}
	var b strings.Builder
	b.Grow(len(raw))
	for done := 0; ; {
		b.WriteString(plain(raw[done:i]))
		name, _, found := strings.Cut(raw[i+1:min(len(raw), i+64)], ";")
		r, why := reference(name, found)
		if why != "" {
			if found {
				s.at += i + 1 + len(name) + 1
			} else {
				s.at += i
			}
			return "", false, s.fail("%s", why)
		}
		half = half || r >= 0xD800 && r <= 0xDFFF
		b.WriteRune(r)
		done = i + 1 + len(name) + 1
		next := strings.IndexByte(raw[done:], '&')
		if next < 0 {
			b.WriteString(plain(raw[done:]))
			return b.String(), half, nil
		}
		i = done + next
	}
}

// reference is the character of an entity or of its number, or why there is none. Halves of
// characters are given as they are: their place is told otherwise.
func reference(name string, ended bool) (r rune, why string) {
	switch name {
	case "lt":
		return '<', ""
	case "gt":
		return '>', ""
	case "amp":
		return '&', ""
	case "quot":
		return '"', ""
	case "apos":
		return '\'', ""
	}
	digits, numbered := strings.CutPrefix(name, "#")
	base := 10
	if rest, hex := strings.CutPrefix(digits, "x"); hex {
		digits, base = rest, 16
	}
	if !ended {
		return 0, "invalid character entity & (no semicolon)"
	}
	n, err := strconv.ParseUint(digits, base, 32)
	switch {
	case !numbered || err != nil || n > unicode.MaxRune || strings.Trim(digits, "0123456789abcdefABCDEF") != "":
		return 0, fmt.Sprintf("invalid character entity &%s;", cut(name, 40))
	case n >= 0xD800 && n <= 0xDFFF:
		return rune(n), ""
	case !xmlCharacter(rune(n)):
		return 0, fmt.Sprintf("illegal character code U+%04X", n)
	}
	return rune(n), ""
}

// lineEnds is a text with the line ends that XML gives to programs.
func lineEnds(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
