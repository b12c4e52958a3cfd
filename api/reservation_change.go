package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"gbroker/grid"
)

// NewPlace is what a reservation shall have; what is 0 stays.
type NewPlace struct {
	Start, Length grid.Tick
	Nodes         int
}

// PlaceRequest is its form.
type PlaceRequest struct {
	At    Time    `json:"at"`       // null: its start stays
	Span  float64 `json:"length_s"` // seconds; 0: its length stays
	Nodes int     `json:"nodes"`    // 0: its nodes stay
}

func (q *PlaceRequest) place() (p NewPlace, err error) {
	p = NewPlace{Start: wholeSecond(grid.Tick(q.At)), Length: grid.FromSeconds(q.Span) / grid.Second * grid.Second, Nodes: q.Nodes}
	switch {
	case p == NewPlace{}:
		err = fmt.Errorf("at, length_s, nodes: nothing is to change")
	case p.Start < 0:
		err = fmt.Errorf("at: it is before all time")
	case q.Span != 0 && (p.Length < grid.Second || p.Length > grid.MaxReservation):
		err = fmt.Errorf("length_s: %v: from a second to %v", q.Span, grid.MaxReservation.Duration())
	case q.Nodes < 0 || q.Nodes > grid.MaxReservedNodes:
		err = fmt.Errorf("nodes: %d: from 1 to %d", q.Nodes, grid.MaxReservedNodes)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return p, err
}

func (s *Server) changeReservation(r *request) error {
	id := r.PathValue("id")
	if err := grid.CheckReservationID(id); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	var q PlaceRequest
	if err := s.decode(r, maxReservationRequest, func(d *json.Decoder) error { return d.Decode(&q) }); err != nil {
		return err
	}
	to, err := q.place()
	if err != nil {
		return err
	}
	now, err := s.service.ChangeReservation(r.Context(), r.who, grid.ReservationID(id), to)
	if err != nil {
		return fmt.Errorf("changing reservation %s: %w", id, err)
	}
	s.answer(r.w, http.StatusOK, s.heldReservation(&now))
	return nil
}

// ChangeReservation moves one, makes it shorter or longer, or gives it more nodes or fewer; refused it stays as it was.
func (c *Client) ChangeReservation(ctx context.Context, id grid.ReservationID, q PlaceRequest) (h HeldReservation, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return h, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPatch, "/v1/reservations/"+url.PathEscape(string(id)), body, &h, c.config.Answer)
	return h, err
}
