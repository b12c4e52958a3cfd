package wire

import (
	"math"

	"gbroker/grid"
)

// reservationBody is what the holder of a reservation may know of it. One of the state 0 has its
// identifier alone.
type reservationBody struct {
	ID        string         `msgpack:"i,omitempty"`
	What      uint64         `msgpack:"w,omitempty"`
	UserHome  string         `msgpack:"uh,omitempty"`
	UserName  string         `msgpack:"un,omitempty"`
	For       string         `msgpack:"j,omitempty"`
	Nodes     []string       `msgpack:"n,omitempty"`
	Cores     int64          `msgpack:"co,omitempty"`
	Start     int64          `msgpack:"s,omitempty"`
	End       int64          `msgpack:"e,omitempty"`
	Bandwidth int64          `msgpack:"b,omitempty"`
	State     uint64         `msgpack:"z,omitempty"`
	Reason    string         `msgpack:"y,omitempty"`
	Until     int64          `msgpack:"u,omitempty"`
	Grace     int64          `msgpack:"g,omitempty"`
	Came      int64          `msgpack:"ca,omitempty"`
	Early     bool           `msgpack:"ea,omitempty"`
	Price     float64        `msgpack:"p,omitempty"`
	Details   []variableBody `msgpack:"d,omitempty"`
	Seq       uint64         `msgpack:"q,omitempty"`
	Number    uint64         `msgpack:"m,omitempty"`
	Changing  bool           `msgpack:"h,omitempty"`
}

// fromReservation tells of one that was given up before it was made that there is none.
func fromReservation(r grid.Reservation) reservationBody {
	if r.State == 0 || r.State.Over() && r.Start == 0 {
		return reservationBody{ID: string(r.ID)}
	}
	return reservationBody{
		ID: string(r.ID), What: uint64(r.Kind), UserHome: string(r.Holder.Home), UserName: r.Holder.Name, For: string(r.For),
		Nodes: fromNodes(r.Nodes), Cores: int64(r.Cores), Start: int64(r.Start), End: int64(r.End), Bandwidth: r.Bandwidth,
		State: uint64(r.State), Reason: plain(r.Reason, MaxWhy), Until: int64(r.Until), Grace: int64(r.Grace), Came: int64(r.Came), Early: r.Early, Price: r.Price,
		Details: fromDetails(r.Details), Seq: r.Seq, Number: r.Number, Changing: r.Holding == grid.Changing,
	}
}

func (b reservationBody) reservation(c *check) grid.Reservation {
	if b.State == 0 {
		return grid.Reservation{ID: c.reservation("id", b.ID)}
	}
	r := grid.Reservation{
		ID: c.reservation("id", b.ID), Kind: grid.ReservationKind(min(b.What, math.MaxUint8)),
		Holder: grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)},
		For:    c.optionalJobID("for", b.For), Nodes: c.nodes("nodes", b.Nodes), Cores: c.count("cores", b.Cores, 0, grid.MaxProcesses),
		Start: c.instant("start", b.Start), End: c.instant("end", b.End), Bandwidth: c.between("bandwidth", b.Bandwidth, 0, grid.MaxReservedRate),
		State: grid.ReservationState(min(b.State, math.MaxUint8)), Reason: c.word("reason", b.Reason, MaxWhy),
		Until: c.wait("until", b.Until), Grace: c.reservedSpan("grace", b.Grace), Came: c.wait("came", b.Came), Early: b.Early, Price: c.price("price", b.Price),
		Details: c.details("details", b.Details), Seq: b.Seq, Number: b.Number,
	}
	if b.Changing {
		r.Holding = grid.Changing
	}
	if !r.State.Valid() {
		c.fail("state", "%d is no state of a reservation", b.State)
	}
	if !r.Kind.Valid() {
		c.fail("what", "%d is no kind of reservation", b.What)
	}
	c.interval("end", r.Start, r.End)
	return r
}

func fromNodes(nodes []grid.NodeName) []string {
	return each(nodes, func(n grid.NodeName) string { return string(n) })
}

func fromDetails(details []grid.Variable) []variableBody {
	return each(details, func(v grid.Variable) variableBody { return variableBody{v.Name, v.Value} })
}

func (c *check) reservation(name, s string) grid.ReservationID {
	c.valid(name, grid.CheckReservationID(s))
	return grid.ReservationID(s)
}

func (c *check) optionalReservation(name, s string) grid.ReservationID {
	if s == "" {
		return ""
	}
	return c.reservation(name, s)
}

// nodes are names of nodes as batch systems have them, no name twice.
func (c *check) nodes(name string, names []string) []grid.NodeName {
	seen := make(map[string]bool, min(len(names), grid.MaxReservedNodes))
	return list(c, name, names, grid.MaxReservedNodes, func(s string, c *check) grid.NodeName {
		if c.valid("name", grid.CheckHosts([]string{s})); seen[s] {
			c.fail("name", "%q is named twice", s)
		}
		seen[s] = true
		return grid.NodeName(s)
	})
}

func (c *check) details(name string, details []variableBody) []grid.Variable {
	return list(c, name, details, grid.MaxDetails, func(b variableBody, c *check) grid.Variable {
		c.valid("name", grid.CheckLabel(b.Name))
		return grid.Variable{Name: b.Name, Value: c.text("value", b.Value, grid.MaxDetail)}
	})
}

// instant is one of a reservation: batch systems keep whole seconds.
func (c *check) instant(name string, v int64) grid.Tick {
	if t := c.wait(name, v); t <= 0 || t%grid.Second != 0 {
		c.fail(name, "%d is no instant in whole seconds", v)
	}
	return grid.Tick(v)
}

func (c *check) interval(name string, start, end grid.Tick) {
	if end <= start || end-start > grid.MaxReservation {
		c.fail(name, "from %d to %d: it takes some time, and at most %d", start, end, grid.MaxReservation)
	}
}

func (c *check) reservedSpan(name string, v int64) grid.Tick {
	return grid.Tick(c.between(name, v, 0, int64(grid.MaxReservationSpan)))
}

func (c *check) price(name string, v float64) float64 {
	if !(v >= 0 && v <= MaxPrice) { // NaN fails both
		c.fail(name, "%v is no price: it is from 0 to %v", v, float64(MaxPrice))
	}
	return v
}
