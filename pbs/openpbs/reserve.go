package openpbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// prefix begins the names of our reservations; the identifier follows.
const prefix = "gbroker-"

// idle is how long nothing may run in a reservation before the server deletes it: of one
// whose job never comes, or has ended while the broker was away.
const idle = 10 * grid.Minute

// decision is how many seconds the scheduler has to decide about a reservation.
const decision = 10

// Reservations lists what keeps nodes, and what of ours is there at all.
func (c *Client) Reservations(ctx context.Context) ([]external.Reservation, error) {
	list, err := c.rstat(ctx)
	var l external.Listing
	there(&l, list)
	return l.Reservations, err
}

// there takes reservations into a listing; those of others that cannot be read are left out.
func there(l *external.Listing, list []reservation) {
	for _, b := range list {
		switch {
		case b.unread != nil:
			l.LeaveOut("reservation "+b.Native, b.unread)
		case b.phase == over || b.phase == asked && b.ID == "":
		default:
			l.Reservations = append(l.Reservations, b.Reservation)
		}
	}
}

// rstat reads reservations; ids that there are not are missing, with exit code 0. Of those
// that are asked for by id, and of ours, each must be understood.
func (c *Client) rstat(ctx context.Context, ids ...string) (list []reservation, err error) {
	call := command.Call{Name: "pbs_rstat", Args: append([]string{"-F"}, ids...)}
	err = c.ask(ctx, call, func(text []byte) (err error) {
		list, err = c.words.reservations(text)
		return err
	})
	for i := range list {
		id, ours := strings.CutPrefix(list[i].name, prefix)
		if ours = ours && list[i].owner == c.Account && checkID(id) == nil; ours {
			list[i].ID = id
		}
		if list[i].unread != nil && err == nil && (ours || len(ids) > 0) {
			err = fmt.Errorf("%w: reservation %s: %w", grid.ErrUnavailable, list[i].Native, list[i].unread)
		}
	}
	return list, err
}

func checkID(id string) error {
	if id == "" || len(id) > 24 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("%.40q is no identifier of a reservation: 1 to 24 of a-z 0-9", id)
	}
	return nil
}

// MakeReservation reserves whole nodes, or the cores asked for, and reads back what is there. On an error
// nothing is left behind, unless it wraps grid.ErrUnavailable.
func (c *Client) MakeReservation(ctx context.Context, b external.Reservation) (string, error) {
	if err := checkReservation(b); err != nil {
		return "", fmt.Errorf("%w: reserving: %w", grid.ErrInvalid, err)
	}
	cores, err := c.coresOf(ctx, b)
	if err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	place := "scatter"
	if b.Cores == nil {
		place = "scatter:excl"
	}
	call := command.Call{Name: "pbs_rsub", As: c.Operator, Limit: 3 * decision * time.Second, Args: []string{
		"-I", strconv.Itoa(-decision), // negative: what is not decided by then is deleted
		"-N", prefix + b.ID,
		"-R", instant(b.Start), "-E", instant(roundUp(b.End)),
		"-l", "select=" + chunksOn(b.Nodes, cores), "-l", "place=" + place,
		"-W", "delete_idle_time=" + walltime(idle),
	}}
	if b.User != "" && b.User != c.Account {
		call.Args = append(call.Args, "-U", b.User)
	}
	r, err := c.run(ctx, call)
	if err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	id, err := decided(call, r)
	if err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	if err := c.verify(ctx, id, b, cores); err != nil {
		return "", errors.Join(fmt.Errorf("reserving %s: %w", b.ID, err), c.rdel(ctx, id))
	}
	return id, nil
}

