package api

import (
	"fmt"
	"net/http"
)

func (s hook) notify(r *request) error {
	if err := s.service.Notify(r.Context()); err != nil {
		return fmt.Errorf("looking at the batch system: %w", err)
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}
