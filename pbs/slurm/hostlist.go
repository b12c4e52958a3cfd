package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of what is read. A command that prints more is not believed.
const (
	maxJobs         = 1 << 20
	maxNodes        = 1 << 17
	maxPartitions   = 1 << 12
	maxReservations = 1 << 14
	maxName         = 1 << 8  // of nodes, partitions, users, reservations, features
	maxText         = 1 << 12 // of what users write: names of jobs, comments, reasons
)

var errTooMany = errors.New("more than can be")

// eachHost calls one for each name of a node list such as "node[01-03,07],gpu[1-2]n[1-4]",
// in its order. The bytes are good until the next call. A short list can stand for very
// many names: at most limit are made.
func eachHost(list string, limit int, one func(name []byte) error) error {
	if list == "" {
		return nil
	}
	count := 0
	counted := func(name []byte) error {
		if count++; count > limit {
			return fmt.Errorf("the node list %.40q: %w, %d names", list, errTooMany, limit)
		}
		if len(name) == 0 || len(name) > maxName {
			return fmt.Errorf("the node list %.40q has a name of %d characters", list, len(name))
		}
		return one(name)
	}
	for rest := list; ; {
		end := commaOutside(rest)
		if err := expand(nil, rest[:end], counted); err != nil {
			return err
		}
		if end == len(rest) {
			return nil
		}
		rest = rest[end+1:]
	}
}

// commaOutside is the place of the first comma that is in no brackets, or the end.
func commaOutside(s string) int {
	in := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			in = true
		case ']':
			in = false
		case ',':
			if !in {
				return i
			}
		}
	}
	return len(s)
}

// expand makes the names that begin with made, and go on as pattern says.
func expand(made []byte, pattern string, one func([]byte) error) error {
	open := strings.IndexByte(pattern, '[')
	if open < 0 {
		if strings.ContainsAny(pattern, "]()= \t\n") {
			return fmt.Errorf("%.40q is no node name", pattern)
		}
		return one(append(made, pattern...))
	}
	inside, after, closed := strings.Cut(pattern[open+1:], "]")
	if !closed {
		return fmt.Errorf("the node list %.40q has a bracket that is not closed", pattern)
	}
	made = append(made, pattern[:open]...)
	if len(made) > maxName {
		return fmt.Errorf("the node list has a name of more than %d characters", maxName)
	}
	for part := range strings.SplitSeq(inside, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := number(from)
		last, err2 := number(to)
		if err := errors.Join(err1, err2); err != nil || last < first {
			return fmt.Errorf("the node list has %.40q in brackets", part)
		}
		for n := first; n <= last; n++ {
			if err := expand(appendPadded(made, n, len(from)), after, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// number reads 1 to 9 digits.
func number(s string) (int, error) {
	if len(s) == 0 || len(s) > 9 {
		return 0, fmt.Errorf("%.20q is no number of 1 to 9 digits", s)
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%.20q is no number", s)
		}
		n = n*10 + int(c-'0')
	}
	return n, nil
}

func appendPadded(made []byte, n, width int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], int64(n), 10)
	for range width - len(text) {
		made = append(made, '0')
	}
	return append(made, text...)
}
