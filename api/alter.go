package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Alteration is what a job is to be otherwise; what is left out, or null, stays as it is.
type Alteration struct {
	Held      *bool    `json:"held,omitempty"`
	NotBefore *Time    `json:"not_before,omitempty"`
	Deadline  *Time    `json:"deadline,omitempty"`
	Priority  *int     `json:"priority,omitempty"`
	WalltimeS *float64 `json:"walltime_s,omitempty"`
	Processes *int     `json:"processes,omitempty"`
	Queue     *string  `json:"queue,omitempty"`
}

// Resubmission hands an ended job in again, as a new one.
type Resubmission struct {
	Key string `json:"key"` // as that of a Submission
}

// maxAlteration bounds an Alteration, and a Resubmission, in bytes.
const maxAlteration = 4 << 10

// alteration is a in the words of grid.
func (a *Alteration) alteration() (to grid.Alteration, err error) {
	instant := func(t *Time) *grid.Tick {
		if t == nil {
			return nil
		}
		at := grid.Tick(*t)
		return &at
	}
	to = grid.Alteration{Held: a.Held, NotBefore: instant(a.NotBefore), Deadline: instant(a.Deadline), Priority: a.Priority, Processes: a.Processes}
	if a.WalltimeS != nil {
		if !(*a.WalltimeS > 0) || *a.WalltimeS > grid.MaxWalltime.Seconds() {
			return to, fmt.Errorf("a walltime of %v s: more than 0, at most %.0f s: %w", *a.WalltimeS, grid.MaxWalltime.Seconds(), grid.ErrInvalid)
		}
		walltime := max(1, grid.FromSeconds(*a.WalltimeS))
		to.Walltime = &walltime
	}
	if a.Queue != nil {
		queue := grid.QueueName(*a.Queue)
		if err := grid.CheckName(*a.Queue); *a.Queue != "" && err != nil {
			return to, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
		to.Queue = &queue
	}
	return to, nil
}

func (s *Server) alter(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	var a Alteration
	if err := s.decode(r, maxAlteration, func(d *json.Decoder) error { return d.Decode(&a) }); err != nil {
		return err
	}
	to, err := a.alteration()
	if err != nil {
		return err
	}
	return s.untilConfirmed(r, func(ctx context.Context) (grid.Record, bool, error) { return s.service.Alter(ctx, r.who, id, to) })
}

func (s *Server) resubmit(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	var a Resubmission
	if err := s.decode(r, maxAlteration, func(d *json.Decoder) error { return d.Decode(&a) }); err != nil {
		return err
	}
	if err := checkKey(a.Key); err != nil {
		return err
	}
	record, err := s.service.Resubmit(r.Context(), r.who, id, a.Key)
	if err != nil {
		return err
	}
	r.w.Header().Set("Location", jobPath(record.Job.ID))
	s.answer(r.w, http.StatusCreated, newStatus(&record, s.service.SiteName))
	return nil
}

// Alter changes a job that waits, or the deadline of one that runs.
func (c *Client) Alter(ctx context.Context, id grid.JobID, to Alteration) (Confirmation, error) {
	var done Confirmation
	body, err := json.Marshal(to)
	if err != nil {
		return done, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPost, jobPath(id)+"/alter", body, &done, c.config.Answer+defaultLimits().Cancel)
	return done, err
}

// Resubmit hands an ended job in again, with its files. Handed in again under the same key it is the same job.
func (c *Client) Resubmit(ctx context.Context, id grid.JobID, key string) (Status, error) {
	return resend[Status](ctx, c, jobPath(id)+"/resubmit", Resubmission{key})
}