func checkReservation(b external.Reservation) error {
	unique := map[grid.NodeName]bool{}
	for _, n := range b.Nodes {
		unique[n] = true
	}
	switch {
	case len(b.Nodes) == 0 || len(unique) < len(b.Nodes) || len(b.Nodes) > 10000 || b.Cores != nil && len(b.Cores) != len(b.Nodes):
		return fmt.Errorf("%d nodes, %d different, %d numbers of cores", len(b.Nodes), len(unique), len(b.Cores))
	case b.Start <= 0 || b.End <= b.Start || b.End-b.Start > 5*grid.MaxWalltime:
		return fmt.Errorf("from %v to %v", b.Start.Time(), b.End.Time())
	case b.User != "" && !isWord(b.User):
		return fmt.Errorf("the user %.40q", b.User)
	}
	return checkID(b.ID)
}

// coresOf is what is to be reserved on each node: each must be there and up.
func (c *Client) coresOf(ctx context.Context, b external.Reservation) ([]int, error) {
	all, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	cores := slices.Clone(b.Cores)
	for _, name := range b.Nodes {
		at := slices.IndexFunc(all, func(n node) bool { return n.Name == name })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%w: there is no node %.60q", grid.ErrInvalid, name)
		case all[at].Down:
			return nil, fmt.Errorf("%w: node %s is down", grid.ErrInvalid, name)
		case b.Cores == nil:
			cores = append(cores, all[at].Cores)
		}
	}
	return cores, nil
}

// chunksOn asks for one chunk on each of the nodes.
func chunksOn(nodes []grid.NodeName, cores []int) string {
	var parts []string
	for i, n := range nodes {
		parts = append(parts, fmt.Sprintf("1:ncpus=%d:vnode=%s", cores[i], n))
	}
	return strings.Join(parts, "+")
}

// roundUp is the next whole second.
func roundUp(t grid.Tick) grid.Tick { return (t + grid.Second - 1) / grid.Second * grid.Second }

// decided reads "R43.pbs1 DENIED": the exit code is 0 whatever was decided.
func decided(call command.Call, r command.Result) (string, error) {
	line := strings.TrimPrefix(strings.TrimSuffix(string(r.Stdout), "\n"), "pbs_ralter: ")
	id, word, _ := strings.Cut(line, " ")
	if !isReservationID(id) {
		return "", command.Unreadable(call.String(), "", r.Stdout, fmt.Errorf("%.80q is no reservation", id))
	}
	switch word {
	case "CONFIRMED":
		return id, nil
	case "DENIED":
		return "", fmt.Errorf("%w: OpenPBS denies %s: other jobs or reservations have the nodes then, or one is down", grid.ErrInvalid, id)
	case "UNCONFIRMED", "delete, wait period expired", "ALTER REQUESTED":
		return "", fmt.Errorf("%w: OpenPBS has not decided about %s within %d s (%s): does its scheduler run?", grid.ErrUnavailable, id, decision, word)
	}
	return "", command.Unreadable(call.String(), "", r.Stdout, fmt.Errorf("%.80q is no decision", word))
}

// verify reads a reservation back.
func (c *Client) verify(ctx context.Context, id string, b external.Reservation, cores []int) error {
	list, err := c.rstat(ctx, id)
	if err != nil {
		return err
	}
	for _, is := range list {
		if is.Native == id {
			return compare(is, b, cores)
		}
	}
	return fmt.Errorf("%w: %s was confirmed and is not there", grid.ErrUnavailable, id)
}

// compare says where a reservation is not what was asked for. cores nil is any number.
func compare(is reservation, b external.Reservation, cores []int) error {
	switch {
	case is.phase != kept:
		return fmt.Errorf("%w: %s is %s", grid.ErrUnavailable, is.Native, is.state)
	case is.Start != b.Start/grid.Second*grid.Second || is.End != roundUp(b.End):
		return fmt.Errorf("%w: %s is from %v to %v (do the commands run with TZ=UTC?)", grid.ErrInvalid, is.Native, is.Start.Time(), is.End.Time())
	case !sameNodes(is.Nodes, b.Nodes):
		return fmt.Errorf("%w: %s is on %v", grid.ErrInvalid, is.Native, is.Nodes)
	case b.Cores == nil && is.Cores != nil:
		return fmt.Errorf("%w: %s leaves its nodes to others too", grid.ErrInvalid, is.Native)
	case b.User != "" && is.User != b.User:
		return fmt.Errorf("%w: %s is for %s", grid.ErrInvalid, is.Native, is.User)
	}
	for i, n := range b.Nodes {
		if cores != nil && is.cores[slices.Index(is.Nodes, n)] != cores[i] {
			return fmt.Errorf("%w: %s has %v cores on %v", grid.ErrInvalid, is.Native, is.cores, is.Nodes)
		}
	}
	return nil
}

