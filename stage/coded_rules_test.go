package stage

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A block is never longer on the way than its bytes, also where it would be a good frame.
func TestBlockThatGrew(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := random(100)
	for name, frame := range map[string][]byte{"frame": z.EncodeAll(plain, nil), "claim": make([]byte, blockSize+1)} {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 100), uint32(len(frame)))
		d := &blocks{r: bytes.NewReader(append(b, frame...))}
		if n, err := d.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s: a block of 100 bytes, %d on the way, gives %d", name, len(frame), n)
		}
	}
}

// Where compressing came to nothing it is tried again after a while: a file may begin with what is compressed already.
func TestCompressingIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := coder{way: measured{bytes: 1, took: 1 << 40}} // a way on which any gain pays
	size := func(b []byte) int {
		t.Helper()
		out, err := c.block(append(make([]byte, blockHead), b...), 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(out) - blockHead
	}
	noise, text := random(64<<10), lines(64 << 10)[:64<<10]
	if n := size(noise); n != len(noise) {
		t.Fatalf("%d bytes of noise go in %d", len(noise), n)
	}
	for i := range tryAgain {
		if n := size(text); n != len(text) {
			t.Fatalf("block %d is compressed to %d right after noise", i, n)
		}
	}
	if n := size(text); n >= len(text)/2 {
		t.Errorf("after %d blocks text goes in %d bytes of %d", tryAgain, n, len(text))
	}
}

// A way that has become slow, or fast, is known for what it is after a few MiB, whatever it was for long before.
func TestRatesFollowTheWay(t *testing.T) {
	t.Parallel()
	var m measured
	for range 1000 {
		m.add(1<<20, 1<<19, time.Millisecond)
	}
	for range 16 {
		m.add(1<<20, 1<<20, time.Second)
	}
	if rate := m.bytes / m.took.Seconds(); rate > 1.2*(1<<20) {
		t.Errorf("a way of 1 MiB/s is thought to have %.0f bytes/s", rate)
	}
	if left := m.left / m.bytes; left < 0.9 {
		t.Errorf("all is left, and it is thought to be %.2f", left)
	}
}
