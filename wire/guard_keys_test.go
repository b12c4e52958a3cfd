package wire

import (
	"errors"
	"math"
	"testing"

	"gbroker/grid"
)

// The guard reads keys of maps as texts, whole, and values as anything.
func TestKeysOfMaps(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		text string
		ok   bool
	}{
		"a key and a number":             {"\x81\xa1k\x05", true},
		"an empty key and a number":      {"\x81\xa0\x05", true},
		"a key and a text":               {"\x81\xa1k\xa1v", true},
		"a number as key":                {"\x81\x05\xa1v", false},
		"a number as the second key":     {"\x82\xa1k\x05\x05\xa1v", false},
		"a key that ends too early":      {"\x81\xa9k\x05", false},
		"a value that is not there":      {"\x81\xa1k", false},
		"no key":                         {"\x81", false},
		"a map of nothing, and an array": {"\x92\x80\x90", true},
	} {
		g := guard{rest: []byte(k.text), elements: 100}
		if err := g.value(0); (err == nil) != k.ok || k.ok && len(g.rest) > 0 {
			t.Errorf("%s: %v, %d bytes are left", name, err, len(g.rest))
		}
	}
}

// A frame that ends within its header is malformed, of no kind; none is taken for one of another version.
func TestHeadersThatEndTooEarly(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{"", "\x94", "\x94\x01", "\x94\xcc", "\x94\x01\xcd\x01", "\x93\x01\x01", "\x84\x01\x01", "\x94\xa1v\x01", "\x94\x01\xa1k"} {
		var bad *Malformed
		if _, _, err := header([]byte(frame)); !errors.As(err, &bad) || bad.Of != 0 {
			t.Errorf("%q: %v", frame, err)
		}
	}
}

// Of a reservation that was given up before it was made its name alone is told; one that was, is told whole.
func TestReservationsThatNeverWere(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		r     grid.Reservation
		whole bool
	}{
		"none":                    {grid.Reservation{ID: "r", Seq: 3}, false},
		"given up before":         {grid.Reservation{ID: "r", Seq: 3, State: grid.Released}, false},
		"released":                {grid.Reservation{ID: "r", Seq: 3, State: grid.Released, Start: 5, End: 9}, true},
		"of the beginning of all": {grid.Reservation{ID: "r", Seq: 3, State: grid.Tentative}, true},
	} {
		if got := fromReservation(k.r); got.ID != "r" || (got.Seq == 3) != k.whole || (got.State == uint64(k.r.State)) != (k.whole || k.r.State == 0) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A certificate has a signature, of bounded length.
func TestSignaturesOfCertificates(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{0: false, 1: true, grid.MaxSignature: true, grid.MaxSignature + 1: false} {
		var c check
		fromCertificate(grid.Certificate{Epoch: grid.Epoch{Term: 1, Hop: 1}, To: "peer", Signature: make([]byte, n)}).certificate(&c)
		if (c.err == nil) != ok {
			t.Errorf("%d bytes: %v", n, c.err)
		}
	}
}

// A bandwidth is a number that is not negative, and not without bounds.
func TestBandwidthsOfCandidates(t *testing.T) {
	t.Parallel()
	for b, ok := range map[float64]bool{0: true, 1: true, math.MaxFloat64: true, math.Inf(1): false, -1: false, math.NaN(): false} {
		var c check
		candidateBody{Site: "a", Bandwidth: b}.candidate(&c)
		if (c.err == nil) != ok {
			t.Errorf("%v: %v", b, c.err)
		}
	}
}
