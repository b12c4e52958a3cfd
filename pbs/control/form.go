package control

import (
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

const (
	firstLine = "gbroker-ctl 1"
	lastLine  = "."
	maxFile   = 2 << 20
	maxDetail = 2 << 10
)

// field is one line of a control file.
type field struct{ key, value string }

func encode(fields []field) []byte {
	var b strings.Builder
	b.WriteString(firstLine + "\n")
	for _, f := range fields {
		b.WriteString(f.key + " " + oneLine(f.value) + "\n")
	}
	b.WriteString(lastLine + "\n")
	return []byte(b.String())
}

// oneLine makes text fit for a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// reader takes the fields of a control file in order; the first mistake stays.
type reader struct {
	name  string
	lines []string
	err   error
}

func newReader(name string, data []byte) *reader {
	r := &reader{name: name}
	lines := strings.Split(string(data), "\n")
	n := len(lines)
	switch {
	case lines[0] != firstLine && strings.HasPrefix(lines[0], "gbroker-ctl "):
		r.err = fmt.Errorf("control file %s is of version %.20q: this program knows version 1", name, lines[0])
	case lines[0] != firstLine:
		r.fail("does not begin with %q", firstLine)
	case n < 3 || lines[n-1] != "" || lines[n-2] != lastLine:
		r.fail("is torn: its last line is no single dot")
	default:
		r.lines = lines[1 : n-2]
	}
	return r
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: control file %s %s", grid.ErrDamaged, r.name, fmt.Sprintf(format, args...))
	}
}

func (r *reader) text(key string) string {
	if r.err != nil {
		return ""
	}
	if len(r.lines) == 0 {
		r.fail("has no line %q", key)
		return ""
	}
	k, v, ok := strings.Cut(r.lines[0], " ")
	if !ok || k != key {
		r.fail("has %.40q where %q belongs", r.lines[0], key)
		return ""
	}
	r.lines = r.lines[1:]
	return v
}

func (r *reader) number(key string, least, most int64) int64 {
	s := r.text(key)
	if r.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		r.fail("has %s %.40q: it must be a number from %d to %d", key, s, least, most)
	}
	return n
}

func (r *reader) instant(key string) grid.Tick {
	return grid.Tick(r.number(key, 0, 1<<53))
}

func (r *reader) attempt(want grid.AttemptID) {
	if got := r.text("attempt"); r.err == nil && got != want.String() {
		r.fail("is of attempt %.120q, not %s", got, want)
	}
}

func (r *reader) word(key string, words []string) int {
	s := r.text(key)
	for i, w := range words {
		if s == w {
			return i
		}
	}
	r.fail("has %s %.40q: it must be one of %s", key, s, strings.Join(words, ", "))
	return 0
}

func (r *reader) done() error {
	if r.err == nil && len(r.lines) > 0 {
		r.fail("has %.40q, which is unknown", r.lines[0])
	}
	return r.err
}

func number[T ~int | ~int64 | ~uint64](n T) string { return fmt.Sprint(int64(n)) }
