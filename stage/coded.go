package stage

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"gbroker/grid"
)

// Answers go in blocks, where both sides understand that: each with its length, the length that it has on the way, and its bytes, which are
// one frame of zstd if these differ. Whether it pays is measured on the blocks before: it does where sending what is saved would take
// three times as long as compressing. Hashes and ranges are of the plain bytes.

const (
	blocksPath = "blocks" // of the request by which a client asks for blocks; see doc.go
	blockSize  = 128 << 10
	blockHead  = 8
	leastBlock = 512 // bytes; smaller ones go as they are
	tryAgain   = grid.RangeSize / blockSize
	leastWorth = 3       // times of sending for one of compressing, as where the way is no narrower all ends are short of processors
	leastGain  = 0.1     // of the bytes
	remembered = 4 << 20 // bytes by which a rate is known: older ones count ever less
)

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(blockSize), zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(true))
})

// decoder never makes more than a block of what it is given.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(blockSize))
})

// measured is a rate: bytes in a time, and how many of them were left.
type measured struct {
	bytes, left float64
	took        time.Duration
}

func (m *measured) add(bytes, left int, took time.Duration) {
	m.bytes, m.left, m.took = m.bytes+float64(bytes), m.left+float64(left), m.took+took
	if m.bytes > remembered {
		m.bytes, m.left, m.took = m.bytes/2, m.left/2, m.took/2
	}
}

// coder sends the blocks of one stream.
type coder struct {
	out     []byte
	way     measured // bytes sent
	shorter measured // bytes compressed
	since   int      // blocks that went as they are
}

// pays tells that the next block should be compressed.
func (c *coder) pays() bool {
	if c.shorter.bytes == 0 || c.since >= tryAgain {
		return true
	}
	gain := 1 - c.shorter.left/c.shorter.bytes
	return gain > leastGain && gain*c.way.took.Seconds()*c.shorter.bytes > leastWorth*c.way.bytes*c.shorter.took.Seconds()
}

// block is b with its head, compressed if that pays; b begins after room for what comes before it.
func (c *coder) block(b []byte, before int) ([]byte, error) {
	head := before + blockHead
	plain := len(b) - head
	out := b
	if plain >= leastBlock && c.pays() {
		e, err := encoder()
		if err != nil {
			return nil, err
		}
		start := time.Now()
		short := e.EncodeAll(b[head:], append(c.out[:0], b[:head]...))
		c.shorter.add(plain, len(short)-head, time.Since(start))
		c.out, c.since = short, 0
		if float64(len(short)-head) < (1-leastGain)*float64(plain) {
			out = short
		}
	} else {
		c.since++
	}
	binary.BigEndian.PutUint32(out[before:], uint32(plain))
	binary.BigEndian.PutUint32(out[before+4:], uint32(len(out)-head))
	return out, nil
}

// send writes the answer head and length bytes of f in blocks; saved is by how much shorter they were.
func (c *coder) send(f io.ReaderAt, offset, length int64, buf []byte, pace *pacer) (saved int64, err error) {
	putAnswer(buf, statusDone, int(length))
	for have := answerHead; length > 0; have = 0 {
		n := min(blockSize, length)
		b := buf[:have+blockHead+int(n)]
		if _, err := f.ReadAt(b[have+blockHead:], offset); err != nil {
			return saved, fmt.Errorf("read at %d: %w", offset, noEOF(err)) // the length is out already
		}
		out, err := c.block(b, have)
		if err != nil {
			return saved, fmt.Errorf("compress at %d: %w", offset, err)
		}
		start := time.Now()
		if err := pace.write(out); err != nil {
			return saved, err
		}
		c.way.add(len(out), 0, time.Since(start))
		saved += int64(len(b) - len(out))
		offset, length = offset+n, length-n
	}
	return saved, nil
}

// blocks reads the plain bytes of an answer that comes in blocks.
type blocks struct {
	r       io.Reader
	in, out []byte
	rest    []byte // of the open block
}

func (d *blocks) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *blocks) next() error {
	var head [blockHead]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		return err
	}
	plain, n := int(binary.BigEndian.Uint32(head[:])), int(binary.BigEndian.Uint32(head[4:]))
	if plain < 1 || plain > blockSize || n > plain {
		return fmt.Errorf("%w: a block of %d bytes, %d on the way", errProtocol, plain, n)
	}
	if d.in == nil {
		d.in, d.out = make([]byte, blockSize), make([]byte, 0, blockSize)
	}
	if _, err := readFull(d.r, d.in[:n]); err != nil {
		return err
	}
	if d.rest = d.in[:n]; n == plain {
		return nil
	}
	z, err := decoder()
	if err == nil {
		d.rest, err = z.DecodeAll(d.in[:n], d.out[:0])
	}
	if err != nil {
		return fmt.Errorf("%w: a block of %d bytes: %w", errProtocol, plain, err)
	}
	if len(d.rest) != plain {
		return fmt.Errorf("%w: a block of %d bytes gives %d", errProtocol, plain, len(d.rest))
	}
	return nil
}
