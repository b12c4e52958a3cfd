package wrapper

import (
	"fmt"
	"slices"
	"strings"
)

// quoter writes values as words of a shell, in printable ASCII alone: other bytes become
// variables, as some batch systems refuse scripts that hold them.
type quoter struct{ used [256]bool }

// word is a value as one word.
func (q *quoter) word(value string) string {
	var b strings.Builder
	inside := false
	switchTo := func(quoted bool) {
		if quoted != inside {
			b.WriteByte('\'')
			inside = quoted
		}
	}
	for i := range len(value) {
		switch c := value[i]; {
		case c == '\'':
			switchTo(false)
			b.WriteString(`\'`)
		case c >= ' ' && c < 0x7f:
			switchTo(true)
			b.WriteByte(c)
		default:
			switchTo(false)
			q.used[c] = true
			fmt.Fprintf(&b, `"$b%03o"`, c)
		}
	}
	switchTo(false)
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// words are values as words with a blank before each.
func (q *quoter) words(values []string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteByte(' ')
		b.WriteString(q.word(v))
	}
	return b.String()
}

// bytes defines the variables that words have used. A command's output loses the newlines
// at its end, so a dot stands there first.
func (q *quoter) bytes() string {
	var b strings.Builder
	for c, used := range q.used {
		if used {
			fmt.Fprintf(&b, "b%03o=`printf '\\%03o.'` b%03o=${b%03o%%.}\n", c, c, c, c)
		}
	}
	return b.String()
}

// lastOfEach keeps the last value of each name.
func lastOfEach(env []string) []string {
	seen := make(map[string]bool, len(env))
	var kept []string
	for _, e := range slices.Backward(env) {
		name, _, _ := strings.Cut(e, "=")
		if !seen[name] {
			seen[name] = true
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return kept
}