func sameNodes(a, b []grid.NodeName) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// ChangeReservation changes the times of a reservation. Its nodes OpenPBS cannot change.
func (c *Client) ChangeReservation(ctx context.Context, b external.Reservation) error {
	err := checkReservation(b)
	if !isReservationID(b.Native) {
		err = fmt.Errorf("%.80q is no reservation, such as R42.server", b.Native)
	}
	if err != nil {
		return fmt.Errorf("%w: changing a reservation: %w", grid.ErrInvalid, err)
	}
	list, err := c.rstat(ctx, b.Native)
	if err != nil {
		return fmt.Errorf("changing %s: %w", b.Native, err)
	}
	at := slices.IndexFunc(list, func(is reservation) bool { return is.Native == b.Native })
	switch {
	case at < 0:
		return fmt.Errorf("%w: changing %s: %w", grid.ErrInvalid, b.Native, grid.ErrNotFound)
	case !sameNodes(list[at].Nodes, b.Nodes):
		return fmt.Errorf("%w: %s is on %v: OpenPBS cannot change its nodes", grid.ErrInvalid, b.Native, list[at].Nodes)
	case compare(list[at], b, nil) == nil:
		return nil
	}
	call := command.Call{Name: "pbs_ralter", As: c.Operator, Limit: 3 * decision * time.Second, Args: []string{"-I", strconv.Itoa(decision)}}
	if list[at].Start != b.Start/grid.Second*grid.Second { // of one that runs only the end can be changed
		call.Args = append(call.Args, "-R", instant(b.Start))
	}
	call.Args = append(call.Args, "-E", instant(roundUp(b.End)), b.Native)
	r, err := c.run(ctx, call)
	if err == nil {
		_, err = decided(call, r)
	}
	if err == nil {
		err = c.verify(ctx, b.Native, b, nil)
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", b.Native, err)
	}
	return nil
}

// EndReservation ends a reservation, and with it what waits in it. What runs in it would be killed:
// as long as something does, the reservation is left to end by itself when idle.
func (c *Client) EndReservation(ctx context.Context, native string) error {
	if !isReservationID(native) {
		return fmt.Errorf("%w: %.80q is no reservation, such as R42.server", grid.ErrInvalid, native)
	}
	list, err := c.rstat(ctx, native)
	if err != nil {
		return fmt.Errorf("ending %s: %w", native, err)
	}
	if len(list) == 0 {
		return nil
	}
	busy := false
	err = c.ask(ctx, command.Call{Name: "qstat", Args: []string{"-f", "-F", "json"}}, func(text []byte) error {
		_, jobs, err := c.words.jobs(text)
		busy = slices.ContainsFunc(jobs, func(j job) bool { return j.unread != nil || j.Reservation == native && j.State == external.Running })
		return err
	})
	if err != nil {
		return fmt.Errorf("ending %s: %w", native, err)
	}
	if busy {
		return nil
	}
	return c.rdel(ctx, native)
}

// rdel deletes a reservation, if it is there.
func (c *Client) rdel(ctx context.Context, native string) error {
	_, err := c.run(ctx, command.Call{Name: "pbs_rdel", Args: []string{native}, As: c.Operator}, exitUnknownResv)
	if err != nil {
		return fmt.Errorf("ending %s: %w", native, err)
	}
	return nil
}
