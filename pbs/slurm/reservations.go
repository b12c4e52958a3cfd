package slurm

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// parseReservations reads scontrol -o show reservation. Those whose name begins with
// prefix are ours.
func parseReservations(text []byte, prefix string) (out []external.Reservation, err error) {
	if strings.TrimSpace(string(text)) == "No reservations in the system" {
		return nil, nil
	}
	names := 0
	out = make([]external.Reservation, 0, room(text, "ReservationName=", 130))
	err = eachLine(text, maxReservations, func(l line) error {
		b, err := l.reservation(prefix, maxNodes-names)
		if err != nil {
			return err
		}
		names += len(b.Nodes)
		out = append(out, b)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("it is empty")
	}
	return out, err
}

func (l line) reservation(prefix string, limit int) (external.Reservation, error) {
	v, err := l.values("ReservationName", "StartTime", "EndTime", "Nodes", "NodeCnt", "CoreCnt", "Flags", "Users", "Accounts", "State")
	if err != nil {
		return external.Reservation{}, err
	}
	b := external.Reservation{Native: v["ReservationName"], User: v["Users"], Account: v["Accounts"]}
	if b.Account == "(null)" {
		b.Account = ""
	}
	if b.Native == "" || len(b.Native) > maxName {
		return b, fmt.Errorf("ReservationName=%.40q", b.Native)
	}
	switch v["State"] {
	case "ACTIVE", "INACTIVE":
	default:
		return b, fmt.Errorf("reservation %s: %.40q is no state", b.Native, v["State"])
	}
	if id, ours := strings.CutPrefix(b.Native, prefix); ours && checkID(id) == nil {
		b.ID = id
	}
	// One of others may be for all users of a large site: who they are is for people.
	b.User, b.Account = b.User[:min(len(b.User), maxText)], b.Account[:min(len(b.Account), maxText)]
	if b.Start, err = instant(v["StartTime"]); err != nil {
		return b, err
	}
	if b.End, err = instant(v["EndTime"]); err != nil {
		return b, err
	}
	if b.End <= b.Start {
		return b, fmt.Errorf("reservation %s ends at %s, before its start", b.Native, v["EndTime"])
	}
	nodes, err := number(v["NodeCnt"])
	if err != nil {
		return b, fmt.Errorf("NodeCnt: %w", err)
	}
	err = eachHost(v["Nodes"], limit, func(name []byte) error {
		b.Nodes = append(b.Nodes, grid.NodeName(name))
		return nil
	})
	if err == nil && nodes != len(b.Nodes) {
		err = fmt.Errorf("reservation %s has NodeCnt=%d, and Nodes names %d", b.Native, nodes, len(b.Nodes))
	}
	if err != nil || len(b.Nodes) == 0 {
		return b, err
	}
	total, err := number(v["CoreCnt"])
	if err != nil {
		return b, fmt.Errorf("CoreCnt: %w", err)
	}
	// Where it is not all of each node, Slurm shows only the sum: see whole.
	b.Cores = spread(total, len(b.Nodes))
	return b, nil
}

// spread divides as evenly as can be.
func spread(total, over int) []int {
	out := make([]int, over)
	for i := range out {
		out[i] = total / over
		if i < total%over {
			out[i]++
		}
	}
	return out
}

// checkID says why id is none of ours.
func checkID(id string) error {
	ok := len(id) >= 1 && len(id) <= 24
	for _, c := range []byte(id) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	}
	if !ok {
		return fmt.Errorf("%w: the reservation's identifier %.40q is not 1 to 24 of a-z 0-9", grid.ErrInvalid, id)
	}
	return nil
}
