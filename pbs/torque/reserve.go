package torque

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// Reservations lists all reservations that are no job's; of ours it also tells the user, which Maui shows to its
// administrators alone.
func (m *Maui) Reservations(ctx context.Context) ([]external.Reservation, error) {
	nodes, err := query(ctx, m.Client, parseNodes, "pbsnodes", "-x")
	if err != nil {
		return nil, err
	}
	list, err := m.reservations(ctx, nodes)
	if err != nil || !slices.ContainsFunc(list, func(b external.Reservation) bool { return b.ID != "" }) {
		return list, err
	}
	all, err := asked(ctx, m, parseAccess, "mdiag", "-r")
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].User = all[list[i].Native].user
	}
	return list, nil
}

// reservations joins showres -n, which has nodes and times and shows all to everybody, with showres, which has
// processors and shows everybody his own: what it lacks is taken to be of whole nodes.
func (m *Maui) reservations(ctx context.Context, nodes []plan.Node) ([]external.Reservation, error) {
	on, err := asked(ctx, m, parseHeld(m.instant()), "showres", "-n")
	if err != nil || len(on) == 0 {
		return nil, err
	}
	sizes, err := asked(ctx, m, parseSizes, "showres")
	if err != nil {
		return nil, err
	}
	return joined(on, sizes, nodes), nil
}

// joined makes reservations of rows, and tells the processors of those that are not of whole nodes.
func joined(on []held, sizes []size, nodes []plan.Node) []external.Reservation {
	cores := make(map[grid.NodeName]int, len(nodes))
	for _, n := range nodes {
		cores[n.Name] = n.Cores
	}
	slices.SortStableFunc(on, func(a, b held) int { return cmp.Compare(a.native, b.native) })
	var list []external.Reservation
	for _, h := range on {
		if last := len(list) - 1; last >= 0 && list[last].Native == h.native {
			list[last].Nodes = append(list[last].Nodes, h.node)
			continue
		}
		list = append(list, external.Reservation{Native: h.native, ID: ourID(h.native), Nodes: []grid.NodeName{h.node}, Start: h.start, End: h.end})
	}
	for _, s := range sizes {
		i, is := slices.BinarySearchFunc(list, s.native, func(b external.Reservation, native string) int { return cmp.Compare(b.Native, native) })
		if !is || len(list[i].Nodes) != s.nodes {
			continue
		}
		all := 0
		for _, n := range list[i].Nodes {
			all += cores[n]
		}
		if s.cores < all {
			list[i].Cores = spread(s.cores, list[i].Nodes, cores)
		}
	}
	return list
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

// MakeReservation reserves whole nodes. Maui would let them overlap what others have reserved, and reserves even
// while the server is down: both are asked about before and after.
func (m *Maui) MakeReservation(ctx context.Context, b external.Reservation) (string, error) {
	nodes, err := query(ctx, m.Client, parseNodes, "pbsnodes", "-x")
	if err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	if err := m.free(ctx, b, nodes, ""); err != nil {
		return "", fmt.Errorf("reserving %s: %w", b.ID, err)
	}
	account := m.invent()
	args, err := m.setres(b, account) // only now: one that begins at once is given as a span from this instant
	if err != nil {
		return "", fmt.Errorf("%w: reserving %.40s: %w", grid.ErrInvalid, b.ID, err)
	}
	done, err := asked(ctx, m, parseMade, "setres", args...)
	if err != nil {
		return "", err
	}
	want := slices.Sorted(slices.Values(b.Nodes))
	if !slices.Equal(done.nodes, want) {
		err = fmt.Errorf("%w: Maui reserved %v where %v were asked for", grid.ErrInvalid, done.nodes, want)
	} else {
		err = errors.Join(m.free(ctx, b, nodes, done.native), m.closed(ctx, done.native, account))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("reserving %s: %w", b.ID, err), m.EndReservation(ctx, done.native))
	}
	return done.native, nil
}

// closed tells whether a reservation is for the jobs of an account alone.
func (m *Maui) closed(ctx context.Context, native, account string) error {
	all, err := asked(ctx, m, parseAccess, "mdiag", "-r")
	if err == nil && all[native] != (access{account: account}) {
		err = fmt.Errorf("%w: Maui opened the reservation %s to others than asked for: %+v", grid.ErrInvalid, native, all[native])
	}
	return err
}

