package torque

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gbroker/pbs/command"
)

// Limits of what is read.
const (
	maxJobs  = 200_000
	maxNodes = 100_000
	maxText  = 4 << 20 // bytes, of one value (an environment)
	maxDepth = 4
	maxName  = 64 // bytes, of an element's name
)

// scanner reads the XML of TORQUE: elements and text. It keeps nothing but its place.
type scanner struct {
	call string // for errors
	text []byte
	at   int
	// budget is how many small things (nodes of a job, pieces of a demand) may still be
	// made: one for every ten bytes of input, so that no input grows in memory.
	budget int
}

func newScanner(call string, text []byte) *scanner {
	return &scanner{call: call, text: text, budget: len(text)/10 + 8}
}

// fail is an error at the scanner's place.
func (s *scanner) fail(format string, args ...any) error {
	return unreadable(s.call, "byte "+strconv.Itoa(s.at), s.text, fmt.Errorf(format, args...))
}

// unreadable is an output that is not understood.
func unreadable(call, place string, text []byte, err error) error {
	if done := (*command.OutputError)(nil); errors.As(err, &done) {
		return err
	}
	return command.Unreadable(call, place, text, err)
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// documents reads whole documents, one after the other, whose root is called root.
func (s *scanner) documents(root string, each func(name []byte) error) error {
	for n := 0; ; n++ {
		s.space()
		if bytes.HasPrefix(s.text[s.at:], []byte("<?xml ")) {
			end := bytes.Index(s.text[s.at:], []byte("?>"))
			if end < 0 || end > 100 {
				return s.fail("a declaration without end")
			}
			s.at += end + 2
			s.space()
		}
		if s.at == len(s.text) && n > 0 {
			return nil
		}
		name, err := s.open()
		if err != nil {
			return err
		}
		if string(name) != root {
			return s.fail("<%.40s> where <%s> should be", name, root)
		}
		if err := s.children(name, each); err != nil {
			return err
		}
	}
}

// open reads a start tag.
func (s *scanner) open() ([]byte, error) {
	rest := s.text[s.at:]
	if len(rest) < 3 || rest[0] != '<' || rest[1] == '/' {
		return nil, s.fail("no element")
	}
	end := bytes.IndexByte(rest[:min(len(rest), maxName+2)], '>')
	if end < 2 {
		return nil, s.fail("an element without a name, or with a longer one than %d bytes", maxName)
	}
	for _, c := range rest[1:end] {
		if !isWord(c) && strings.IndexByte("._-", c) < 0 {
			return nil, s.fail("an element's name with %q", c)
		}
	}
	s.at += end + 1
	return rest[1:end], nil
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// closes tells whether the next thing is an end tag, which must be that of name, and passes it.
func (s *scanner) closes(name []byte) (bool, error) {
	rest := s.text[s.at:]
	if !bytes.HasPrefix(rest, []byte("</")) {
		return false, nil
	}
	if rest = rest[2:]; !bytes.HasPrefix(rest, name) || len(rest) == len(name) || rest[len(name)] != '>' {
		return false, s.fail("the end of <%s> is not here", name)
	}
	s.at += len(name) + 3
	return true, nil
}

// children calls each for every element inside of name, with its start tag passed; each
// must pass the rest of it.
func (s *scanner) children(name []byte, each func(name []byte) error) error {
	for {
		s.space()
		if closed, err := s.closes(name); closed || err != nil {
			return err
		}
		child, err := s.open()
		if err != nil {
			return err
		}
		if err := each(child); err != nil {
			return err
		}
	}
}

// value reads the text of name to its end tag, as it is written.
func (s *scanner) value(name []byte) ([]byte, error) {
	end := bytes.IndexByte(s.text[s.at:], '<')
	if end < 0 || end > maxText {
		return nil, s.fail("<%s> does not end, or is longer than %d bytes", name, maxText)
	}
	raw := s.text[s.at : s.at+end]
	s.at += end
	if closed, err := s.closes(name); err != nil || !closed {
		return nil, errors.Join(err, s.failIf(!closed && err == nil, "<%s> holds an element", name))
	}
	return raw, nil
}

func (s *scanner) failIf(is bool, format string, args ...any) error {
	if !is {
		return nil
	}
	return s.fail(format, args...)
}

// string reads the text of name.
func (s *scanner) string(name []byte) (string, error) {
	raw, err := s.value(name)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(raw, '&') < 0 {
		return string(raw), nil
	}
	text, err := unescape(raw)
	if err != nil {
		return "", s.fail("<%s>: %w", name, err)
	}
	return text, nil
}

var entities = []struct{ name, means string }{{"amp;", "&"}, {"lt;", "<"}, {"gt;", ">"}, {"quot;", `"`}, {"apos;", "'"}}

func unescape(raw []byte) (string, error) {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '&')
		if i < 0 {
			out.Write(raw)
			return out.String(), nil
		}
		out.Write(raw[:i])
		raw = raw[i+1:]
		known := false
		for _, e := range entities {
			if known = bytes.HasPrefix(raw, []byte(e.name)); known {
				out.WriteString(e.means)
				raw = raw[len(e.name):]
				break
			}
		}
		if known {
			continue
		}
		end := bytes.IndexByte(raw[:min(len(raw), 10)], ';')
		if end < 2 || raw[0] != '#' {
			return "", fmt.Errorf("an unknown entity &%.10s", raw)
		}
		n, err := strconv.ParseUint(string(raw[1:end]), 10, 31)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return "", fmt.Errorf("an unknown entity &%.10s", raw)
		}
		out.WriteRune(rune(n))
		raw = raw[end+1:]
	}
}

// skip passes the rest of name, whatever is inside.
func (s *scanner) skip(name []byte, depth int) error {
	if depth > maxDepth {
		return s.fail("elements lie deeper than %d", maxDepth)
	}
	for {
		next := bytes.IndexByte(s.text[s.at:], '<')
		if next < 0 {
			return s.fail("<%s> does not end", name)
		}
		s.at += next
		if closed, err := s.closes(name); closed || err != nil {
			return err
		}
		child, err := s.open()
		if err != nil {
			return err
		}
		if err := s.skip(child, depth+1); err != nil {
			return err
		}
	}
}

// spend takes from the budget.
func (s *scanner) spend() error {
	if s.budget--; s.budget < 0 {
		return s.fail("it lists more nodes or pieces than its length allows")
	}
	return nil
}
