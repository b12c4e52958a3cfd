package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/outbound"
)

// notifier tells the users of this home of their jobs, at the addresses that they name. A webhook gets a POST of
// JSON, a [word]; any answer of 2xx is good. It goes where the site lets its users reach (`outbound`).
type notifier struct {
	client *http.Client
	name   func(grid.PeerID) string
}

// word is what a webhook gets.
type word struct {
	Job      grid.JobID `json:"job"`
	Name     string     `json:"name"`
	User     string     `json:"user"`
	Occasion string     `json:"occasion"` // begin, end or fail
	State    string     `json:"state"`
	Reason   string     `json:"reason"`
	Site     string     `json:"site"` // where it is, or ran
	ExitCode *int       `json:"exit_code"`
	At       api.Time   `json:"at"` // when that was
}

// errNoMail is final.
var errNoMail = fmt.Errorf("%w: this site sends no mail: give an https address", grid.ErrInvalid)

// sendLimit bounds the whole of one try.
const sendLimit = 30 * time.Second

func newNotifier(policy outbound.Policy, name func(grid.PeerID) string) *notifier {
	return &notifier{policy.Client(), name}
}

// Notify tries once. An error that wraps grid.ErrInvalid is final.
func (n *notifier) Notify(ctx context.Context, r *grid.Record, owed grid.Owed) error {
	if strings.HasPrefix(owed.To, "mailto:") {
		return errNoMail
	}
	w := word{
		Job: r.Job.ID, Name: r.Job.Name, User: r.Job.User.Name, Occasion: string(owed.When), State: r.State.String(),
		Reason: r.Why(), Site: n.name(r.Owner), At: api.Time(owed.At),
	}
	if r.HasExit {
		w.ExitCode = &r.ExitCode
	}
	body, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("writing the notice as JSON: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, owed.To, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := n.client.Do(q)
	if errors.Is(err, outbound.ErrRefused) {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<10) // so that the connection may serve again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %.100q", answer.Status)
	}
	return nil
}
