package grid

import (
	"fmt"
	"path"
	"strings"
)

// Bring asks for files whose names are not known before the program has made them.
//
// A pattern is a path relative to the working directory. In each of its parts * stands for any characters, ?
// for one, [a-z] for one of these; a part ** stands for any number of folders. A folder that matches
// brings all that is in it. A name that begins with a dot is matched only where the pattern has that dot.
type Bring struct {
	Pattern string
	Bytes   int64 // files that match are brought up to so many bytes together; 0 is MaxSandbox
}

// Limits of patterns.
const (
	MaxBring = 64 // of one job
	maxParts = 32 // of one pattern
	maxDeep  = 4  // ** among them
)

// Everything is what is brought of a batch script, and of a command, that names nothing: all that it makes,
// as long as that is little.
var Everything = Bring{Pattern: "**", Bytes: 1 << 30}

// Check says why it is no pattern.
func (b Bring) Check() error {
	p := b.Pattern
	switch {
	case p == "" || len(p) > MaxPath:
		return fmt.Errorf("the pattern has %d bytes: from 1 to %d", len(p), MaxPath)
	case strings.HasPrefix(p, "/"):
		return fmt.Errorf("the pattern %.80q is absolute: write one relative to the working directory", p)
	case strings.ContainsAny(p, "\\\x7f") || strings.IndexFunc(p, func(r rune) bool { return r < ' ' }) >= 0:
		return fmt.Errorf("the pattern %.80q has a backslash or a control character", p)
	case b.Bytes < 0 || b.Bytes > MaxSandbox:
		return fmt.Errorf("the pattern %.80q brings %d bytes: from 0 to %d", p, b.Bytes, MaxSandbox)
	}
	parts, deep := 0, 0
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the pattern %.80q has an empty part, or . or ..", p)
		}
		if _, err := path.Match(part, ""); err != nil {
			return fmt.Errorf("the pattern %.80q has a [ that is not closed well", p)
		}
		parts++
		if part == "**" {
			deep++
		}
	}
	if parts > maxParts {
		return fmt.Errorf("the pattern %.80q has more than %d parts", p, maxParts)
	}
	if deep > maxDeep {
		return fmt.Errorf("the pattern %.80q has more than %d parts **", p, maxDeep)
	}
	return nil
}

// Most is how many bytes it brings at most.
func (b Bring) Most() int64 {
	if b.Bytes == 0 {
		return MaxSandbox
	}
	return b.Bytes
}

// Matches tells whether it asks for the file of a clean relative path.
func (b Bring) Matches(file string) bool {
	parts := strings.Split(b.Pattern, "/")
	at := skipDeep(parts, 1) // bit i: the first i parts are used up
	whole := uint64(1) << len(parts)
	names := strings.Split(file, "/")
	for k, name := range names {
		next := uint64(0)
		for i, part := range parts {
			if at&(1<<i) == 0 || strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
				continue
			}
			if part == "**" {
				next |= 1 << i
			} else if ok, err := path.Match(part, name); ok && err == nil {
				next |= 1 << (i + 1)
			}
		}
		at = skipDeep(parts, next)
		if at&whole != 0 && !hidden(names[k+1:]) {
			return true
		}
	}
	return false
}

// skipDeep adds what is reached where ** stands for no folder.
func skipDeep(parts []string, at uint64) uint64 {
	for i, part := range parts {
		if at&(1<<i) != 0 && part == "**" {
			at |= 1 << (i + 1)
		}
	}
	return at
}

func hidden(names []string) bool {
	for _, n := range names {
		if strings.HasPrefix(n, ".") {
			return true
		}
	}
	return false
}
