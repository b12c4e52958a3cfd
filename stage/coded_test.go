package stage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/time/rate"

	"gbroker/grid"
)

// lines is text as programs write it, of about n bytes.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "step %d: energy %.6f, temperature %.3f\n", i, 1/float64(i+3), float64(i*i%977))
	}
	return b.Bytes()
}

// Over a slow link text comes in less than half of the time of its bytes, and what cannot be compressed in theirs; a break loses nothing that came.
func TestTextOverASlowLink(t *testing.T) {
	t.Parallel()
	const size, perSecond = 2 << 20, 512 << 10 // so slow that it pays where many share a processor, and with -race
	for name, c := range map[string]struct {
		data        []byte
		least, most float64 // bytes on the way, of those of the file
		broken      bool
	}{
		"text": {lines(size), 0, 0.5, false}, "random": {random(size / 2), 1, 1.001, false}, "text, broken": {lines(size), 0, 0.8, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Streams = 1 })
			link := rate.NewLimiter(perSecond, 16<<10)
			breaks := c.broken
			n.between = func(c net.Conn) net.Conn {
				if breaks {
					breaks = false
					return &torn{shared{c, link}, size / 12}
				}
				return shared{c, link}
			}
			files := map[string][]byte{"data": c.data}
			m := give(t, a, files)
			start := time.Now()
			if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			want(t, b, Inputs, files)
			if got := n.dials.Load() > 1; got != c.broken {
				t.Errorf("it was dialled %d times", n.dials.Load())
			}
			sent := float64(n.read.Load()) / float64(len(c.data))
			if sent < c.least || sent > c.most {
				t.Errorf("%.3f of the bytes went over the way, which should be %g to %g", sent, c.least, c.most)
			}
			if whole := time.Duration(float64(len(c.data)) / perSecond * float64(time.Second)); c.most < 0.6 && took > whole/2 {
				t.Errorf("it took %s, where its bytes take %s", took, whole)
			}
			t.Logf("%s: %.3f of the bytes in %s, of %s", name, sent, took, time.Duration(float64(len(c.data))/perSecond*float64(time.Second)))
		})
	}
}

// torn breaks after so many bytes.
type torn struct {
	net.Conn
	left int
}

func (c *torn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// An older server, which knows no blocks, is understood, and so is an older client.
func TestOlderPeers(t *testing.T) {
	t.Parallel()
	data := lines(300 << 10)
	n := newNetwork(t)
	a := n.site("a", nil)
	m := give(t, a, map[string][]byte{"data": data})
	old, client := net.Pipe()
	defer client.Close()
	go func() {
		defer old.Close()
		asked := bufio.NewReader(old)
		for {
			q, err := readRequest(asked)
			if err != nil {
				return
			}
			answer := refusal(fmt.Errorf("%w: only the outputs of a running job can be listed", grid.ErrInvalid))
			if q.kind == kindRead {
				answer = append([]byte{statusDone}, binary.BigEndian.AppendUint32(nil, uint32(q.length))...)
				answer = append(answer, data[q.offset:q.offset+q.length]...)
			}
			if _, err := old.Write(answer); err != nil {
				return
			}
		}
	}()
	b := n.site("b", func(c *Config) { c.Streams = 1 })
	n.between = func(c net.Conn) net.Conn {
		c.Close()
		return client
	}
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, map[string][]byte{"data": data})

	here, there := net.Pipe()
	defer here.Close()
	go a.Serve("b", there)
	if _, err := here.Write(request{kind: kindRead, set: Inputs, job: job, path: "data", length: 1000}.append(nil)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, answerHead+1000)
	if _, err := io.ReadFull(here, got); err != nil || !bytes.Equal(got[answerHead:], data[:1000]) {
		t.Errorf("who asks for no blocks gets %.40q, %v", got, err)
	}
}

// A block gives no more than it says, whatever its frame would.
func TestHostileBlocks(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb, short := z.EncodeAll(make([]byte, 64<<20), nil), z.EncodeAll(make([]byte, 1000), nil)
	block := func(plain, n int, b []byte) io.Reader {
		head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(plain)), uint32(n))
		return io.MultiReader(bytes.NewReader(head), bytes.NewReader(b))
	}
	for name, r := range map[string]io.Reader{
		"bomb": block(blockSize, len(bomb), bomb), "short": block(1001, len(short), short), "no frame": block(100, 10, random(10)),
		"large": block(blockSize+1, 10, short), "longer": block(10, 11, short), "empty": block(0, 0, nil),
	} {
		d := &blocks{r: r}
		if n, err := d.Read(make([]byte, 10)); err == nil || !strings.Contains(err.Error(), "does not speak") {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if cap(d.rest) > 2*blockSize {
			t.Errorf("%s: a block takes %d bytes", name, cap(d.rest))
		}
	}
	d := &blocks{r: block(1000, len(short), short)}
	if got, err := io.ReadAll(io.LimitReader(d, 1000)); err != nil || !bytes.Equal(got, make([]byte, 1000)) {
		t.Errorf("a good block gives %d bytes, %v", len(got), err)
	}
}
