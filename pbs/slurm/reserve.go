package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// vanishes is how long a reservation that has begun may be without a job: one whose
// broker has died releases its nodes by itself.
const vanishes = "PURGE_COMP=00:05:00"

// unknownAccount is said by a Slurm that enforces associations: it lets only accounts of its database in.
const unknownAccount = "Invalid account"

// accountOf is the account of a reservation, whose jobs alone it takes.
func (c *Client) accountOf(ctx context.Context, native string) (string, error) {
	all, _, err := c.reservations(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(b external.Reservation) bool { return b.Native == native })
	if at < 0 {
		return "", fmt.Errorf("%w: Slurm has no reservation %.60q", grid.ErrInvalid, native)
	}
	return all[at].Account, nil
}

// Reservations lists the reservations of all.
func (c *Client) Reservations(ctx context.Context) ([]external.Reservation, error) {
	reservations, _, err := c.reservations(ctx)
	return reservations, err
}

func (c *Client) reservations(ctx context.Context) ([]external.Reservation, []node, error) {
	var nodes []node
	var reservations []reservation
	err := c.read(ctx, func(text []byte) (err error) { nodes, err = parseNodes(text); return err }, "sinfo", "--all", "--json")
	if err != nil {
		return nil, nil, err
	}
	err = c.read(ctx, func(text []byte) (err error) {
		reservations, err = parseReservations(text, c.config.Prefix)
		return err
	}, "scontrol", "--oneliner", "--all", "show", "reservation")
	if err != nil {
		return nil, nil, err
	}
	index := make(map[string]int, len(nodes))
	for i, n := range nodes {
		index[string(n.Name)] = i
	}
	return whole(reservations, nodes, index), nodes, nil
}

// MakeReservation makes a reservation and reads it back. What Slurm would take although it promises
// nothing is refused here: nodes that are down, and an overlap with one that allows it.
func (c *Client) MakeReservation(ctx context.Context, b external.Reservation) (string, error) {
	if err := checkReservation(b); err != nil {
		return "", err
	}
	if b.User == "" {
		me, err := c.self()
		if err != nil {
			return "", err
		}
		b.User = me
	}
	before, nodes, err := c.reservations(ctx)
	if err != nil {
		return "", fmt.Errorf("reserve %s: %w", b.ID, err)
	}
	if err := free(b, before, nodes); err != nil {
		return "", fmt.Errorf("reserve %s: %w", b.ID, err)
	}
	b.Native = c.config.Prefix + b.ID
	start := "StartTime=now"
	if b.Start > grid.InstantOf(time.Now()) {
		start = "StartTime=" + printInstant(b.Start)
	}
	b.Account = c.invent()
	args := []string{"create", "reservation", "ReservationName=" + b.Native, start, "EndTime=" + printInstant(roundUp(b.End)),
		"Nodes=" + names(b.Nodes), "Users=" + b.User, "Flags=" + vanishes}
	err = c.operate(ctx, append(args, "Accounts="+b.Account)...)
	if err != nil && strings.Contains(err.Error(), unknownAccount) {
		b.Account = ""
		err = c.operate(ctx, args...)
	}
	if err != nil {
		return "", fmt.Errorf("reserve %s: %w", b.ID, err)
	}
	if err := c.confirm(ctx, b); err != nil {
		return "", errors.Join(fmt.Errorf("reserve %s: %w", b.ID, err), c.EndReservation(ctx, b.Native))
	}
	return b.Native, nil
}

// confirm reads a reservation back.
func (c *Client) confirm(ctx context.Context, want external.Reservation) error {
	all, _, err := c.reservations(ctx)
	if err != nil {
		return err
	}
	for _, got := range all {
		if got.Native != want.Native {
			continue
		}
		late := got.Start > max(want.Start, grid.InstantOf(time.Now()))
		if !sameNodes(got.Nodes, want.Nodes) || got.Cores != nil || late || got.End < want.End || got.User != want.User || got.Account != want.Account {
			return fmt.Errorf("%w: Slurm has made of it %d nodes from %s to %s for %s (account %s)", grid.ErrInvalid,
				len(got.Nodes), printInstant(got.Start), printInstant(got.End), got.User, got.Account)
		}
		return free(got, all, nil)
	}
	return fmt.Errorf("%w: Slurm said that it was made, and does not show it", grid.ErrUnavailable)
}

// free tells whether no other reservation is there meanwhile, and no node is down.
func free(b external.Reservation, others []external.Reservation, nodes []node) error {
	for _, o := range others {
		if o.Native == b.Native || o.Start >= b.End || b.Start >= o.End {
			continue
		}
		for _, name := range o.Nodes {
			if slices.Contains(b.Nodes, name) {
				return fmt.Errorf("%w: node %s is in reservation %s meanwhile", grid.ErrInvalid, name, o.Native)
			}
		}
	}
	if nodes == nil {
		return nil
	}
	for _, name := range b.Nodes {
		at := slices.IndexFunc(nodes, func(n node) bool { return n.Name == name })
		if at < 0 {
			return fmt.Errorf("%w: Slurm has no node %.60q", grid.ErrInvalid, name)
		}
		if nodes[at].Down {
			return fmt.Errorf("%w: node %s is down", grid.ErrInvalid, name)
		}
	}
	return nil
}

