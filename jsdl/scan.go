package jsdl

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a piece of a document is.
type tokenKind uint8

const (
	startTag tokenKind = iota + 1
	endTag
	characters
	comment
	instruction
	declaration // <!DOCTYPE and the like, of which no more is read
)

// token is one piece of a document. Its texts are parts of the document where nothing in them had
// to be replaced.
type token struct {
	kind       tokenKind
	from, to   int // where it stands, in bytes
	name       tagName
	attributes []tagAttribute
	empty      bool   // a start tag that is its own end
	text       string // of characters: what it means; of an instruction: what follows its name
	half       bool   // a character reference names half a character
}

// tagName is a name as it is written.
type tagName struct{ prefix, local string }

func (n tagName) String() string {
	if n.prefix == "" {
		return n.local
	}
	return n.prefix + ":" + n.local
}

type tagAttribute struct {
	name  tagName
	value string
}

// malformation is why a document is no XML, and where.
type malformation struct {
	at      int
	message string
	torn    bool // the document ends inside something
}

func (m *malformation) Error() string { return m.message }

// scanner cuts a document into tokens: XML 1.0 without a document type. That names match, and
// what they mean, is for its caller. The standard library's reader takes three times as
// long, and passes what has to be refused: see xmlReader.
type scanner struct {
	text string
	at   int
	one  [8]tagAttribute // for the attributes of most tags
}

func (s *scanner) fail(format string, args ...any) error {
	return &malformation{at: s.at, message: fmt.Sprintf(format, args...)}
}

func (s *scanner) cutOff() error {
	s.at = len(s.text)
	return &malformation{at: s.at, message: "unexpected end", torn: true}
}

// next gives the next token; ok is false at the end. The attributes are good until the next call.
func (s *scanner) next() (t token, ok bool, err error) {
	t.from = s.at
	rest := s.text[s.at:]
	switch {
	case rest == "":
		return t, false, nil
	case rest[0] != '<':
		err = s.characters(&t)
	case strings.HasPrefix(rest, "</"):
		err = s.endTag(&t)
	case strings.HasPrefix(rest, "<?"):
		err = s.instruction(&t)
	case strings.HasPrefix(rest, "<!--"):
		err = s.comment(&t)
	case strings.HasPrefix(rest, "<![CDATA["):
		err = s.literal(&t)
	case strings.HasPrefix(rest, "<!"):
		t.kind, s.at = declaration, len(s.text)
	default:
		err = s.startTag(&t)
	}
	t.to = s.at
	return t, err == nil, err
}

func (s *scanner) characters(t *token) (err error) {
	t.kind = characters
	end := strings.IndexByte(s.text[s.at:], '<')
	if end < 0 {
		end = len(s.text) - s.at
	}
	raw := s.text[s.at : s.at+end]
	if i := strings.Index(raw, "]]>"); i >= 0 {
		s.at += i
		return s.fail("unescaped ]]> not in CDATA section")
	}
	t.text, t.half, err = s.meaning(raw, false)
	if err == nil {
		s.at = t.from + end
	}
	return err
}

// literal is a CDATA section.
func (s *scanner) literal(t *token) error {
	t.kind = characters
	const head = len("<![CDATA[")
	end := strings.Index(s.text[s.at+head:], "]]>")
	if end < 0 {
		return s.cutOff()
	}
	t.text = lineEnds(s.text[s.at+head : s.at+head+end])
	s.at += head + end + len("]]>")
	return nil
}

func (s *scanner) comment(t *token) error {
	t.kind = comment
	const head = len("<!--")
	end := strings.Index(s.text[s.at+head:], "--")
	if end < 0 {
		return s.cutOff()
	}
	s.at += head + end
	if !strings.HasPrefix(s.text[s.at:], "-->") {
		if s.at+2 >= len(s.text) {
			return s.cutOff()
		}
		return s.fail(`invalid sequence "--" not allowed in comments`)
	}
	s.at += len("-->")
	return nil
}

