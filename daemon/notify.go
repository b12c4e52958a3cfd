package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/mail"
	"gbroker/internal/outbound"
)

// notifier tells the users of this home of their jobs, at the addresses that they name. A webhook gets a POST of
// JSON, a [word]; any answer of 2xx is good. It goes where the site lets its users reach (`outbound`). Mail goes
// through an outbox.
//
// Few webhooks are told at once, fewer of one host, and few of one user: so a host that takes its time, or a user who names
// many such, leaves places for others.
type notifier struct {
	client *http.Client
	users  *limiter // of each user so many are told now,
	hosts  *limiter // of each host,
	all    *limiter // and of all
	mail   *outbox  // nil where none is sent
	to     []string // domains to which mail goes; nil is any
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

// Limits of one try at a webhook, and of how many are told at once.
const (
	sendLimit = 30 * time.Second
	maxHooks  = 16
	ofUser    = 4
	ofHost    = 3
	maxHeld   = 2048 // of one user, with those that wait: what is more is tried again later
)

func newNotifier(cfg Config, name func(grid.PeerID) string) (*notifier, error) {
	n := &notifier{
		client: outbound.Policy{Allow: cfg.Outbound}.Client(), to: cfg.Mail.To, name: name,
		users: newLimiter(ofUser, maxHeld), hosts: newLimiter(ofHost, 0), all: newLimiter(maxHooks, 0),
	}
	sender, err := cfg.sender()
	if sender != nil {
		n.mail = newOutbox(sender, cfg.Site, cfg.Mail.PerHour)
	}
	return n, err
}

// Notify tries once. An error that wraps grid.ErrInvalid is final.
func (n *notifier) Notify(ctx context.Context, r *grid.Record, owed grid.Owed) error {
	w := word{
		Job: r.Job.ID, Name: r.Job.Name, User: r.Job.User.Name, Occasion: string(owed.When), State: r.State.String(),
		Reason: r.Why(), Site: n.name(r.Owner), At: api.Time(owed.At),
	}
	if r.HasExit {
		w.ExitCode = &r.ExitCode
	}
	address := owed.Mail()
	if address == "" {
		return n.post(ctx, owed.To, w)
	}
	if err := n.unsent(address); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	err := n.mail.send(ctx, address, w)
	if errors.Is(err, mail.ErrRefused) {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return err
}

// unsent says why no mail goes to an address; nil where it does.
func (n *notifier) unsent(address string) error {
	if n.mail == nil {
		return errors.New("this site sends no mail")
	}
	_, host, _ := strings.Cut(strings.ToLower(address), "@")
	below := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	if n.to != nil && !slices.ContainsFunc(n.to, below) {
		return fmt.Errorf("this site sends mail only to %s", strings.Join(n.to, ", "))
	}
	return nil
}

// Unsent says of which notices of a job nothing will come here, and why.
func (n *notifier) Unsent(terms *grid.Terms) (list []string) {
	for _, notice := range terms.Notify {
		address := notice.Mail()
		if address == "" {
			continue
		}
		if err := n.unsent(address); err != nil {
			if text := fmt.Sprintf("no mail will go to %s: %v (`gclient watch` and `gclient wait` tell of jobs too)", address, err); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// post tells a webhook.
func (n *notifier) post(ctx context.Context, to string, w word) error {
	body, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("writing the notice as JSON: %w", err)
	}
	q, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	for _, place := range []struct {
		in  *limiter
		key string
	}{{n.users, w.User}, {n.hosts, strings.ToLower(q.URL.Hostname())}, {n.all, ""}} {
		leave, err := place.in.enter(ctx, place.key)
		if err != nil {
			return fmt.Errorf("waiting to tell %s: %w", q.URL.Host, err)
		}
		defer leave()
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	q.Header.Set("Content-Type", "application/json")
	answer, err := n.client.Do(q.WithContext(ctx))
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
