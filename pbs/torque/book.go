package torque

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// looks is how often reservations are asked for that change between two commands.
const looks = 3

// Bookings lists all reservations that are no job's.
func (m *Maui) Bookings(ctx context.Context) ([]external.Booking, error) {
	nodes, err := query(ctx, m.Client, parseNodes, "pbsnodes", "-x")
	if err != nil {
		return nil, err
	}
	return m.bookings(ctx, nodes)
}

// bookings joins showres, which has times and sizes, and showres -n, which has nodes.
func (m *Maui) bookings(ctx context.Context, nodes []plan.Node) ([]external.Booking, error) {
	var err error
	for range looks {
		var rows []summary
		var on []held
		if rows, err = asked(ctx, m, parseReservations(m.instant()), "showres"); err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, nil
		}
		if on, err = asked(ctx, m, parseHeld, "showres", "-n"); err != nil {
			return nil, err
		}
		var list []external.Booking
		if list, err = joined(rows, on, nodes); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
}

// joined gives each reservation its nodes, and the processors on each where they are not whole.
func joined(rows []summary, on []held, nodes []plan.Node) ([]external.Booking, error) {
	slices.SortStableFunc(on, func(a, b held) int { return compare(a.native, b.native) })
	size := make(map[grid.NodeName]int, len(nodes))
	for _, n := range nodes {
		size[n.Name] = n.Cores
	}
	list := make([]external.Booking, 0, len(rows))
	for _, row := range rows {
		b, all := row.booking, 0
		from, _ := slices.BinarySearchFunc(on, b.Native, func(h held, native string) int { return compare(h.native, native) })
		for _, h := range on[from:] {
			if h.native != b.Native {
				break
			}
			b.Nodes = append(b.Nodes, h.node)
			all += size[h.node]
		}
		if len(b.Nodes) != row.nodes {
			return nil, fmt.Errorf("the reservation %s has %d nodes in one list and %d in the other", b.Native, row.nodes, len(b.Nodes))
		}
		if row.cores < all {
			b.Cores = spread(row.cores, b.Nodes, size)
		}
		list = append(list, b)
	}
	return list, nil
}

// spread puts processors on nodes in their order: Maui does not tell how they lie.
func spread(cores int, nodes []grid.NodeName, size map[grid.NodeName]int) []int {
	list := make([]int, len(nodes))
	for i := range list { // each has one at least
		list[i] = min(1, size[nodes[i]])
		cores -= list[i]
	}
	for i := range list {
		more := max(min(size[nodes[i]]-list[i], cores), 0)
		list[i] += more
		cores -= more
	}
	return list
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Book reserves whole nodes. Maui would let them overlap what others have reserved, and reserves even
// while the server is down: both are asked about before and after.
func (m *Maui) Book(ctx context.Context, b external.Booking) (string, error) {
	args, err := m.setres(b)
	if err != nil {
		return "", fmt.Errorf("%w: reserving %.40s: %w", grid.ErrInvalid, b.ID, err)
	}
	nodes, err := query(ctx, m.Client, parseNodes, "pbsnodes", "-x")
	if err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	if err := m.free(ctx, b, nodes, ""); err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	done, err := asked(ctx, m, parseMade, "setres", args...)
	if err != nil {
		return "", err
	}
	want := slices.Sorted(slices.Values(b.Nodes))
	if !slices.Equal(done.nodes, want) {
		err = fmt.Errorf("%w: Maui reserved %v where %v were asked for", grid.ErrInvalid, done.nodes, want)
	} else {
		err = m.free(ctx, b, nodes, done.native)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("reserving %s: %w", b.ID, err), m.Unbook(ctx, done.native))
	}
	return done.native, nil
}

// free tells why the nodes of b cannot be had for it: they are not there or down, or others have reserved them.
func (m *Maui) free(ctx context.Context, b external.Booking, nodes []plan.Node, own string) error {
	for _, name := range b.Nodes {
		i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.Name == name })
		if i < 0 || nodes[i].Down {
			return fmt.Errorf("%w: the node %s is down, or there is none of that name", grid.ErrInvalid, name)
		}
	}
	list, err := m.bookings(ctx, nodes)
	if err != nil {
		return err
	}
	if own != "" && !slices.ContainsFunc(list, func(o external.Booking) bool { return o.Native == own }) {
		return fmt.Errorf("%w: Maui says that it made the reservation %s, but does not list it", grid.ErrUnavailable, own)
	}
	if o, is := overlap(list, b, own); is {
		return fmt.Errorf("%w: the reservation %s lies on the same nodes from %v to %v", grid.ErrInvalid, o.Native, o.Start.Time(), o.End.Time())
	}
	return nil
}

// setres is the command that makes b. Times are relative, as Maui's dates have no zone; spans are H:MM:SS.
func (m *Maui) setres(b external.Booking) ([]string, error) {
	if err := errors.Join(checkOurID(b.ID), checkWord(b.User)); err != nil {
		return nil, err
	}
	where, err := expression(b.Nodes)
	if err != nil {
		return nil, err
	}
	now := m.instant()
	// whole seconds: begun no later than asked for
	start := max(b.Start-now, 0) / grid.Second * grid.Second
	length := b.End - max(b.Start, now)
	if length < grid.Second || length > grid.MaxWalltime*2 || start > grid.MaxWalltime*2 {
		return nil, fmt.Errorf("it would last from %v to %v", b.Start.Time(), b.End.Time())
	}
	return []string{"-u", b.User, "-n", ourName + b.ID, "-s", "+" + clock(start), "-d", clock(length), where}, nil
}

// Rebook is not possible: Maui cannot change a reservation.
func (m *Maui) Rebook(_ context.Context, b external.Booking) error {
	return fmt.Errorf("%w: Maui cannot change the reservation %s: release it, and make another", grid.ErrInvalid, b.Native)
}

// Unbook releases a reservation; one that is not there is no error.
func (m *Maui) Unbook(ctx context.Context, native string) error {
	if err := checkWord(native); err != nil {
		return fmt.Errorf("%w: releasing a reservation: %w", grid.ErrInvalid, err)
	}
	_, err := asked(ctx, m, parseReleased(native), "releaseres", native)
	return err
}
