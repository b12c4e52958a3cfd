package replay

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gbroker/grid"
)

const (
	fields      = 18
	longestLine = 64 << 10 // bytes
	mostJobs    = 1 << 24
	longest     = 1 << 40 // seconds, and bounds any other number
	longestSum  = 1 << 50 // seconds: the last submit time and all run times or limits
)

// MostProcs bounds the processors of a machine.
const MostProcs = 1 << 30

// fieldNames are those of the format.
var fieldNames = [fields]string{
	"job number", "submit time", "wait time", "run time", "processors", "average CPU time", "memory", "requested processors",
	"requested time", "requested memory", "status", "user", "group", "application", "queue", "partition", "preceding job", "think time",
}

// The fields that are used, from 0.
const (
	fieldID        = 0
	fieldSubmit    = 1
	fieldRun       = 3
	fieldProcs     = 4
	fieldReqProcs  = 7
	fieldReqTime   = 8
	fieldUser      = 11
	fieldGroup     = 12
	fieldApp       = 13
	fieldPartition = 15
)

// used are those that must be whole numbers; others may have decimals.
const used = 1<<fieldID | 1<<fieldSubmit | 1<<fieldRun | 1<<fieldProcs | 1<<fieldReqProcs | 1<<fieldReqTime |
	1<<fieldUser | 1<<fieldGroup | 1<<fieldApp | 1<<fieldPartition

// LogError is what is wrong with a log, and where. It is a grid.ErrInvalid.
type LogError struct {
	Line   int // from 1; 0 is the whole log
	Reason string
}

func (e *LogError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// Is tells the kind of the error.
func (e *LogError) Is(target error) bool { return target == grid.ErrInvalid }

func bad(line int, format string, args ...any) error {
	return &LogError{line, fmt.Sprintf(format, args...)}
}

// record is a line of the log: the numbers of its used fields.
type record [fields]int64

// scanner reads a log line by line.
type scanner struct {
	in       *bufio.Reader
	line     int
	maxProcs int64 // of the header; 0 is not said
}

// newScanner looks whether the log is compressed.
func newScanner(r io.Reader) (*scanner, error) {
	s := &scanner{in: bufio.NewReaderSize(r, longestLine)}
	if magic, err := s.in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(s.in)
		if err != nil {
			return nil, s.failed(err)
		}
		s.in = bufio.NewReaderSize(z, longestLine)
	}
	return s, nil
}

// failed is the error of a read: of the log where it is badly compressed, with the
// line up to which it can be read.
func (s *scanner) failed(err error) error {
	line := max(s.line, 1)
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad(line, "the gzip file is cut short")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return bad(line, "the gzip file is damaged: %v", err)
	}
	return fmt.Errorf("reading the log: %w", err)
}

// next reads up to the next job; io.EOF is the end.
func (s *scanner) next(r *record) error {
	for {
		text, err := s.in.ReadSlice('\n')
		if len(text) > 0 || err == nil {
			s.line++
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return bad(s.line, "the line is longer than %d bytes", longestLine)
		case err == io.EOF && len(text) == 0:
			return io.EOF
		case err != nil && err != io.EOF:
			return s.failed(err)
		}
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
		case text[0] == ';':
			if err := s.comment(string(text)); err != nil {
				return err
			}
		default:
			return s.parse(text, r)
		}
	}
}

// comment looks for the size of the machine.
func (s *scanner) comment(text string) error {
	value, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(text, ";")), "MaxProcs:")
	if !ok {
		return nil
	}
	words := strings.Fields(value)
	if len(words) == 0 {
		return bad(s.line, "MaxProcs is empty")
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || n < 1 || n > MostProcs {
		return bad(s.line, "MaxProcs: %.40q is not a number from 1 to %d", words[0], MostProcs)
	}
	s.maxProcs = n
	return nil
}

func (s *scanner) parse(text []byte, r *record) error {
	n := 0
	for len(text) > 0 {
		end := 0
		for end < len(text) && text[end] != ' ' && text[end] != '\t' {
			end++
		}
		if n == fields {
			return bad(s.line, "more than %d fields", fields)
		}
		v, err := number(text[:end], used>>n&1 == 1)
		if err != nil {
			return bad(s.line, "field %d (%s): %.40q %v", n+1, fieldNames[n], text[:end], err)
		}
		r[n] = v
		n++
		text = bytes.TrimLeft(text[end:], " \t")
	}
	if n < fields {
		return bad(s.line, "%d fields, not %d", n, fields)
	}
	return nil
}

// Why a field is no number that can be used.
var (
	errNoNumber = errors.New("is not a number")
	errTooLarge = errors.New("is too large")
	errNegative = errors.New("is negative; only -1, unknown, may be")
)

// number reads a field. One that is not used may have decimals and be negative.
func number(text []byte, whole bool) (v int64, err error) {
	digits := text
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if !whole {
		if point := bytes.IndexByte(digits, '.'); point >= 0 {
			if _, err := number(append([]byte("0"), digits[point+1:]...), true); err == errNoNumber {
				return 0, err
			}
			digits = digits[:point]
		}
	}
	if len(digits) == 0 {
		return 0, errNoNumber
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNoNumber
		}
		if v = min(v*10+int64(c-'0'), longest+1); v > longest {
			err = errTooLarge
		}
	}
	switch {
	case err != nil:
		return 0, err
	case negative && whole && v != 1:
		return 0, errNegative
	case negative:
		return -v, nil
	}
	return v, nil
}
