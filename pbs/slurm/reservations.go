package slurm

import (
	"cmp"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// reservation is one of scontrol -o show reservation; unread is why one of others cannot be read.
type reservation struct {
	external.Reservation
	unread error
}

// parseReservations reads scontrol -o show reservation. Those whose name begins with
// prefix are ours, and each of them must be understood.
func parseReservations(text []byte, prefix string) (out []reservation, err error) {
	if strings.TrimSpace(string(text)) == "No reservations in the system" {
		return nil, nil
	}
	names, odd := 0, 0
	var some error
	out = make([]reservation, 0, room(text, "ReservationName=", 130))
	err = eachLine(text, maxReservations, func(l line) error {
		native, err := l.value("ReservationName")
		if err != nil {
			return err
		}
		if native == "" || len(native) > maxName {
			return fmt.Errorf("ReservationName=%.40q", native)
		}
		r := reservation{}
		r.Reservation, err = l.reservation(maxNodes - names)
		r.Native = native
		if id, ours := strings.CutPrefix(native, prefix); ours && checkID(id) == nil {
			r.ID = id
		}
		if err != nil && r.ID != "" {
			return fmt.Errorf("reservation %s: %w", native, err)
		}
		if r.unread = err; err != nil {
			r.Nodes, odd, some = nil, odd+1, err
		}
		names += len(r.Nodes)
		if out = append(out, r); odd > external.MostUnread {
			return external.Misread(odd, len(out), some)
		}
		return nil
	})
	err = cmp.Or(err, external.Misread(odd, len(out), some))
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("it is empty")
	}
	return out, err
}

// reservation reads one, but for its name.
func (l line) reservation(limit int) (external.Reservation, error) {
	v, err := l.values("StartTime", "EndTime", "Nodes", "NodeCnt", "CoreCnt", "Flags", "Users", "Accounts", "State")
	if err != nil {
		return external.Reservation{}, err
	}
	b := external.Reservation{User: v["Users"], Account: v["Accounts"]}
	if b.Account == "(null)" {
		b.Account = ""
	}
	switch v["State"] {
	case "ACTIVE", "INACTIVE":
	default:
		return b, fmt.Errorf("%.40q is no state", v["State"])
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
		return b, fmt.Errorf("it ends at %s, before its start", v["EndTime"])
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
		err = fmt.Errorf("NodeCnt=%d, and Nodes names %d", nodes, len(b.Nodes))
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
