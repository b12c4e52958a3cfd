package jsdl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
)

// MaxErrors is how many mistakes of one document are told.
const MaxErrors = 20

// maxCollected bounds the mistakes kept for sorting.
const maxCollected = 200

// maxMessage bounds one message, in bytes: names and values come from outside.
const maxMessage = 500

// Error is one mistake at a place of a document.
type Error struct {
	File      string
	Line, Col int // from 1; columns count characters
	Message   string
}

func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message)
}

// Errors are the mistakes of one document in the order of their places. They are
// of the kind [grid.ErrInvalid].
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Is makes errors.Is(err, grid.ErrInvalid) true.
func (e Errors) Is(target error) bool { return target == grid.ErrInvalid }

// position is a place in the document, both from 1.
type position struct{ line, col int }

// reporter collects mistakes, and what is only to be warned of.
type reporter struct {
	file     string
	list     Errors
	warnings Errors
}

// warn tells of what is not as it should be, but is certain in its meaning.
func (r *reporter) warn(p position, format string, args ...any) {
	if len(r.warnings) < maxCollected {
		message := cut(fmt.Sprintf(format, args...), maxMessage)
		r.warnings = append(r.warnings, Error{File: r.file, Line: p.line, Col: p.col, Message: message})
	}
}

// warned are the warnings in the order of their places.
func (r *reporter) warned() Errors {
	slices.SortStableFunc(r.warnings, byPlace)
	return r.warnings
}

func byPlace(a, b Error) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) }

func (r *reporter) at(p position, format string, args ...any) {
	if len(r.list) < maxCollected {
		message := cut(fmt.Sprintf(format, args...), maxMessage)
		r.list = append(r.list, Error{File: r.file, Line: p.line, Col: p.col, Message: message})
	}
}

// err is nil or the sorted Errors, cut after MaxErrors with a word about the rest.
func (r *reporter) err() error {
	if len(r.list) == 0 {
		return nil
	}
	list := slices.Clone(r.list)
	slices.SortStableFunc(list, byPlace)
	if len(list) > MaxErrors {
		next := list[MaxErrors]
		next.Message = fmt.Sprintf("there are more than %d mistakes: this one and those after it are not told", MaxErrors)
		list = append(list[:MaxErrors], next)
	}
	return list
}

// quote shows a value of the document in a message: escaped and not too long.
func quote(s string) string {
	const most = 60
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.TrimSuffix(cut(s, most), "…")) + "…"
}

// cut shortens s to at most n bytes and an ellipsis, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