// free tells why the nodes of b cannot be had for it: they are not there or down, jobs may still run there, or others
// have reserved them.
func (m *Maui) free(ctx context.Context, b external.Reservation, nodes []plan.Node, own string) error {
	for _, name := range b.Nodes {
		i := slices.IndexFunc(nodes, func(n plan.Node) bool { return n.Name == name })
		if i < 0 || nodes[i].Down {
			return fmt.Errorf("%w: the node %s is down, or there is none of that name", grid.ErrInvalid, name)
		}
	}
	jobs, err := query(ctx, m.Client, parseJobs, "qstat", "-x", "-t")
	if err != nil {
		return err
	}
	for _, j := range jobs.jobs {
		if lasts(j, b) {
			return fmt.Errorf("%w: job %s may run on these nodes until %v", grid.ErrInvalid, j.Local, (j.Started + j.Limit).Time())
		}
	}
	list, err := m.reservations(ctx, nodes)
	if err != nil {
		return err
	}
	if own != "" {
		if err := readBack(list, b, own); err != nil {
			return err
		}
	}
	if o, is := overlap(list, b, own); is {
		return fmt.Errorf("%w: the reservation %s lies on the same nodes from %v to %v", grid.ErrInvalid, o.Native, o.Start.Time(), o.End.Time())
	}
	return nil
}

// lasts tells whether a job may still run on one of the nodes of b when that begins.
func lasts(j external.Job, b external.Reservation) bool {
	return (j.Limit == 0 || j.Started+j.Limit > b.Start) &&
		slices.ContainsFunc(j.Places, func(p external.Place) bool { return slices.Contains(b.Nodes, p.Node) })
}

// readBack tells what is wrong with the reservation own, which should be as b is.
func readBack(list []external.Reservation, b external.Reservation, own string) error {
	i := slices.IndexFunc(list, func(o external.Reservation) bool { return o.Native == own })
	if i < 0 {
		return fmt.Errorf("%w: Maui says that it made the reservation %s, but does not list it", grid.ErrUnavailable, own)
	}
	if late := list[i].End - b.End; late > tolerance || late < -tolerance || list[i].Cores != nil {
		return fmt.Errorf("%w: Maui made the reservation %s of other hours or processors than asked for: to %v, not to %v",
			grid.ErrInvalid, own, list[i].End.Time(), b.End.Time())
	}
	return nil
}

// soon is how far off a start must be to be given as a date; what is sooner begins at once.
const soon = 2 * grid.Second

// setres is the command that makes b for the jobs of an account. Its client reads dates in its own zone, which is UTC for our commands. Spans are H:MM:SS.
func (m *Maui) setres(b external.Reservation, account string) ([]string, error) {
	if err := errors.Join(checkOurID(b.ID), checkWord(account)); err != nil {
		return nil, err
	}
	where, err := expression(b.Nodes)
	if err != nil {
		return nil, err
	}
	now := m.instant()
	begin, start := b.Start/grid.Second*grid.Second, ""
	if start = begin.Time().Format("15:04:05_01/02/06"); begin < now+soon {
		begin, start = now, "+0:00:00"
	}
	length := b.End - begin
	if b.Start >= b.End || length < grid.Second || length > grid.MaxWalltime*2 || begin > now+grid.MaxWalltime*2 {
		return nil, fmt.Errorf("it would last from %v to %v", b.Start.Time(), b.End.Time())
	}
	return []string{"-a", account, "-n", ourName + b.ID, "-s", start, "-d", clock(length), where}, nil
}

// ChangeReservation is not possible: Maui cannot change a reservation.
func (m *Maui) ChangeReservation(_ context.Context, b external.Reservation) error {
	return fmt.Errorf("%w: Maui cannot change the reservation %s: release it, and make another", grid.ErrInvalid, b.Native)
}

// EndReservation releases a reservation; one that is not there is no error.
func (m *Maui) EndReservation(ctx context.Context, native string) error {
	if err := checkWord(native); err != nil {
		return fmt.Errorf("%w: releasing a reservation: %w", grid.ErrInvalid, err)
	}
	_, err := asked(ctx, m, parseReleased(native), "releaseres", native)
	return err
}