// ChangeReservation changes a reservation. All of it happens in one command, or nothing.
func (c *Client) ChangeReservation(ctx context.Context, b external.Reservation) error {
	if err := checkReservation(b); err != nil {
		return err
	}
	all, nodes, err := c.reservations(ctx)
	if err != nil {
		return fmt.Errorf("change reservation %s: %w", b.ID, err)
	}
	at := slices.IndexFunc(all, func(o external.Reservation) bool { return o.Native == b.Native })
	if at < 0 || all[at].ID != b.ID || b.User != "" && b.User != all[at].User {
		return fmt.Errorf("change reservation %s: %w: there is no %s of ours", b.ID, grid.ErrInvalid, b.Native)
	}
	if err := free(b, all, nodes); err != nil {
		return fmt.Errorf("change reservation %s: %w", b.ID, err)
	}
	var changes []string
	// One that has begun keeps its start.
	if floor := b.Start / grid.Second * grid.Second; floor != all[at].Start {
		changes = append(changes, "StartTime="+printInstant(b.Start))
	}
	if end := roundUp(b.End); end != all[at].End {
		changes = append(changes, "EndTime="+printInstant(end))
	}
	if !sameNodes(b.Nodes, all[at].Nodes) {
		changes = append(changes, "Nodes="+names(b.Nodes))
	}
	if len(changes) == 0 {
		return nil
	}
	if err := c.operate(ctx, append([]string{"update", "ReservationName=" + b.Native}, changes...)...); err != nil {
		return fmt.Errorf("change reservation %s: %w", b.ID, err)
	}
	b.User, b.Account = all[at].User, all[at].Account
	if err := c.confirm(ctx, b); err != nil {
		return fmt.Errorf("change reservation %s: %w", b.ID, err)
	}
	return nil
}

// EndReservation deletes a reservation. Slurm keeps one whose jobs wait or run, so that is made to
// go with the last of them.
func (c *Client) EndReservation(ctx context.Context, native string) error {
	if id, ours := strings.CutPrefix(native, c.config.Prefix); !ours || checkID(id) != nil {
		return fmt.Errorf("release reservation %.60q: %w: it is none of ours", native, grid.ErrInvalid)
	}
	call := command.Call{Name: "scontrol", Args: []string{"delete", "ReservationName=" + native}, As: c.config.Operator}
	got, err := c.run(ctx, call)
	if err != nil || got.Exit == 0 {
		return err
	}
	said := string(got.Stderr)
	switch {
	case strings.Contains(said, "Requested reservation is invalid"): // there is none
		return nil
	case strings.Contains(said, "Requested reservation is in use"):
		return c.operate(ctx, "update", "ReservationName="+native, "Flags=PURGE_COMP=00:00:01")
	}
	return operatorsOnly(refused(call, got))
}

// operate runs scontrol as who may make reservations.
func (c *Client) operate(ctx context.Context, args ...string) error {
	call := command.Call{Name: "scontrol", Args: args, As: c.config.Operator}
	got, err := c.run(ctx, call)
	if err != nil {
		return err
	}
	if got.Exit != 0 {
		return operatorsOnly(refused(call, got))
	}
	return nil
}

// operatorsOnly says what "Invalid user id" means here.
func operatorsOnly(err error) error {
	if strings.Contains(err.Error(), "Invalid user id") || strings.Contains(err.Error(), "Access/permission denied") {
		return fmt.Errorf("%w (only root and SlurmUser make reservations, and only for accounts that exist)", err)
	}
	return err
}

func checkReservation(b external.Reservation) error {
	if err := checkID(b.ID); err != nil {
		return err
	}
	switch {
	case len(b.Nodes) == 0 || len(b.Nodes) > maxNodes:
		return fmt.Errorf("%w: reservation %s is of %d nodes", grid.ErrInvalid, b.ID, len(b.Nodes))
	case b.Start <= 0 || b.End <= b.Start || b.End.Time().Year() > 2100:
		return fmt.Errorf("%w: reservation %s is from %d to %d", grid.ErrInvalid, b.ID, b.Start, b.End)
	case b.Cores != nil:
		return fmt.Errorf("%w: reservation %s is not of whole nodes", grid.ErrInvalid, b.ID)
	case b.User != "" && !word(b.User, "._-"):
		return fmt.Errorf("%w: reservation %s is for %.40q", grid.ErrInvalid, b.ID, b.User)
	}
	seen := map[grid.NodeName]bool{}
	for _, name := range b.Nodes {
		if !word(string(name), "._-") || seen[name] {
			return fmt.Errorf("%w: reservation %s names the node %.60q, or names it twice", grid.ErrInvalid, b.ID, name)
		}
		seen[name] = true
	}
	return nil
}

func sameNodes(a, b []grid.NodeName) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func names(nodes []grid.NodeName) string {
	words := make([]string, len(nodes))
	for i, n := range nodes {
		words[i] = string(n)
	}
	return strings.Join(words, ",")
}

func roundUp(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }
