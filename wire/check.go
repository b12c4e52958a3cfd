package wire

import (
	"fmt"
	"math"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"gbroker/grid"
)

// Limits of what a message says, beside those of package grid.
const (
	// MaxSpan bounds spans and instants, in milliseconds: what grid.FromSeconds
	// gives at most. Thousands of them can be added without overflow.
	MaxSpan grid.Tick = 1e15

	MaxSandbox     = int64(2) << 40 // bytes of all files of a manifest
	MaxProgramText = 2 << 20        // bytes of all arguments and variables: what Linux gives a program
	MaxChunks      = 64             // of one demand
	MaxTotalMemory = int64(1) << 60 // bytes of all pieces of a chunk
	MaxSpeed       = 1e6
	MaxPeer        = 128  // bytes of a peer ID
	MaxUser        = 256  // bytes of a user's name
	MaxLocal       = 256  // bytes of a local identifier
	MaxWord        = 64   // bytes of a word such as an architecture, and of a refusal's numbers
	MaxRefusal     = 200  // bytes of a refusal's reason
	MaxWhy         = 1024 // bytes of a reason for people
)

// check converts values from outside and keeps the first that is wrong. Every
// method gives the value, so that a conversion reads as a literal; what was built
// is only used if err is nil.
type check struct {
	err  error
	path []step
}

// step is one field on the way to a value; index is -1 outside lists.
type step struct {
	name  string
	index int
}

// fail keeps the first error, under the full name of its field.
func (c *check) fail(name, format string, args ...any) {
	if c.err != nil {
		return
	}
	var at strings.Builder
	for _, s := range c.path {
		at.WriteString(s.name)
		if s.index >= 0 {
			fmt.Fprintf(&at, "[%d]", s.index)
		}
		at.WriteByte('.')
	}
	c.err = fmt.Errorf("%s%s: %w", at.String(), name, fmt.Errorf(format, args...))
}

// nested converts the body of a field that has fields itself.
func nested[T any](c *check, name string, convert func(*check) T) T {
	c.path = append(c.path, step{name, -1})
	v := convert(c)
	c.path = c.path[:len(c.path)-1]
	return v
}

// list converts at most limit bodies; none give nil.
func list[M, T any](c *check, name string, bodies []M, limit int, convert func(M, *check) T) []T {
	if len(bodies) > limit {
		c.fail(name, "%d of them: at most %d", len(bodies), limit)
		return nil
	}
	if len(bodies) == 0 {
		return nil
	}
	values := make([]T, 0, len(bodies))
	c.path = append(c.path, step{name, 0})
	for i, b := range bodies {
		c.path[len(c.path)-1].index = i
		if values = append(values, convert(b, c)); c.err != nil {
			break
		}
	}
	c.path = c.path[:len(c.path)-1]
	return values
}

// each is the other direction: the bodies of values.
func each[T, M any](values []T, convert func(T) M) []M {
	if len(values) == 0 {
		return nil
	}
	bodies := make([]M, len(values))
	for i, v := range values {
		bodies[i] = convert(v)
	}
	return bodies
}

// valid keeps the error of a check that package grid makes.
func (c *check) valid(name string, err error) {
	if err != nil {
		c.fail(name, "%w", err)
	}
}

func (c *check) between(name string, v, low, high int64) int64 {
	if v < low || v > high {
		c.fail(name, "%d is not within %d to %d", v, low, high)
	}
	return v
}

func (c *check) count(name string, v int64, low, high int) int {
	return int(c.between(name, v, int64(low), int64(high)))
}

func (c *check) u32(name string, v uint64) uint32 {
	if v > math.MaxUint32 {
		c.fail(name, "%d is more than 32 bits hold", v)
	}
	return uint32(v)
}

// span is one that may be negative; wait is one that may not.
func (c *check) span(name string, v int64) grid.Tick {
	return grid.Tick(c.between(name, v, -int64(MaxSpan), int64(MaxSpan)))
}

func (c *check) wait(name string, v int64) grid.Tick {
	return grid.Tick(c.between(name, v, 0, int64(MaxSpan)))
}

func (c *check) speed(name string, v float64) float64 {
	if !(v > 0 && v <= MaxSpeed) { // NaN fails both
		c.fail(name, "%v is no speed: it is above 0 and at most %v", v, float64(MaxSpeed))
	}
	return v
}

