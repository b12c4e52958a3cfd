package wire

import (
	"math"

	"gbroker/grid"
)

// MaxPrice bounds the price of a core for an hour.
const MaxPrice = 1e12

type reserveBody struct {
	ID        string      `msgpack:"i,omitempty"`
	UserHome  string      `msgpack:"uh,omitempty"`
	UserName  string      `msgpack:"un,omitempty"`
	For       string      `msgpack:"j,omitempty"`
	What      uint64      `msgpack:"w,omitempty"`
	Nodes     []string    `msgpack:"n,omitempty"`
	Demand    *demandBody `msgpack:"d,omitempty"`
	Queue     string      `msgpack:"q,omitempty"`
	From      int64       `msgpack:"s,omitempty"`
	Until     int64       `msgpack:"e,omitempty"`
	Length    int64       `msgpack:"l,omitempty"`
	Bandwidth int64       `msgpack:"b,omitempty"`
	Limit     int64       `msgpack:"t,omitempty"`
	Grace     int64       `msgpack:"g,omitempty"`
	Early     bool        `msgpack:"ea,omitempty"`
	Fee       float64     `msgpack:"f,omitempty"`
	Sent      int64       `msgpack:"c,omitempty"`
}

func fromReserve(m Reserve) *reserveBody {
	b := &reserveBody{
		ID: string(m.ID), UserHome: string(m.Holder.Home), UserName: m.Holder.Name, For: string(m.For), What: uint64(m.What),
		Nodes: fromNodes(m.Nodes), Queue: string(m.Queue), From: int64(m.From), Until: int64(m.Until), Length: int64(m.Length),
		Bandwidth: m.Bandwidth, Limit: int64(m.Limit), Grace: int64(m.Grace), Early: m.Early, Fee: m.Fee, Sent: int64(m.Sent),
	}
	if len(m.Demand.Chunks) > 0 {
		d := fromDemand(m.Demand)
		b.Demand = &d
	}
	return b
}

func (b *reserveBody) message(c *check) Message {
	m := Reserve{
		ID: c.reservation("id", b.ID), Holder: grid.User{Home: c.peer("user.home", b.UserHome), Name: c.word("user.name", b.UserName, MaxUser)},
		For: c.optionalJobID("for", b.For), What: grid.ReservationKind(min(b.What, math.MaxUint8)),
		Nodes: c.nodes("nodes", b.Nodes), Queue: c.queue("queue", b.Queue),
		From: c.instant("from", b.From), Until: c.instant("until", b.Until), Length: grid.Tick(c.between("length", b.Length, 1, int64(grid.MaxReservation))),
		Bandwidth: c.between("bandwidth", b.Bandwidth, 0, grid.MaxReservedRate),
		Limit:     c.reservedSpan("limit", b.Limit), Grace: c.reservedSpan("grace", b.Grace), Early: b.Early,
		Fee: c.price("fee", b.Fee), Sent: c.wait("sent", b.Sent),
	}
	if m.Holder.Name == "" {
		c.fail("user.name", "it is empty")
	}
	if b.Demand != nil {
		m.Demand = nested(c, "demand", b.Demand.demand)
	}
	switch nodes := m.What == grid.NodesReserved; {
	case !m.What.Valid():
		c.fail("what", "%d is no kind of reservation", b.What)
	case nodes && (len(m.Nodes) > 0) == (b.Demand != nil):
		c.fail("nodes", "either nodes are named, or a demand says which are looked for")
	case nodes && m.Bandwidth != 0 || !nodes && (m.Bandwidth == 0 || len(m.Nodes) > 0 || b.Demand != nil):
		c.fail("bandwidth", "a delivery has bandwidth alone, nodes have none")
	case m.Until-m.From < m.Length:
		c.fail("length", "%d do not fit between %d and %d", m.Length, m.From, m.Until)
	}
	return m
}

type confirmBody struct {
	ID    string `msgpack:"i,omitempty"`
	Lease int64  `msgpack:"l,omitempty"`
	Sent  int64  `msgpack:"c,omitempty"`
}

func (b *confirmBody) message(c *check) Message {
	return Confirm{c.reservation("id", b.ID), c.reservedSpan("lease", b.Lease), c.wait("sent", b.Sent)}
}

