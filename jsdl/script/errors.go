package script

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/jsdl"
)

// reporter collects mistakes and warnings.
type reporter struct {
	file     string
	mistakes jsdl.Errors
	warnings jsdl.Errors
}

// beside is the file name of what was given beside the script.
const beside = "command line"

// maxTold bounds what is told of one script, and maxText what is shown of a directive, in bytes.
const (
	maxTold = jsdl.MaxErrors
	maxText = 80
)

func (r *reporter) tell(to *jsdl.Errors, at place, format string, args ...any) {
	if len(*to) > maxTold {
		return
	}
	e := jsdl.Error{File: r.file, Line: at.line, Col: at.col, Message: fmt.Sprintf(format, args...)}
	if len(*to) == maxTold {
		e.Message = "there is more to tell: this and what follows is left out"
	}
	if at.line == 0 {
		e.File, e.Line = beside, 1
	}
	*to = append(*to, e)
}

// wrong refuses a word of a directive: the message begins with its text.
func (r *reporter) wrong(w word, format string, args ...any) {
	r.tell(&r.mistakes, w.at, "%s: "+format, append([]any{short(w.text)}, args...)...)
}

// warn says what a directive does not do.
func (r *reporter) warn(w word, format string, args ...any) {
	r.tell(&r.warnings, w.at, "%s: "+format, append([]any{short(w.text)}, args...)...)
}

// sorted is a list in the order of the places.
func sorted(list jsdl.Errors) jsdl.Errors {
	slices.SortStableFunc(list, func(a, b jsdl.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}

// short shows the text of a directive: plain where it is, else quoted, and not too long.
func short(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}
