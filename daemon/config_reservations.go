package daemon

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/reserve"
)

// ReservationsConfig says who may reserve what of the site.
type ReservationsConfig struct {
	// Offered: the site makes reservations, where its batch system can.
	Offered bool
	// Member bounds what the users of one neighbour, or of this site, hold together; User what each holds.
	Member, User QuotaConfig
	// Deliveries bounds what the users of one neighbour reserve of the uplink, beside the nodes.
	Deliveries QuotaConfig
	// Uplink is how much of the site's uplink deliveries may reserve together, in bytes per second; 0 is none.
	Uplink int64
	// Maintenance are times in which the operator needs nodes: what is reserved then is cancelled, at once.
	Maintenance []reserve.Window
}

// QuotaConfig bounds what is held at one time. Without bounds one user can book the site empty.
type QuotaConfig struct {
	Number    int
	NodeHours int // 0 is no bound
	Horizon   time.Duration
}

func defaultReservations() ReservationsConfig {
	return ReservationsConfig{
		Offered: true,
		Member:  QuotaConfig{Number: 200, Horizon: 14 * 24 * time.Hour}, User: QuotaConfig{Number: 20, Horizon: 14 * 24 * time.Hour},
		Deliveries: QuotaConfig{Number: 100, Horizon: 14 * 24 * time.Hour},
	}
}

func (q QuotaConfig) quota() reserve.Quota {
	return reserve.Quota{Number: q.Number, NodeSeconds: int64(q.NodeHours) * 3600, Horizon: grid.Span(q.Horizon)}
}

func (c ReservationsConfig) rules(can bool) reserve.Rules {
	return reserve.Rules{Offered: c.Offered && can, Member: c.Member.quota(), User: c.User.quota(), Deliveries: c.Deliveries.quota(), Uplink: c.Uplink, Maintenance: c.Maintenance}
}

// maxWindows bounds the maintenance windows of a file.
const maxWindows = 100

func (d *document) reservations(n ast.Node, c *ReservationsConfig) {
	quota := func(name, aka string, q *QuotaConfig) field {
		what := "reservations." + name
		return field{name: name, aka: aka, read: func(n ast.Node) {
			d.fields(n, what, []field{
				{name: "number", aka: "reservations max", read: func(n ast.Node) {
					parsed(d, n, what+".number", &q.Number, within(1, 10_000, strconv.Itoa, wholeNumber))
				}},
				{name: "node_hours", aka: "hours", read: func(n ast.Node) {
					parsed(d, n, what+".node_hours", &q.NodeHours, within(1, math.MaxInt32, strconv.Itoa, wholeNumber))
				}},
				{name: "horizon", aka: "ahead", read: func(n ast.Node) {
					parsed(d, n, what+".horizon", &q.Horizon, within(time.Minute, 366*24*time.Hour, grid.FormatSpan, grid.ParseSpan))
				}},
			})
		}}
	}
	d.fields(n, "reservations", []field{
		{name: "offered", aka: "enabled on", read: func(n ast.Node) {
			if _, is := n.(*ast.BoolNode); is {
				c.Offered, _ = d.yes(n, "reservations.offered")
				return
			}
			var word string // in quotes, as it had to be once
			if parsed(d, n, "reservations.offered", &word, oneOf("true", "false")); word != "" {
				c.Offered = word == "true"
			}
		}},
		quota("member", "neighbour site", &c.Member), quota("user", "users", &c.User),
		quota("deliveries", "transfers", &c.Deliveries),
		{name: "uplink", aka: "bandwidth delivery", read: func(n ast.Node) { parsed(d, n, "reservations.uplink", &c.Uplink, ParseRate) }},
		{name: "maintenance", aka: "windows downtime", list: true, read: func(n ast.Node) {
			c.Maintenance = nil
			d.list(n, "reservations.maintenance", maxWindows, false, func(n ast.Node) { c.Maintenance = append(c.Maintenance, d.window(n)) })
		}},
	})
}

// window reads one maintenance window.
func (d *document) window(n ast.Node) (w reserve.Window) {
	const what = "reservations.maintenance"
	instant := func(name string, to *grid.Tick) field {
		return field{name: name, required: name + ": 2027-01-31T18:00:00Z", read: func(n ast.Node) { parsed(d, n, what+"."+name, to, readInstant) }}
	}
	d.fields(n, what, []field{
		{name: "name", required: "name: pump", read: func(n ast.Node) { parsed(d, n, what+".name", &w.Name, readName[string]) }},
		instant("from", &w.Start), instant("until", &w.End),
		{name: "nodes", aka: "hosts", list: true, read: func(n ast.Node) {
			d.unique(n, what+".nodes", grid.MaxReservedNodes, nodeName, func(s string) { w.Nodes = append(w.Nodes, grid.NodeName(s)) })
		}},
	})
	if w.Start > 0 && w.End > 0 && w.End <= w.Start {
		d.note(n, "the window ends at %s, and begins at %s", w.End.Stamp(), w.Start.Stamp())
	}
	return w
}

func nodeName(s string) (string, error) { return s, grid.CheckHosts([]string{s}) }

func readInstant(s string) (grid.Tick, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, fmt.Errorf("%q is no instant: write it as 2027-01-31T18:00:00Z", form.Clip(s))
	}
	return grid.InstantOf(t.Truncate(time.Second)), nil
}
