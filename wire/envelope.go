package wire

import (
	"errors"
	"fmt"

	"gbroker/grid"
)

// envelope is a frame with its body still encoded.
type envelope struct {
	kind  Kind
	needs []string
	body  []byte // guarded: a decoder may be let at it
}

// unwrap takes a whole frame apart and guards all of it.
func unwrap(frame []byte) (envelope, error) {
	kind, g, err := header(frame)
	if err != nil {
		return envelope{}, err
	}
	fail := func(err error) (envelope, error) { return envelope{}, &Malformed{kind, err} }
	if !kind.Valid() {
		return envelope{}, &UnknownKind{kind}
	}
	if len(frame) > kind.Limit() {
		return envelope{}, &TooLarge{kind, len(frame), kind.Limit()}
	}
	g.elements = rules[kind].elements
	e := envelope{kind: kind}
	if e.needs, err = g.names(); err != nil {
		return fail(fmt.Errorf("needs: %w", err))
	}
	if len(g.rest) == 0 || !isMap(g.rest[0]) {
		return fail(errors.New("its body is no map"))
	}
	at := g.rest
	if err := g.value(1); err != nil {
		return fail(err)
	}
	e.body = at[:len(at)-len(g.rest)]
	for range g.after {
		if err := g.value(1); err != nil {
			return fail(err)
		}
	}
	if len(g.rest) > 0 {
		return fail(fmt.Errorf("%d bytes follow its end", len(g.rest)))
	}
	return e, nil
}

// headed is a guard behind version and kind, with the number of elements that
// follow the body.
type headed struct {
	guard
	after uint64
}

// header reads version and kind, which stand in the first headerSize bytes.
func header(frame []byte) (Kind, headed, error) {
	g := headed{guard: guard{rest: frame, elements: fewElements}}
	c, err := g.take()
	if err != nil {
		return 0, g, &Malformed{0, err}
	}
	n := uint64(c & 0x0f)
	if c&0xf0 != 0x90 || n < 4 {
		return 0, g, &Malformed{0, errors.New("it is no array of version, kind, needs and body")}
	}
	g.after = n - 4
	version, err := g.uint()
	if err != nil {
		return 0, g, &Malformed{0, fmt.Errorf("version: %w", err)}
	}
	kind, err := g.uint()
	if err != nil {
		return 0, g, &Malformed{0, fmt.Errorf("kind: %w", err)}
	}
	switch {
	case version != Version:
		return 0, g, &UnsupportedVersion{version}
	case kind == 0 || kind > 255:
		return 0, g, &Malformed{0, fmt.Errorf("%d can be no kind", kind)}
	}
	return Kind(kind), g, nil
}

// headerSize is the most that array code, version and kind take.
const headerSize = 1 + 9 + 9

func (g *guard) uint() (uint64, error) {
	c, err := g.take()
	if err != nil {
		return 0, err
	}
	switch {
	case c <= 0x7f:
		return uint64(c), nil
	case c >= 0xcc && c <= 0xcf:
		return g.number(1 << (c - 0xcc))
	}
	return 0, errors.New("it is no unsigned integer")
}

// names reads the array of features.
func (g *guard) names() ([]string, error) {
	c, err := g.take()
	if err != nil {
		return nil, err
	}
	n := uint64(c & 0x0f)
	switch {
	case c == 0xdc:
		if n, err = g.number(2); err != nil {
			return nil, err
		}
	case c&0xf0 != 0x90:
		return nil, errors.New("it is no array of names")
	}
	if n > MaxNeeds {
		return nil, fmt.Errorf("%d features: at most %d", n, MaxNeeds)
	}
	var names []string
	for range n {
		name, err := g.name()
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (g *guard) name() (string, error) {
	c, err := g.take()
	if err != nil {
		return "", err
	}
	n := uint64(c & 0x1f)
	if c == 0xd9 {
		if n, err = g.number(1); err != nil {
			return "", err
		}
	} else if c < 0xa0 || c > 0xbf {
		return "", errors.New("it is no short string")
	}
	at := g.rest
	if err := g.skip(n); err != nil {
		return "", err
	}
	name := string(at[:n])
	return name, grid.CheckName(name)
}