func (s *scanner) instruction(t *token) error {
	t.kind = instruction
	s.at += len("<?")
	name, err := s.name()
	if err != nil {
		return err
	}
	end := strings.Index(s.text[s.at:], "?>")
	if end < 0 {
		return s.cutOff()
	}
	t.name, t.text = name, s.text[s.at:s.at+end]
	if t.text != "" && !isSpace(t.text[0]) {
		return s.fail("a blank follows the name of a processing instruction")
	}
	s.at += end + len("?>")
	return nil
}

func (s *scanner) endTag(t *token) (err error) {
	t.kind = endTag
	s.at += len("</")
	if t.name, err = s.name(); err != nil {
		return err
	}
	s.space()
	if s.at == len(s.text) {
		return s.cutOff()
	}
	if s.text[s.at] != '>' {
		return s.fail("invalid characters between </%s and >", t.name)
	}
	s.at++
	return nil
}

func (s *scanner) startTag(t *token) (err error) {
	t.kind = startTag
	s.at++
	if t.name, err = s.name(); err != nil {
		return err
	}
	t.attributes = s.one[:0]
	for {
		spaced := s.space()
		rest := s.text[s.at:]
		switch {
		case rest == "" || rest == "/":
			return s.cutOff()
		case rest[0] == '>':
			s.at++
			return nil
		case strings.HasPrefix(rest, "/>"):
			s.at += 2
			t.empty = true
			return nil
		case rest[0] == '/':
			s.at++
			return s.fail("expected /> in element")
		case !spaced:
			return s.fail("a blank stands before each attribute of an element")
		}
		if err := s.attribute(t); err != nil {
			return err
		}
	}
}

func (s *scanner) attribute(t *token) error {
	name, err := s.name()
	if err != nil {
		if m := (err.(*malformation)); !m.torn {
			m.message = "expected attribute name in element"
		}
		return err
	}
	s.space()
	if s.at == len(s.text) {
		return s.cutOff()
	}
	if s.text[s.at] != '=' {
		return s.fail("attribute name without = in element")
	}
	s.at++
	s.space()
	if s.at == len(s.text) {
		return s.cutOff()
	}
	mark := s.text[s.at]
	if mark != '"' && mark != '\'' {
		return s.fail("unquoted or missing attribute value in element")
	}
	s.at++
	end := strings.IndexByte(s.text[s.at:], mark)
	if end < 0 {
		return s.cutOff()
	}
	raw := s.text[s.at : s.at+end]
	if i := strings.IndexByte(raw, '<'); i >= 0 {
		s.at += i
		return s.fail("unescaped < inside quoted string")
	}
	from := s.at
	value, half, err := s.meaning(raw, true)
	if err != nil {
		return err
	}
	s.at = from + end + 1
	t.half = t.half || half
	t.attributes = append(t.attributes, tagAttribute{name, value})
	return nil
}

// name reads a name: a part before a colon, and one behind it. Names with more colons, or with
// nothing before or behind it, are all local, with the colon in it.
func (s *scanner) name() (tagName, error) {
	from, colon, colons := s.at, 0, 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_':
		case c == ':':
			colon, colons = s.at-from, colons+1
		case c >= '0' && c <= '9' || c == '-' || c == '.':
			if s.at == from {
				return tagName{}, s.fail("expected element name after <")
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s.text[s.at:])
			if !nameRune(r, s.at == from) {
				return tagName{}, s.fail("invalid character U+%04X in a name", r)
			}
			s.at += n - 1
		default:
			goto end
		}
		s.at++
	}
	return tagName{}, s.cutOff()
end:
	name := s.text[from:s.at]
	switch {
	case name == "":
		return tagName{}, s.fail("expected element name after <")
	case colons == 1 && colon > 0 && colon < len(name)-1:
		return tagName{name[:colon], name[colon+1:]}, nil
	}
	return tagName{local: name}, nil
}

// nameRune tells whether a character beyond ASCII may stand in a name.
func nameRune(r rune, first bool) bool {
	if unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) {
		return true
	}
	return !first && (unicode.IsDigit(r) || unicode.IsMark(r) || r == 0xB7)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (s *scanner) space() (some bool) {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
		some = true
	}
	return some
}
