package torque

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// Maui is TORQUE whose jobs Maui schedules.
type Maui struct {
	*Client
	administrator string
	limits        external.Limits
	invent        func() string // an account's name that nobody has
}

var (
	_ external.Client   = (*Maui)(nil)
	_ external.Reserver = (*Maui)(nil)
)

// NewMaui makes a client of TORQUE with Maui.
func NewMaui(c Config) *Maui {
	return &Maui{Client: New(c), administrator: c.Administrator, invent: func() string { return "gb" + strings.ToLower(rand.Text()[:16]) }}
}

// slack covers that Maui counts a job's walltime from when it sees it run, one poll late.
const slack = 90 * grid.Second

// Traits are those of TORQUE with Maui.
func (m *Maui) Traits() external.Traits {
	t := m.Client.Traits()
	t.Slack, t.Early = slack, soon
	return t
}

// Submit hands a job over; it may be bound to a reservation, and is then charged to the account of that. One that is not
// there TORQUE would take, and the job would wait for ever.
func (m *Maui) Submit(ctx context.Context, o external.Order) (grid.LocalID, error) {
	if o.Reservation != "" {
		all, err := asked(ctx, m, parseAccess, "mdiag", "-r")
		if err != nil {
			return "", fmt.Errorf("submitting %.40s: %w", o.Tag, err)
		}
		who, is := all[o.Reservation]
		if !is {
			return "", fmt.Errorf("%w: submitting %.40s: Maui has no reservation %.60q", grid.ErrInvalid, o.Tag, o.Reservation)
		}
		o.Account = cmp.Or(who.account, o.Account)
	}
	return m.submit(ctx, o, true)
}

// Listing is that of TORQUE, in Maui's order, with Maui's reservations. What jobs there are TORQUE
// alone tells: Maui says "none" too when it cannot reach the server. While Maui does not run, nothing is started.
func (m *Maui) Listing(ctx context.Context) (external.Listing, error) {
	l, err := m.Client.Listing(ctx)
	if err != nil {
		return external.Listing{}, err
	}
	l.Stopped, l.Why = false, "" // Maui starts jobs whether the server asks for that or not
	order, err := asked(ctx, m, parseQueue, "showq")
	if errors.Is(err, errNoMaui) {
		l.Stopped, l.Why = true, fmt.Sprintf("its scheduler, Maui, does not run: %v", err)
		return l, nil
	}
	if err != nil {
		return external.Listing{}, err
	}
	if err := m.reasons(ctx, &l, order); err != nil {
		return external.Listing{}, err
	}
	arrange(l.Jobs, order)
	m.limits.Put(&l, m.now())
	if err := m.configure(ctx, &l); err != nil {
		return external.Listing{}, err
	}
	if l.Reservations, err = m.reservations(ctx, l.Nodes); err != nil {
		return external.Listing{}, err
	}
	orphaned(l.Jobs, l.Reservations)
	return l, nil
}

// reasons adds why Maui does not consider jobs that TORQUE would start, where there are such.
func (m *Maui) reasons(ctx context.Context, l *external.Listing, order map[string]place) error {
	if !slices.ContainsFunc(l.Jobs, func(j external.Job) bool { return j.State == external.Queued && order[short(j.Local)].blocked != "" }) {
		return nil
	}
	why, err := asked(ctx, m, parseBlocked, "showq", "-b")
	for id, text := range why {
		at, is := order[id]
		switch {
		case !is || at.blocked == "":
			continue
		case m.meet(text, m.now()): // it waits for jobs like any other, but those of its own user
			at.blocked = ""
		default:
			at.blocked += ": " + text
		}
		order[id] = at
	}
	return err
}

// orphaned marks the waiting jobs whose reservation is gone: Maui never starts them.
func orphaned(jobs []external.Job, list []external.Reservation) {
	for i := range jobs {
		j := &jobs[i]
		if j.State != external.Queued || j.Reservation == "" || slices.ContainsFunc(list, func(b external.Reservation) bool { return b.Native == j.Reservation }) {
			continue
		}
		j.State = external.Held
		j.Reason = strings.TrimSpace("its reservation " + j.Reservation + " is gone, so that Maui never starts it " + j.Reason)
	}
}

// configure takes Maui's policy, and what it starts, where it lets us see them; else the policy is the configured one.
func (m *Maui) configure(ctx context.Context, l *external.Listing) error {
	c, err := asked(ctx, m, parseConfig, "showconfig")
	switch {
	case errors.Is(err, grid.ErrForbidden):
		return nil
	case err != nil:
		return err
	}
	l.Policy, l.Shapes, l.Looks = c.policy, c.shapes(l.Shapes), c.looks
	return nil
}

// arrange puts the jobs that wait into Maui's order; those that it has not seen yet stay last, and those that it
// does not consider are held.
func arrange(jobs []external.Job, order map[string]place) {
	rank := func(j external.Job) int {
		at, is := order[short(j.Local)]
		if !is {
			return len(order)
		}
		return at.rank
	}
	for i := range jobs {
		j := &jobs[i]
		if at := order[short(j.Local)]; at.blocked != "" && j.State == external.Queued {
			j.State = external.Held
			j.Reason = strings.TrimSpace("Maui does not consider it (" + at.blocked + ") " + j.Reason)
		}
	}
	slices.SortStableFunc(jobs, func(a, b external.Job) int { return rank(a) - rank(b) })
}

// asked runs a command of Maui as its administrator, and reads what it prints.
func asked[T any](ctx context.Context, m *Maui, parse func(call string, text []byte) (T, error), name string, args ...string) (T, error) {
	var none T
	call := command.Call{Name: name, Args: args, As: m.administrator}
	r, err := m.runner.Run(ctx, call)
	if err != nil {
		return none, err
	}
	if r.Exit != 0 || strings.Contains(string(r.Stdout), "not authorized") {
		return none, m.unwilling(call, r)
	}
	return parse(call.String(), r.Stdout)
}

// refusals are Maui's words for requests that it will refuse again.
var refusals = []string{"cannot select", "no matches found", "invalid timeframe", "tasks/0 nodes available", "cannot determine nodelist", "Usage: "}

// errNoMaui is that nobody listens where Maui should.
var errNoMaui = fmt.Errorf("%w: nothing answers Maui's commands", grid.ErrUnavailable)

// unwilling is a command of Maui that failed; it ends with 1 whatever the reason.
func (m *Maui) unwilling(call command.Call, r command.Result) error {
	text := said(r)
	if strings.Contains(text, "not authorized") {
		who := m.administrator
		if who == "" {
			who = "the daemon's account"
		}
		return fmt.Errorf("%w: %w: %s: Maui does not obey %s: add it to ADMIN1 or ADMIN2 in maui.cfg, and restart Maui: %s",
			grid.ErrInvalid, grid.ErrForbidden, call, who, text)
	}
	kind := grid.ErrUnavailable
	if strings.Contains(text, "server may not be running") {
		kind = errNoMaui
	}
	if slices.ContainsFunc(refusals, func(word string) bool { return strings.Contains(text, word) }) {
		kind = grid.ErrInvalid
	}
	return fmt.Errorf("%w: %s ended with %d: %s", kind, call, r.Exit, text)
}
