// Package tape keeps what a pool saw of a computer in the last four weeks, in one file of a fixed size for each computer.
//
// Time is divided into slots of five minutes, counted from 1970 on. A file is a ring of [Kept] entries of eight bytes; that of slot n lies
// at n modulo [Kept]:
//
//	round (2)   n / Kept modulo 65536: an entry of another round is of no slot that is kept
//	watched     part of the slot in which the pool watched, 255 being all of it
//	reached     part in which the computer was heard
//	active      part in which its owner was there
//	battery     part of the rest in which it ran on battery
//	idle        part of its processors that nobody used in the rest
//	check       by which an entry that is torn, or was never written, is known
//
// Files are not flushed: a power cut may take the last slots, which then count as not watched.
package tape

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"gbroker/grid"
	"gbroker/pool"
)

// What is kept.
const (
	Slot = 5 * grid.Minute
	Kept = int64(28 * grid.Day / Slot) // slots
	size = 8                           // bytes of an entry
)

// Entry is what was seen in a slot: parts of it, from 0 to 1.
type Entry struct {
	Watched, Reached, Active, Battery float64
	Idle                              float64 // part of the processors
}

// Number is the slot of an instant.
func Number(t grid.Tick) int64 { return int64(t / Slot) }

// Begin is when a slot begins.
func Begin(number int64) grid.Tick { return grid.Tick(number) * Slot }

// And is what was seen in a slot by two that watched it one after the other.
func (e Entry) And(o Entry) Entry {
	rest, others := e.Reached-e.Active, o.Reached-o.Active
	return Entry{
		Watched: e.Watched + o.Watched, Reached: e.Reached + o.Reached, Active: e.Active + o.Active, Battery: e.Battery + o.Battery,
		Idle: (e.Idle*rest + o.Idle*others) / max(rest+others, 1e-9),
	}
}

// Write writes the entry of a slot into the file of a computer.
func Write(name string, number int64, e Entry) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteAt(e.bytes(number), number%Kept*size)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("keeping what was seen of a computer: %w", err)
	}
	return nil
}

// Read gives the entries of the slots that are kept up to the one before a number. A file that is not there has none.
func Read(name string, before int64) (map[int64]Entry, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was seen of a computer: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, Kept*size))
	if err != nil {
		return nil, fmt.Errorf("reading what was seen of a computer: %w", err)
	}
	out := make(map[int64]Entry)
	for n := max(before-Kept, 0); n < before; n++ {
		if at := n % Kept * size; at+size <= int64(len(data)) {
			if e, ok := parse(n, data[at:at+size]); ok {
				out[n] = e
			}
		}
	}
	return out, nil
}

func (e Entry) bytes(number int64) []byte {
	part := func(x float64) byte { return byte(math.Round(255 * min(max(x, 0), 1))) }
	lap := uint16(number / Kept)
	b := []byte{byte(lap >> 8), byte(lap), part(e.Watched), part(e.Reached), part(e.Active), part(e.Battery), part(e.Idle), 0}
	b[size-1] = check(b)
	return b
}

func parse(number int64, b []byte) (e Entry, ok bool) {
	lap := uint16(b[0])<<8 | uint16(b[1])
	if lap != uint16(number/Kept) || b[size-1] != check(b) {
		return e, false
	}
	part := func(b byte) float64 { return float64(b) / 255 }
	return Entry{part(b[2]), part(b[3]), part(b[4]), part(b[5]), part(b[6])}, true
}

// check is never that of zeros.
func check(b []byte) byte {
	sum := byte(0xa7)
	for _, x := range b[:size-1] {
		sum = sum*31 + x
	}
	return sum
}

// History makes of entries what a forecast is made of. Within a slot the owner counts as having been there first.
func History(entries map[int64]Entry, before int64) (h pool.History) {
	h.Window = grid.Tick(Kept) * Slot
	h.Since = Begin(max(before-Kept, 0))
	gap := func(from, to grid.Tick) {
		if n := len(h.Gaps); n > 0 && h.Gaps[n-1].To == from {
			h.Gaps[n-1].To = to
		} else if from < to {
			h.Gaps = append(h.Gaps, pool.Gap{From: from, To: to})
		}
	}
	for n := max(before-Kept, 0); n < before; n++ {
		e, at, end := entries[n], Begin(n), Begin(n+1)
		spell := func(part float64, f pool.Fact) {
			if to := at + grid.Tick(part*float64(Slot)); to > at {
				f.From, f.To = at, min(to, end)
				h.Facts = append(h.Facts, f)
				at = f.To
			}
		}
		battery := min(e.Battery, e.Reached-e.Active)
		spell(e.Active, pool.Fact{Active: true})
		spell(battery, pool.Fact{Battery: true, Idle: e.Idle})
		spell(e.Reached-e.Active-battery, pool.Fact{Idle: e.Idle})
		gap(max(at, end-grid.Tick((1-e.Watched)*float64(Slot))), end)
	}
	return h
}