type releaseBody struct {
	ID  string `msgpack:"i,omitempty"`
	Why string `msgpack:"y,omitempty"`
}

func (b *releaseBody) message(c *check) Message {
	return Release{c.reservation("id", b.ID), c.word("why", b.Why, MaxWhy)}
}

type changeBody struct {
	ID      string         `msgpack:"i,omitempty"`
	Number  uint64         `msgpack:"m,omitempty"`
	For     string         `msgpack:"j,omitempty"`
	Nodes   []string       `msgpack:"n,omitempty"`
	Start   int64          `msgpack:"s,omitempty"`
	End     int64          `msgpack:"e,omitempty"`
	Details []variableBody `msgpack:"d,omitempty"`
	Sent    int64          `msgpack:"c,omitempty"`
	Move    bool           `msgpack:"o,omitempty"`
	Count   int64          `msgpack:"w,omitempty"`
}

func fromChange(m Change) *changeBody {
	return &changeBody{string(m.ID), m.Number, string(m.For), fromNodes(m.Nodes), int64(m.Start), int64(m.End), fromDetails(m.Details), int64(m.Sent), m.Move, int64(m.Count)}
}

func (b *changeBody) message(c *check) Message {
	m := Change{
		ID: c.reservation("id", b.ID), Number: b.Number, For: c.optionalJobID("for", b.For), Nodes: c.nodes("nodes", b.Nodes),
		Start: c.instant("start", b.Start), End: c.instant("end", b.End), Details: c.details("details", b.Details), Sent: c.wait("sent", b.Sent),
		Move: b.Move, Count: c.count("count", b.Count, 0, grid.MaxReservedNodes),
	}
	if m.Count > 0 && len(m.Nodes) > 0 {
		c.fail("count", "either nodes are named, or how many there are to be")
	}
	if m.Number == 0 {
		c.fail("number", "they are counted from 1 on")
	}
	c.interval("end", m.Start, m.End)
	return m
}

type reservedBody struct {
	Of          uint64          `msgpack:"o,omitempty"`
	Reservation reservationBody `msgpack:"r,omitempty"`
	Refusal     *refusalBody    `msgpack:"f,omitempty"`
	Slack       int64           `msgpack:"l,omitempty"`
	Sent        int64           `msgpack:"c,omitempty"`
	Clock       int64           `msgpack:"k,omitempty"`
}

func fromReserved(m Reserved) *reservedBody {
	b := &reservedBody{Of: uint64(m.Of), Reservation: fromReservation(m.Reservation), Slack: int64(m.Slack), Sent: int64(m.Sent), Clock: int64(m.Clock)}
	if m.Refusal != nil {
		b.Refusal = fromRefusal(m.Refusal)
	}
	return b
}

func (b *reservedBody) message(c *check) Message {
	m := Reserved{
		Of: Kind(min(b.Of, math.MaxUint8)), Reservation: nested(c, "reservation", b.Reservation.reservation),
		Slack: c.wait("slack", b.Slack), Sent: c.wait("sent", b.Sent), Clock: c.wait("clock", b.Clock),
	}
	switch m.Of {
	case KindReserve, KindConfirm, KindRelease, KindChange:
	default:
		c.fail("of", "kind %d is not answered by this", b.Of)
	}
	if b.Refusal != nil {
		r := nested(c, "refusal", b.Refusal.refusal)
		m.Refusal = &r
	}
	return m
}

type wordBody struct {
	Reservation reservationBody `msgpack:"r,omitempty"`
	Clock       int64           `msgpack:"k,omitempty"`
}

func (b *wordBody) message(c *check) Message {
	m := ReservationWord{nested(c, "reservation", b.Reservation.reservation), c.wait("clock", b.Clock)}
	if m.Reservation.State == 0 {
		c.fail("reservation.state", "it is of none")
	}
	return m
}

type wordAckBody struct {
	ID  string `msgpack:"i,omitempty"`
	Seq uint64 `msgpack:"n,omitempty"`
}

func (b *wordAckBody) message(c *check) Message {
	return ReservationAck{c.reservation("id", b.ID), b.Seq}
}
