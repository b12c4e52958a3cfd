package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"gbroker/grid"
)

func TestFramesInARow(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	for _, m := range examples() {
		if err := WriteFrame(&stream, m); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.OneByteReader(&stream)
	for _, want := range examples() {
		got, err := ReadFrame(r)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: %+v, %v", want.Kind(), got, err)
		}
	}
	if _, err := ReadFrame(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func framed(body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return append(b, body...)
}

// What is not understood is passed over; the stream goes on behind it.
func TestStreamGoesOn(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "\x80", "\x94\x01\x01\x90\x80", "\x94\x07\x01",
		"\x94\x01\xcc\xc8\x90\xc6\x00\x10\x00\x00" + strings.Repeat("x", 1<<20),
		"\x94\x01\x11\x91\xa3new\x80",
	} {
		stream := bytes.NewBuffer(framed(bad))
		if err := WriteFrame(stream, Closed{Job: aJob}); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFrame(stream)
		if _, ok := Complaint(err); !ok {
			t.Errorf("%.20q: %v cannot be answered", bad, err)
		}
		if m, err := ReadFrame(stream); err != nil || m != (Closed{Job: aJob}) {
			t.Errorf("after %.20q: %v, %v", bad, m, err)
		}
	}
}

func TestTooLargeEndsTheStream(t *testing.T) {
	t.Parallel()
	for _, frame := range [][]byte{
		{0xff, 0xff, 0xff, 0xff},
		binary.BigEndian.AppendUint32(nil, MaxFrame+1),
		append(binary.BigEndian.AppendUint32(nil, small+1), ("\x94\x01\x09\x90" + strings.Repeat("x", 32))...),
	} {
		var large *TooLarge
		_, err := ReadFrame(bytes.NewReader(frame))
		if !errors.As(err, &large) {
			t.Errorf("%.8x: %v", frame, err)
		}
		if _, ok := Complaint(err); ok {
			t.Error("it can be answered")
		}
	}
}

func TestCutFrames(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	big := Report{Job: aJob, State: grid.Completed, Outputs: grid.Manifest{
		{Path: "a", Size: 3000 * grid.RangeSize, Ranges: make([]grid.Hash, 3000)},
	}}
	if err := WriteFrame(&stream, big); err != nil {
		t.Fatal(err)
	}
	whole := stream.Bytes()
	for _, n := range []int{1, 3, 4, 5, 10, 23, 24, 100, len(whole) - 1} {
		if _, err := ReadFrame(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// A length that is declared and never sent costs no memory.
func TestMemoryFollowsWhatArrives(t *testing.T) {
	head := append(binary.BigEndian.AppendUint32(nil, MaxFrame), ("\x94\x01\x04\x90\x81" + strings.Repeat("x", 32))...)
	const times = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := ReadFrame(bytes.NewReader(head)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / times; n > 64<<10 {
		t.Errorf("%d bytes are allocated for a frame of 37", n)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteFrameErrors(t *testing.T) {
	t.Parallel()
	if err := WriteFrame(failing{}, Closed{Job: aJob}); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "write Closed") {
		t.Error(err)
	}
	if err := WriteFrame(io.Discard, Closed{}); err == nil {
		t.Error("a message without a job is written")
	}
}
