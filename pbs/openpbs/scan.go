package openpbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// scanner reads JSON from memory without keeping any of it. It is strict about what is
// descended into; what is passed over need only be balanced, and bytes need not be UTF-8.
type scanner struct {
	text []byte
	at   int
}

var errShort = errors.New("it ends in the middle")

// peek is the next byte that is no space; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	got := s.peek()
	if got == c {
		s.at++
		return nil
	}
	if got == 0 {
		return errShort
	}
	return fmt.Errorf("%q where %q was expected", got, c)
}

// string reads a string with its quotes.
func (s *scanner) string() (value, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	from := s.at - 1
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.text[from:s.at], nil
		}
	}
	return nil, errShort
}

// object reads an object: member is called for each key with the scanner before its value,
// which it must take.
func (s *scanner) object(member func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.at++
		return nil
	}
	for {
		k, err := s.string()
		if err != nil {
			return err
		}
		key := string(k[1 : len(k)-1]) // names of attributes have nothing to escape
		if err := s.expect(':'); err != nil {
			return fmt.Errorf("%.80q: %w", key, err)
		}
		if err := member(key); err != nil {
			return at(key, err)
		}
		if s.peek() == '}' {
			s.at++
			return nil
		}
		if err := s.expect(','); err != nil {
			return fmt.Errorf("after %.80q: %w", key, err)
		}
	}
}

// value takes any value whole.
func (s *scanner) value() (value, error) {
	c := s.peek()
	from := s.at
	switch c {
	case 0:
		return nil, errShort
	case '"':
		return s.string()
	case '{', '[':
		if err := s.pass(); err != nil {
			return nil, err
		}
		return s.text[from:s.at], nil
	}
	for s.at < len(s.text) && bytes.IndexByte([]byte("+-.0123456789abcdefghijklmnopqrstuvwxyzEIN"), s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at == from {
		return nil, fmt.Errorf("%q where a value was expected", c)
	}
	return s.text[from:s.at], nil
}

// attempt reads the next value. unread is why it could not, and the value is passed over
// then; err is that not even this is possible: the text is broken.
func (s *scanner) attempt(read func() error) (unread, err error) {
	from := s.at
	if unread = read(); unread == nil {
		return nil, nil
	}
	s.at = from
	if _, err := s.value(); err != nil {
		return nil, unread
	}
	return unread, nil
}

// pass takes an object or a list without looking into it.
func (s *scanner) pass() error {
	var open []byte
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			if _, err := s.string(); err != nil {
				return err
			}
			continue
		case '{', '[':
			open = append(open, c+2) // } and ] come two after { and [
		case '}', ']':
			if open[len(open)-1] != c {
				return fmt.Errorf("%q where %q was expected", c, open[len(open)-1])
			}
			open = open[:len(open)-1]
		}
		s.at++
		if len(open) == 0 {
			return nil
		}
	}
	return errShort
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	if c := s.peek(); c != 0 || s.at < len(s.text) {
		return fmt.Errorf("%q after the end", c)
	}
	return nil
}

// value is the bytes of one JSON value.
type value []byte

// isObject tells that members can be read.
func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }

// text is a value as text, whatever type was guessed for it.
func (v value) text() string {
	if len(v) < 2 || v[0] != '"' {
		return string(v)
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var out string
	if json.Unmarshal(v, &out) != nil {
		return string(inner)
	}
	return out
}

// is compares the text of a value without copying it.
func (v value) is(text string) bool {
	if len(v) >= 2 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 {
		v = v[1 : len(v)-1]
	}
	return string(v) == text
}

// placed is an error with the keys that lead to it.
type placed struct {
	place string
	err   error
}

func (p *placed) Error() string { return p.place + ": " + p.err.Error() }
func (p *placed) Unwrap() error { return p.err }

// at puts a key before the place of an error.
func at(key string, err error) error {
	key = fmt.Sprintf("%.80s", key)
	if p, is := err.(*placed); is {
		if len(p.place) < 400 {
			p.place = key + "." + p.place
		}
		return p
	}
	return &placed{key, err}
}
