package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Fault is an error as it travels.
type Fault struct {
	Text   string `json:"error"` // a sentence for people
	Kind   string `json:"kind"`
	Status int    `json:"-"` // of HTTP
}

func (f *Fault) Error() string { return f.Text }

// Unwrap is the kind of package grid; a fault without one has none.
func (f *Fault) Unwrap() error {
	for _, k := range kinds {
		if k.name == f.Kind {
			return k.err
		}
	}
	return nil
}

// kinds pairs each kind of error with its name and HTTP status.
var kinds = []struct {
	err    error
	name   string
	status int
}{
	{grid.ErrInvalid, "invalid", http.StatusBadRequest},
	{grid.ErrNotFound, "not_found", http.StatusNotFound},
	{grid.ErrForbidden, "forbidden", http.StatusForbidden},
	{grid.ErrNotYet, "not_yet", http.StatusConflict},
	{grid.ErrUnavailable, "unavailable", http.StatusServiceUnavailable},
}

// faultOf is what is told to the client about err.
func faultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &Fault{err.Error(), k.name, k.status}
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &Fault{fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit), "invalid", http.StatusRequestEntityTooLarge}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Fault{"the broker could not answer in time, try again: " + err.Error(), "unavailable", http.StatusServiceUnavailable}
	}
	return &Fault{"a fault of the broker, its log says more: " + err.Error(), "internal", http.StatusInternalServerError}
}
