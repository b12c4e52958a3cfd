package handover

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrHandedOver tells that the account's own side could not read a file: the rest of the
// answers is good.
var ErrHandedOver = errors.New("the account cannot hand it over")

// Receiver reads what the program sends.
type Receiver struct{ r *bufio.Reader }

// NewReceiver reads the greeting. What comes in its place is of another program, or another version.
func NewReceiver(r io.Reader) (*Receiver, error) {
	b := bufio.NewReaderSize(r, chunk)
	line := make([]byte, len(greeting))
	if n, err := io.ReadFull(b, line); err != nil || string(line) != greeting {
		return nil, fmt.Errorf("the program begins with %q and not with %q: %w", line[:n], greeting, errors.Join(err))
	}
	return &Receiver{b}, nil
}

// Next reads the answer to the next name. there is false if there is no such file. An error of
// the file alone wraps ErrHandedOver. The content ends with io.EOF only if
// it is whole.
func (r *Receiver) Next(write func(mode fs.FileMode, size int64, content io.Reader) error) (there bool, err error) {
	kind, err := r.r.ReadByte()
	if err != nil {
		return false, torn(err)
	}
	switch kind {
	case kindNone:
		return false, nil
	case kindFailed:
		return false, r.failed()
	case kindFile:
	default:
		return false, fmt.Errorf("the program answers with %q", kind)
	}
	var head [12]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return false, torn(err)
	}
	mode, size := fs.FileMode(binary.BigEndian.Uint32(head[:])).Perm(), int64(binary.BigEndian.Uint64(head[4:]))
	if size < 0 {
		return false, fmt.Errorf("the program sends a file of %d bytes", size)
	}
	content := &content{from: r}
	if err := write(mode, size, content); err != nil {
		return false, err
	}
	_, err = io.Copy(io.Discard, content)
	return err == nil, err
}

// failed is why the program could not read a file.
func (r *Receiver) failed() error {
	var length [2]byte
	if _, err := io.ReadFull(r.r, length[:]); err != nil {
		return torn(err)
	}
	text := make([]byte, min(binary.BigEndian.Uint16(length[:]), maxText))
	if _, err := io.ReadFull(r.r, text); err != nil {
		return torn(err)
	}
	return fmt.Errorf("%w: %q", ErrHandedOver, text)
}

func torn(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the program ended before its time: %w", err)
}

// content is one file's bytes, which end well only where the program says that they are all.
type content struct {
	from *Receiver
	left uint32
	err  error
}

func (c *content) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.from.r.Read(p[:min(int64(len(p)), int64(c.left))])
	c.left -= uint32(n)
	if err != nil {
		c.err = torn(err)
	}
	return n, c.err
}

// next reads how many bytes come, or how the file ends.
func (c *content) next() error {
	var length [4]byte
	if _, err := io.ReadFull(c.from.r, length[:]); err != nil {
		return torn(err)
	}
	if c.left = binary.BigEndian.Uint32(length[:]); c.left > 0 {
		return nil
	}
	switch kind, err := c.from.r.ReadByte(); {
	case err != nil:
		return torn(err)
	case kind == kindFailed:
		return c.from.failed()
	case kind != kindDone:
		return fmt.Errorf("the program ends a file with %q", kind)
	}
	return io.EOF
}
