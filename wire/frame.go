package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// prefix is the size of a frame's length.
const prefix = 4

// WriteFrame encodes m and writes it with its length, in one Write.
func WriteFrame(w io.Writer, m Message, needs ...string) error {
	body, err := Encode(m, needs...)
	if err != nil {
		return err
	}
	frame := make([]byte, prefix, prefix+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("write %v: %w", m.Kind(), err)
	}
	return nil
}

// ReadFrame reads and decodes the next frame. At the end of the stream, between
// frames, the error is io.EOF itself.
//
// After *UnknownKind, *UnsupportedFeature, *UnsupportedVersion and *Malformed the
// reader stands before the next frame, and [Complaint] makes the answer. Any other
// error ends the stream: close it.
//
// Memory grows with the bytes that arrive, not with what the length declares, and
// never beyond the limit of the kind.
func ReadFrame(r io.Reader) (Message, error) {
	var head [prefix]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read the length of a frame: %w", err)
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > MaxFrame || size < 0 {
		return nil, &TooLarge{Size: size, Limit: MaxFrame}
	}
	frame, err := readBody(r, size)
	if err != nil {
		return nil, err
	}
	return Decode(frame)
}

// readBody reads the body of a frame as far as its kind allows. The rest of a frame
// whose kind or version is not known is read and dropped.
func readBody(r io.Reader, size int) ([]byte, error) {
	start := make([]byte, min(size, headerSize))
	if err := readFull(r, start); err != nil {
		return nil, err
	}
	kind, _, err := header(start)
	if err == nil && !kind.Valid() {
		err = &UnknownKind{kind}
	}
	if err != nil {
		if _, lost := io.CopyN(io.Discard, r, int64(size-len(start))); lost != nil {
			return nil, fmt.Errorf("read a frame: %w", unexpected(lost))
		}
		return nil, err
	}
	if size > kind.Limit() {
		return nil, &TooLarge{kind, size, kind.Limit()}
	}
	if size <= small {
		frame := make([]byte, size)
		copy(frame, start)
		return frame, readFull(r, frame[len(start):])
	}
	var frame bytes.Buffer
	frame.Write(start)
	if _, err := io.CopyN(&frame, r, int64(size-len(start))); err != nil {
		return nil, fmt.Errorf("read %v: %w", kind, unexpected(err))
	}
	return frame.Bytes(), nil
}

func readFull(r io.Reader, b []byte) error {
	if _, err := io.ReadFull(r, b); err != nil {
		return fmt.Errorf("read a frame: %w", unexpected(err))
	}
	return nil
}

// unexpected tells an end within a frame from one between frames.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
