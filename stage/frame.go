package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"gbroker/grid"
)

// Limits of the protocol.
const (
	maxJobName   = 128
	maxReason    = 1024
	maxListing   = 16 << 20
	maxUnderWay  = 64 // requests of one stream
	requestHead  = 18
	answerHead   = 5
	kindRead     = 1
	kindList     = 2
	statusDone   = 0
	statusDenied = 3
)

// reasons are the kinds of grid by their status.
var reasons = [...]error{
	1: grid.ErrInvalid, 2: grid.ErrNotFound, statusDenied: grid.ErrForbidden, 4: grid.ErrNotYet, 5: grid.ErrUnavailable,
}

// request is one request of a client.
type request struct {
	kind   byte
	set    Set
	job    grid.JobID
	path   string
	offset int64
	length int64
}

func (q request) append(b []byte) []byte {
	b = append(b, q.kind, byte(q.set))
	b = binary.BigEndian.AppendUint16(b, uint16(len(q.job)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(q.path)))
	b = binary.BigEndian.AppendUint64(b, uint64(q.offset))
	b = binary.BigEndian.AppendUint32(b, uint32(q.length))
	return append(append(b, q.job...), q.path...)
}

var errProtocol = errors.New("the stream does not speak " + Protocol)

// readRequest reads one request and checks what can be checked without knowing the job.
func readRequest(r io.Reader) (request, error) {
	var head [requestHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return request{}, err
	}
	q := request{kind: head[0], set: Set(head[1])}
	job, name := int(binary.BigEndian.Uint16(head[2:])), int(binary.BigEndian.Uint16(head[4:]))
	offset, length := binary.BigEndian.Uint64(head[6:]), binary.BigEndian.Uint32(head[14:])
	if job > maxJobName || name > grid.MaxPath || offset > 1<<62 || length > grid.RangeSize {
		return request{}, fmt.Errorf("%w: a request is beyond its limits", errProtocol)
	}
	if q.kind != kindRead && q.kind != kindList || q.set < Inputs || q.set > lent {
		return request{}, fmt.Errorf("%w: request kind %d for set %d", errProtocol, q.kind, q.set)
	}
	text := make([]byte, job+name)
	if _, err := io.ReadFull(r, text); err != nil {
		return request{}, err
	}
	q.job, q.path = grid.JobID(text[:job]), string(text[job:])
	q.offset, q.length = int64(offset), int64(length)
	if _, err := grid.ParseJobID(string(q.job)); err != nil {
		return request{}, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if q.kind == kindRead && (q.set != lent && CheckPath(q.path) != nil || q.length == 0) {
		return request{}, fmt.Errorf("%w: a read of %.40q, %d bytes", errProtocol, q.path, q.length)
	}
	return q, nil
}

func putAnswer(b []byte, status byte, length int) {
	b[0] = status
	binary.BigEndian.PutUint32(b[1:], uint32(length))
}

// refusal is the answer that says err.
func refusal(err error) []byte {
	status := byte(5)
	for s, kind := range reasons {
		if kind != nil && errors.Is(err, kind) {
			status = byte(s)
			break
		}
	}
	text := err.Error()
	text = text[:min(len(text), maxReason)]
	b := make([]byte, answerHead, answerHead+len(text))
	putAnswer(b, status, len(text))
	return append(b, text...)
}

// readAnswer reads the head of one answer, at most limit bytes long, and the whole
// of a refusal, which it returns as an error of type *refused.
func readAnswer(r io.Reader, limit int64) (length int64, err error) {
	var head [answerHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, noEOF(err)
	}
	length = int64(binary.BigEndian.Uint32(head[1:]))
	status := head[0]
	if status == statusDone {
		if length > limit {
			return 0, fmt.Errorf("%w: an answer of %d bytes where %d were asked", errProtocol, length, limit)
		}
		return length, nil
	}
	if int(status) >= len(reasons) || length > maxReason {
		return 0, fmt.Errorf("%w: status %d with %d bytes", errProtocol, status, length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, noEOF(err)
	}
	return 0, &refused{kind: reasons[status], text: string(text)}
}

// refused is a request the server did not fulfil.
type refused struct {
	kind error
	text string
}

func (e *refused) Error() string { return fmt.Sprintf("the other side says: %q", e.text) }
func (e *refused) Unwrap() error { return e.kind }

// final reports that asking again would not help.
func (e *refused) final() bool {
	return e.kind != grid.ErrNotYet && e.kind != grid.ErrUnavailable
}

// noEOF makes an end of the stream in the middle of an exchange an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readFull fills b.
func readFull(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	return n, noEOF(err)
}
