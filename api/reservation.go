package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"gbroker/grid"
)

// NewReservation is what a user wants reserved: whole nodes that cover Demand, for Length, within an interval.
type NewReservation struct {
	Site        grid.SiteName
	Demand      grid.Demand
	Queue       grid.QueueName
	From, Until grid.Tick
	Length      grid.Tick
	Early       bool
	Bandwidth   int64 // instead of a demand: bytes per second between the site and the broker's
}

// ReservationRequest is its form. Nodes is how many whole nodes, of at least so many cores each.
type ReservationRequest struct {
	Site  grid.SiteName  `json:"site"` // "" is the broker's own
	Nodes int            `json:"nodes"`
	Cores int            `json:"cores"`
	Queue grid.QueueName `json:"queue"`
	From  Time           `json:"from"`
	Until Time           `json:"until"`    // null: From and Length
	Span  float64        `json:"length_s"` // seconds
	Early bool           `json:"early"`
	// Bandwidth is bytes per second between that site and the broker's, instead of nodes.
	Bandwidth int64 `json:"bandwidth,omitempty"`
}

// HeldReservation is a reservation as its holder sees it.
type HeldReservation struct {
	ID     grid.ReservationID `json:"id"`
	Site   grid.SiteName      `json:"site"`
	User   string             `json:"user"`
	Home   grid.SiteName      `json:"home"`
	Kind   string             `json:"kind"`
	State  string             `json:"state"`
	Reason string             `json:"reason"`
	Job    *grid.JobID        `json:"job"`
	Nodes  []grid.NodeName    `json:"nodes"`
	Cores  int                `json:"cores"`
	Start  Time               `json:"start"`
	End    Time               `json:"end"`
	Until  Time               `json:"until"` // of a tentative one its limit, later the end of its lease; null is none
	Price  float64            `json:"price"`
	// Bandwidth is that of a delivery, in bytes per second.
	Bandwidth int64 `json:"bandwidth,omitempty"`
}

func (q *ReservationRequest) reservation() (n NewReservation, err error) {
	length := grid.FromSeconds(q.Span) / grid.Second * grid.Second
	n = NewReservation{Site: q.Site, Queue: q.Queue, From: wholeSecond(grid.Tick(q.From)), Until: wholeSecond(grid.Tick(q.Until)), Length: length, Early: q.Early}
	if n.Until == 0 {
		n.Until = n.From + length
	}
	cores := max(1, q.Cores)
	n.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: q.Nodes, Processes: 1, Cores: cores}}, Exclusive: true, DistinctNodes: true}
	if q.Bandwidth != 0 {
		n.Bandwidth, n.Demand = q.Bandwidth, grid.Demand{}
	}
	switch {
	case q.Bandwidth != 0 && (q.Nodes != 0 || q.Cores != 0 || q.Queue != "" || q.Early):
		err = fmt.Errorf("bandwidth: nodes are reserved by a reservation of their own")
	case q.Bandwidth < 0 || q.Bandwidth > grid.MaxReservedRate:
		err = fmt.Errorf("bandwidth: %d: from 1 to %d bytes per second", q.Bandwidth, grid.MaxReservedRate)
	case q.Bandwidth == 0 && q.Nodes < 1 || q.Nodes > grid.MaxReservedNodes:
		err = fmt.Errorf("nodes: %d: from 1 to %d", q.Nodes, grid.MaxReservedNodes)
	case cores > grid.MaxProcesses:
		err = fmt.Errorf("cores: %d: at most %d", cores, grid.MaxProcesses)
	case length < grid.Second || length > grid.MaxReservation:
		err = fmt.Errorf("length_s: %v: from a second to %v", q.Span, grid.MaxReservation.Duration())
	case n.From <= 0 || n.Until < n.From+length:
		err = fmt.Errorf("from, until: it does not fit between %s and %s", n.From.Stamp(), n.Until.Stamp())
	}
	if q.Site != "" && err == nil {
		err = grid.CheckName(string(q.Site))
	}
	if q.Queue != "" && err == nil {
		err = grid.CheckName(string(q.Queue))
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return n, err
}

func wholeSecond(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }

func (s *Server) heldReservation(r *grid.Reservation) HeldReservation {
	h := HeldReservation{
		ID: r.ID, Site: grid.SiteName(s.service.SiteName(r.Site)), User: r.Holder.Name, Home: grid.SiteName(s.service.SiteName(r.Holder.Home)),
		Kind: r.Kind.String(), State: r.State.String(), Reason: r.Reason, Nodes: r.Nodes, Cores: r.Cores,
		Start: Time(r.Start), End: Time(r.End), Until: Time(r.Until), Price: r.Price, Bandwidth: r.Bandwidth,
	}
	if h.Nodes == nil {
		h.Nodes = []grid.NodeName{}
	}
	if r.For != "" {
		h.Job = &r.For
	}
	return h
}

func (s *Server) reserve(r *request) error {
	var q ReservationRequest
	if err := s.decode(r, maxReservationRequest, func(d *json.Decoder) error { return d.Decode(&q) }); err != nil {
		return err
	}
	n, err := q.reservation()
	if err != nil {
		return err
	}
	made, err := s.service.Reserve(r.Context(), r.who, n)
	if err != nil {
		return fmt.Errorf("reserving: %w", err)
	}
	s.answer(r.w, http.StatusCreated, s.heldReservation(&made))
	return nil
}

// maxReservationRequest bounds the body, in bytes.
const maxReservationRequest = 4 << 10

func (s *Server) reservations(r *request) error {
	all, err := s.service.Reservations(r.Context(), r.who)
	if err != nil {
		return fmt.Errorf("listing the reservations: %w", err)
	}
	list := make([]HeldReservation, len(all))
	for i := range all {
		list[i] = s.heldReservation(&all[i])
	}
	s.answer(r.w, http.StatusOK, list)
	return nil
}

func (s *Server) releaseReservation(r *request) error {
	id := r.PathValue("id")
	if err := grid.CheckReservationID(id); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	was, err := s.service.Release(r.Context(), r.who, grid.ReservationID(id))
	if err != nil {
		return fmt.Errorf("releasing reservation %s: %w", id, err)
	}
	s.answer(r.w, http.StatusOK, s.heldReservation(&was))
	return nil
}

// Reserve has nodes of a site reserved.
func (c *Client) Reserve(ctx context.Context, q ReservationRequest) (h HeldReservation, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return h, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPost, "/v1/reservations", body, &h, c.config.Answer)
	return h, err
}

// Reservations lists those of the user; for administrators all that the broker knows of.
func (c *Client) Reservations(ctx context.Context) (list []HeldReservation, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/reservations", nil, &list, c.config.Answer)
	return list, err
}

// ReleaseReservation gives one up.
func (c *Client) ReleaseReservation(ctx context.Context, id grid.ReservationID) (h HeldReservation, err error) {
	err = c.do(ctx, http.MethodDelete, "/v1/reservations/"+url.PathEscape(string(id)), nil, &h, c.config.Answer)
	return h, err
}
