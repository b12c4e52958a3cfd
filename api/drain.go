package api

import (
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Drained answers a drain or undrain.
type Drained struct {
	Draining bool `json:"draining"`
}

// Handoff is a job on its way to or from a neighbour.
type Handoff struct {
	Job       grid.JobID `json:"job"`
	State     string     `json:"state"`
	Incoming  bool       `json:"incoming"`  // from the neighbour, else to it
	Committed bool       `json:"committed"` // it is the neighbour's, which has not confirmed that
	// There is a job of this home that the neighbour has, Here one of its home that is here: these are
	// on no way, and out of reach without the neighbour.
	There bool `json:"there"`
	Here  bool `json:"here"`
}

// Moves tells that it is on its way.
func (h Handoff) Moves() bool { return !h.There && !h.Here }

func (s administration) drain(on bool) func(*request) error {
	return func(r *request) error {
		if err := s.service.Drain(r.Context(), on); err != nil {
			return fmt.Errorf("draining the site: %w", err)
		}
		s.answer(r.w, http.StatusOK, Drained{on})
		return nil
	}
}

func (s administration) handoffs(r *request) error {
	name := r.PathValue("name")
	if err := grid.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	list, err := s.service.Handoffs(r.Context(), grid.SiteName(name))
	if err != nil {
		return fmt.Errorf("listing the handoffs: %w", err)
	}
	s.answer(r.w, http.StatusOK, list)
	return nil
}
