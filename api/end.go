package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gbroker/grid"
)

// Ending is an administrator's word on what became of a job that this site has.
type Ending struct {
	As     string `json:"as"`      // "dead": nothing of it runs or will; "lost": that is not known
	DryRun bool   `json:"dry_run"` // only tell whether it may be ended so
}

// The words of Ending.As.
const (
	AsDead = "dead"
	AsLost = "lost"
)

// maxEnding bounds an Ending, in bytes.
const maxEnding = 1 << 10

func (s administration) end(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	var e Ending
	if err := s.decode(r, maxEnding, func(d *json.Decoder) error { return d.Decode(&e) }); err != nil {
		return err
	}
	if e.As != AsDead && e.As != AsLost {
		return fmt.Errorf("a job is ended as %q or %q, not %.20q: %w", AsDead, AsLost, e.As, grid.ErrInvalid)
	}
	record, err := s.service.End(r.Context(), r.who, id, e)
	if err != nil {
		return fmt.Errorf("ending job %s: %w", id, err)
	}
	s.answer(r.w, http.StatusOK, newStatus(&record, s.Server.service.SiteName))
	return nil
}

// End says what became of a job of which its broker knows nothing any more, and gives the job as
// it is then.
func (c *Client) End(ctx context.Context, id grid.JobID, e Ending) (Status, error) {
	var status Status
	body, err := json.Marshal(e)
	if err != nil {
		return status, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPost, jobPath(id)+"/end", body, &status, c.config.Answer)
	return status, err
}
