package wire

import (
	"encoding/binary"

	"gbroker/grid"
)

type announceBody struct {
	Site   siteBody    `msgpack:"s,omitempty"`
	Starts *startsBody `msgpack:"t,omitempty"` // came later: a broker without it skips it
}

func (b *announceBody) message(c *check) Message {
	return Announce{nested(c, "site", b.Site.site), nested(c, "starts", b.Starts.starts)}
}

// startsBody has the waits as varints, one after the other: as values of their own they would be too many for a frame.
type startsBody struct {
	Age       int64   `msgpack:"a,omitempty"`
	Processes []int64 `msgpack:"p,omitempty"`
	Walltimes []int64 `msgpack:"w,omitempty"`
	Waits     []byte  `msgpack:"t,omitempty"`
	Whole     bool    `msgpack:"o,omitempty"`
}

func fromStarts(s grid.Starts) *startsBody {
	if s.IsZero() {
		return nil
	}
	b := &startsBody{
		Age: int64(s.Age), Whole: s.Whole,
		Processes: each(s.Processes, func(n int) int64 { return int64(n) }), Walltimes: each(s.Walltimes, func(t grid.Tick) int64 { return int64(t) }),
	}
	for _, w := range s.Waits {
		b.Waits = binary.AppendUvarint(b.Waits, uint64(w))
	}
	return b
}

func (b *startsBody) starts(c *check) grid.Starts {
	if b == nil {
		return grid.Starts{}
	}
	s := grid.Starts{
		Age: c.wait("age", b.Age), Whole: b.Whole,
		Processes: list(c, "processes", b.Processes, grid.MaxStartProcesses, func(n int64, c *check) int { return c.count("", n, 1, grid.MaxProcesses) }),
		Walltimes: list(c, "walltimes", b.Walltimes, grid.MaxStartWalltimes, func(t int64, c *check) grid.Tick { return c.walltime("", t) }),
	}
	ascending(c, "processes", s.Processes)
	ascending(c, "walltimes", s.Walltimes)
	n := len(s.Processes) * len(s.Walltimes)
	rest := b.Waits
	for len(rest) > 0 && len(s.Waits) < n {
		w, k := binary.Uvarint(rest)
		if k <= 0 || w > uint64(grid.Unforeseen) {
			break
		}
		s.Waits, rest = append(s.Waits, grid.Tick(w)), rest[k:]
	}
	if n == 0 || len(s.Waits) != n || len(rest) > 0 {
		c.fail("waits", "%d bytes are not one wait for each of %d classes", len(b.Waits), n)
	}
	return s
}

func ascending[T int | grid.Tick](c *check, name string, list []T) {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			c.fail(name, "%d is not after %d", list[i], list[i-1])
		}
	}
}
