package openpbs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// Bounds of one output: its reservations, and the lines of each.
const (
	maxReservations = 1 << 16
	maxLines        = 1000
)

// phase is how far a reservation is.
type phase uint8

const (
	asked phase = iota // nothing is kept yet
	kept               // its nodes are kept for it
	over
)

// phases by the words of reserve_state.
var phases = map[string]phase{
	"RESV_NONE": asked, "RESV_UNCONFIRMED": asked, "RESV_WAIT": asked,
	"RESV_CONFIRMED": kept, "RESV_RUNNING": kept, "RESV_TIME_TO_RUN": kept, "RESV_BEING_ALTERED": kept,
	"RESV_DEGRADED": kept, "RESV_IN_CONFLICT": kept,
	"RESV_FINISHED": over, "RESV_BEING_DELETED": over, "RESV_DELETED": over, "RESV_DELETING_JOBS": over,
}

// reservation is one reservation as pbs_rstat tells it.
type reservation struct {
	external.Reservation
	name  string
	owner string
	state string
	phase phase
	queue string
	cores []int // on each node, also where all of it is kept

	unread error // why it cannot be read
}

// reservations reads what pbs_rstat -F prints: "Resv ID: R42.pbs1", lines of "key = value", an
// empty line between two.
func (w words) reservations(text []byte) ([]reservation, error) {
	var list []reservation
	fields := map[string]string{}
	id := ""
	var twice, some error
	odd, lines := 0, 0
	closed := func() error {
		if id == "" {
			return nil
		}
		b, err := w.reservation(id, fields)
		b.unread = cmp.Or(twice, err)
		if list = append(list, b); len(list) > maxReservations {
			return fmt.Errorf("more than %d reservations", maxReservations)
		}
		if b.unread != nil {
			some = b.unread
			if odd++; odd > external.MostUnread {
				return external.Misread(odd, len(list), some)
			}
		}
		id, twice, lines = "", nil, 0
		clear(fields)
		return nil
	}
	for line := range bytes.Lines(text) {
		if lines++; lines > maxLines {
			return nil, at(id, fmt.Errorf("more than %d lines", maxLines))
		}
		line := strings.TrimRight(string(line), "\n")
		next, heads := strings.CutPrefix(line, "Resv ID: ")
		key, val, is := strings.Cut(line, " = ")
		var err error
		switch {
		case line == "":
			err = closed()
		case heads:
			if err = closed(); err == nil && !isReservationID(next) {
				err = fmt.Errorf("%.80q is no reservation", next)
			}
			id = next
		case id == "" || !is:
			err = fmt.Errorf("the line %.80q where a reservation or key = value was expected", line)
		default:
			if _, is := fields[key]; is && twice == nil {
				twice = at(key, errors.New("it occurs twice"))
			}
			fields[key] = val
		}
		if err != nil {
			return nil, err
		}
	}
	if err := closed(); err != nil {
		return nil, err
	}
	return list, external.Misread(odd, len(list), some)
}

// reservation translates the fields of one.
func (w words) reservation(id string, fields map[string]string) (reservation, error) {
	b := reservation{Reservation: external.Reservation{Native: id}}
	b.name, b.state, b.queue = fields["Reserve_Name"], fields["reserve_state"], fields["queue"]
	b.owner, _, _ = strings.Cut(fields["Reserve_Owner"], "@")
	var known bool
	if b.phase, known = phases[b.state]; !known {
		return b, at("reserve_state", fmt.Errorf("%.40q is no state of a reservation", b.state))
	}
	if !isReservationQueue(b.queue) || b.owner == "" || b.name == "" {
		return b, errors.New("queue, Reserve_Owner or Reserve_Name is missing, or no such")
	}
	var err error
	if b.Start, err = date(fields["reserve_start"]); err != nil {
		return b, at("reserve_start", err)
	}
	if b.End, err = date(fields["reserve_end"]); err != nil {
		return b, at("reserve_end", err)
	}
	b.User = authorized(fields["Authorized_Users"], b.owner)
	places, err := w.places(fields["resv_nodes"], grid.Demand{})
	if err != nil {
		return b, at("resv_nodes", err)
	}
	for _, p := range places {
		b.Nodes = append(b.Nodes, p.Node)
		b.cores = append(b.cores, p.Cores)
	}
	if !strings.Contains(fields["Resource_List.place"], "excl") { // else nobody else gets any of the nodes
		b.Cores = b.cores
	}
	return b, nil
}

// authorized is who may use a reservation: the owner always may, so it is the first other one.
func authorized(users, owner string) string {
	for _, entry := range strings.Split(users, ",") {
		if name, _, _ := strings.Cut(entry, "@"); name != "" && name != owner {
			return name
		}
	}
	return owner
}
