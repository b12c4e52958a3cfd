package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func seeds(f *testing.F) {
	for _, m := range examples() {
		f.Add(unchecked(f, m))
	}
	for _, m := range demanding() {
		f.Add(unchecked(f, m))
	}
	for _, s := range []string{
		"", "\x94", "\x94\x01\x02\x90\x81\xa1q\xdd\x02\x00\x00\x00", "\x94\x01\x02\x90\xdf\xff\xff\xff\xff",
		"\x94\x01\x01\x90\x81\xa1s\x95\xc0\xc0\xc0\xc0\xc0", "\x94\x01\x11\x91\xa3new\x80", "\x95\x01\x13\x90\x80\xc0",
		"\x94\x01\x0f\x90\x83\xa1f\x92\x80\x80\xa1f\x91\xc0\xa1f\xc0",
	} {
		f.Add([]byte(s))
	}
}

// What the guard passes, the decoder ends exactly where the guard did, and takes
// no memory out of proportion.
func FuzzGuard(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		g := guard{rest: b, elements: fewElements}
		if err := g.value(0); err != nil {
			return
		}
		r := bytes.NewReader(b)
		d := msgpack.NewDecoder(r)
		if err := d.Skip(); err != nil {
			t.Fatalf("the guard passes what the decoder cannot skip: %v", err)
		}
		if r.Len() != len(g.rest) {
			t.Fatalf("the guard leaves %d bytes, the decoder %d", len(g.rest), r.Len())
		}
		whole := b[:len(b)-len(g.rest)]
		for _, kind := range kinds() {
			_ = msgpack.Unmarshal(whole, rules[kind].fresh()) // must return
		}
	})
}

// Whatever is decoded can be encoded, and decodes to the same again.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := Decode(frame)
		if err != nil {
			if m != nil {
				t.Fatal("a message beside an error")
			}
			return
		}
		again, err := Encode(m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		back, err := Decode(again)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v becomes %+v, %v", m, back, err)
		}
	})
}
