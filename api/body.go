package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"gbroker/grid"
)

// pieceOfBody is by how much a body under way claims room: what has not come costs nobody
// anything.
const pieceOfBody = 64 << 10

// body is the JSON body of a request. What has come of it counts against what all bodies
// that are being read may have, and what those of one user may have.
type body struct {
	r    io.Reader
	take func(n int) bool
	held int // bytes of room
	read int
	full bool // there was no more room
}

var errNoRoom = fmt.Errorf("too many submissions at once, try again: %w", grid.ErrUnavailable)

func (b *body) Read(p []byte) (int, error) {
	if b.read == b.held {
		if !b.take(pieceOfBody) {
			b.full = true
			return 0, errNoRoom
		}
		b.held += pieceOfBody
	}
	n, err := b.r.Read(p[:min(len(p), b.held-b.read)])
	b.read += n
	return n, err
}

// decode gives a decoder of the JSON body of a request, of at most limit bytes, to read,
// which must take one value; nothing may follow it.
func (s *Server) decode(r *request, limit int64, read func(*json.Decoder) error) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &Fault{fmt.Sprintf("content type %.80q is not taken: send application/json", r.Header.Get("Content-Type")),
			"invalid", http.StatusUnsupportedMediaType}
	}
	if r.ContentLength < 0 {
		return &Fault{"a Content-Length is needed", "invalid", http.StatusLengthRequired}
	}
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	b := &body{r: http.MaxBytesReader(r.w, r.Body, r.ContentLength), take: func(n int) bool {
		return s.submissions.take(r.who.Name, n, r.who.Administrator)
	}}
	defer func() { s.submissions.give(r.who.Name, b.held) }()
	d := json.NewDecoder(b)
	d.DisallowUnknownFields()
	err := read(d)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			// The body is read: a deadline that fires from now on would cut off the answer.
			extend(r.rc.SetReadDeadline, 0)
			return nil
		}
		err = errors.New("it has more than one JSON value")
	}
	switch {
	case b.full:
		return errNoRoom
	case errors.Is(err, grid.ErrInvalid):
		return err
	}
	return fmt.Errorf("reading the request as JSON: %w: %w", err, grid.ErrInvalid)
}

// fields reads an object field by field into what the table has for the names: a pointer to the value, or a function
// that reads it. None may come twice, and no other.
func fields(d *json.Decoder, table map[string]any) error {
	if err := open(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("the field %.40q stands there twice", name)
		}
		seen[name] = true
		into, known := table[name]
		if !known {
			return fmt.Errorf("unknown field %.40q", name)
		}
		if read, is := into.(func() error); is {
			err = read()
		} else {
			err = d.Decode(into)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// readSubmission reads a submission field by field: the list of files is counted while it
// comes, for a list of empty ones takes eleven times the memory of its text.
func readSubmission(d *json.Decoder, sub *Submission) error {
	return fields(d, map[string]any{
		"key": &sub.Key, "document": &sub.Document, "name": &sub.Name, "queue_anyway": &sub.QueueAnyway, "rerunnable": &sub.Rerunnable,
		"credentials": &sub.Credentials, "lenient": &sub.Lenient, "reservation": &sub.Reservation, "guaranteed": &sub.Guaranteed,
		"include": func() (err error) { sub.Include, err = readFiles(d); return err },
		"files":   func() (err error) { sub.Files, err = readFiles(d); return err },
	})
}

func readFiles(d *json.Decoder) ([]File, error) {
	tooMany := fmt.Errorf("more than %d files are declared: put them into an archive, and unpack it in the job: %w", grid.MaxFiles, grid.ErrInvalid)
	return readList(d, grid.MaxFiles, tooMany, decodeInto[File])
}

func decodeInto[T any](d *json.Decoder, one *T) error { return d.Decode(one) }

// readList reads a list, of which no more than most are ever in memory.
func readList[T any](d *json.Decoder, most int, tooMany error, read func(*json.Decoder, *T) error) ([]T, error) {
	t, err := d.Token()
	if t == nil || err != nil { // null is none
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, errors.New("where a list belongs there is none")
	}
	var list []T
	for d.More() {
		if len(list) == most {
			return nil, tooMany
		}
		var one T
		if err := read(d, &one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	_, err = d.Token()
	return list, err
}

// open takes the beginning of an object or a list.
func open(d *json.Decoder, begin json.Delim) error {
	t, err := d.Token()
	if err == nil && t != begin {
		err = fmt.Errorf("it does not begin with %v", begin)
	}
	return err
}
