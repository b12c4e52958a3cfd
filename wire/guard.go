package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var (
	errShort = errors.New("it ends before what it declares")
	errDeep  = fmt.Errorf("it is nested deeper than %d", MaxDepth)
	errMany  = errors.New("it holds more elements than its kind may")
)

// guard walks msgpack without building anything. No declared length is believed: the walk
// ends where the bytes or the elements do. See "msgpack can be crashed
// from outside": a decoder may be let at bytes only after a guard has passed them.
type guard struct {
	rest     []byte
	elements int // still allowed
}

// value walks over one value with all it holds, depth arrays and maps deep.
func (g *guard) value(depth int) error {
	c, err := g.take()
	if err != nil {
		return err
	}
	switch {
	case c <= 0x7f || c >= 0xe0: // small integers
		return nil
	case c <= 0x8f:
		return g.pairs(uint64(c&0x0f), depth)
	case c <= 0x9f:
		return g.items(uint64(c&0x0f), depth)
	case c <= 0xbf:
		return g.skip(uint64(c & 0x1f))
	}
	switch c {
	case 0xc0, 0xc2, 0xc3: // nil, false, true
		return nil
	case 0xcc, 0xd0: // 8 bits
		return g.skip(1)
	case 0xcd, 0xd1: // 16 bits
		return g.skip(2)
	case 0xca, 0xce, 0xd2: // 32 bits
		return g.skip(4)
	case 0xcb, 0xcf, 0xd3: // 64 bits
		return g.skip(8)
	}
	return g.long(c, depth)
}

// long walks over a value whose length stands in the bytes after its code c.
func (g *guard) long(c byte, depth int) error {
	var width int
	switch c {
	case 0xc4, 0xd9:
		width = 1
	case 0xc5, 0xda, 0xdc, 0xde:
		width = 2
	case 0xc6, 0xdb, 0xdd, 0xdf:
		width = 4
	default:
		return fmt.Errorf("it holds the msgpack code 0x%02x, which is not used here", c)
	}
	n, err := g.number(width)
	if err != nil {
		return err
	}
	switch c {
	case 0xdc, 0xdd:
		return g.items(n, depth)
	case 0xde, 0xdf:
		return g.pairs(n, depth)
	}
	return g.skip(n)
}

// items walks over n values.
func (g *guard) items(n uint64, depth int) error {
	if depth >= MaxDepth {
		return errDeep
	}
	for range n {
		if err := g.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// pairs walks over n keys, which are strings, each with its value.
func (g *guard) pairs(n uint64, depth int) error {
	if depth >= MaxDepth {
		return errDeep
	}
	for range n {
		if len(g.rest) > 0 && !isString(g.rest[0]) { // where none is left, the walk says so
			return fmt.Errorf("it has a map with a key that is no string (code 0x%02x)", g.rest[0])
		}
		if err := g.value(depth + 1); err != nil {
			return err
		}
		if err := g.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) take() (byte, error) {
	if len(g.rest) == 0 {
		return 0, errShort
	}
	if g.elements <= 0 {
		return 0, errMany
	}
	g.elements--
	c := g.rest[0]
	g.rest = g.rest[1:]
	return c, nil
}

func (g *guard) skip(n uint64) error {
	if n > uint64(len(g.rest)) {
		return errShort
	}
	g.rest = g.rest[n:]
	return nil
}

// number reads a big-endian unsigned number of width bytes.
func (g *guard) number(width int) (uint64, error) {
	if len(g.rest) < width {
		return 0, errShort
	}
	var b [8]byte
	copy(b[8-width:], g.rest[:width])
	g.rest = g.rest[width:]
	return binary.BigEndian.Uint64(b[:]), nil
}

func isString(c byte) bool { return c >= 0xa0 && c <= 0xbf || c >= 0xd9 && c <= 0xdb }

func isMap(c byte) bool { return c >= 0x80 && c <= 0x8f || c == 0xde || c == 0xdf }