func (c *check) jobID(name, s string) grid.JobID {
	id, err := grid.ParseJobID(s)
	if err != nil {
		c.fail(name, "%w", err)
	}
	return id
}

func (c *check) optionalJobID(name, s string) grid.JobID {
	if s == "" {
		return ""
	}
	return c.jobID(name, s)
}

func (c *check) optionalGroupID(name, s string) grid.GroupID {
	if s == "" {
		return ""
	}
	id, err := grid.ParseGroupID(s)
	c.valid(name, err)
	return id
}

func (c *check) site(name, s string) grid.SiteName {
	if err := grid.CheckName(s); err != nil {
		c.fail(name, "%w", err)
	}
	return grid.SiteName(s)
}

func (c *check) queue(name, s string) grid.QueueName {
	if s != "" {
		if err := grid.CheckName(s); err != nil {
			c.fail(name, "%w", err)
		}
	}
	return grid.QueueName(s)
}

// peer is a peer ID: visible ASCII. Whether it is a key's is overlay's to say.
func (c *check) peer(name, s string) grid.PeerID {
	if s == "" {
		c.fail(name, "the peer ID is empty")
	}
	return c.optionalPeer(name, s)
}

func (c *check) optionalPeer(name, s string) grid.PeerID {
	if len(s) > MaxPeer {
		c.fail(name, "a peer ID of %d bytes: at most %d", len(s), MaxPeer)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			c.fail(name, "%.40q is no peer ID", s)
			break
		}
	}
	return grid.PeerID(s)
}

func (c *check) state(name string, v uint64) grid.State {
	s := grid.State(min(v, math.MaxUint8))
	if !s.Valid() {
		c.fail(name, "%d is no state", v)
	}
	return s
}

// hash is one BLAKE3-256.
func (c *check) hash(name string, b []byte) (h grid.Hash) {
	if copy(h[:], b) != len(b) || len(b) != len(h) {
		c.fail(name, "a hash of %d bytes: it has %d", len(b), len(h))
	}
	return h
}

func (c *check) optionalHash(name string, b []byte) (h grid.Hash) {
	if len(b) == 0 {
		return h
	}
	return c.hash(name, b)
}

// fromOptionalHash is nil for the zero hash.
func fromOptionalHash(h grid.Hash) []byte {
	if h == (grid.Hash{}) {
		return nil
	}
	return h[:]
}

// text is what a program gets: any bytes but NUL.
func (c *check) text(name, s string, limit int) string {
	if len(s) > limit {
		c.fail(name, "%d bytes: at most %d", len(s), limit)
	}
	if strings.IndexByte(s, 0) >= 0 {
		c.fail(name, "it holds a NUL byte")
	}
	return s
}

// word is a text for people: UTF-8 without control characters, so that it does
// nothing to the terminal of who reads it.
func (c *check) word(name, s string, limit int) string {
	if len(s) > limit {
		c.fail(name, "%d bytes: at most %d", len(s), limit)
	}
	if !utf8.ValidString(s) {
		c.fail(name, "%.40q is not UTF-8", s)
	}
	if strings.IndexFunc(s, forbidden) >= 0 {
		c.fail(name, "%.40q holds a control character", s)
	}
	return s
}

func forbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// plain makes any text one that word takes: control characters become spaces, what
// is over the limit is cut off and marked.
func plain(s string, limit int) string {
	const mark = "…"
	s = strings.Map(func(r rune) rune {
		if forbidden(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) <= limit {
		return s
	}
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// file is the clean path of a file below the sandbox's top (or another folder).
func (c *check) file(name, s string) string {
	switch {
	case s == "" || s == ".":
		c.fail(name, "the path of a file is empty")
	case path.Clean(s) != s:
		c.fail(name, "%.80q is not clean: write %.80q", s, path.Clean(s))
	}
	return c.within(name, "", s)
}

// within is a path relative to directory that does not leave the folder above it.
func (c *check) within(name, directory, s string) string {
	switch p := path.Join(directory, s); {
	case len(s) > grid.MaxPath:
		c.fail(name, "a path of %d bytes: at most %d", len(s), grid.MaxPath)
	case strings.IndexByte(s, 0) >= 0:
		c.fail(name, "%.80q holds a NUL byte", s)
	case path.IsAbs(s):
		c.fail(name, "%.80q is absolute", s)
	case p == ".." || strings.HasPrefix(p, "../"):
		c.fail(name, "%.80q leaves the sandbox", s)
	}
	return s
}
