package daemon

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/plan"
)

// maxHours bounds the times of day that have a price of their own.
const maxHours = 24

func priceFields(d *document, p *plan.Pricing) []field {
	amount := func(name string, to *float64, low, high float64) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, "prices."+name, to, within(low, high, formatNumber, number)) }
	}
	return []field{
		{name: "base", required: "base: 1", read: amount("base", &p.Base, 0, 1e6)},
		{name: "priority", read: amount("priority", &p.Priority, 0, 1e6)},
		{name: "hours", aka: "times", read: func(n ast.Node) {
			d.list(n, "prices.hours", maxHours, false, func(n ast.Node) {
				var h plan.Hours
				d.fields(n, "prices.hours", []field{
					{name: "from", required: "from: 22:00", read: func(n ast.Node) { parsed(d, n, "prices.hours.from", &h.From, timeOfDay) }},
					{name: "to", required: "to: 6:00", read: func(n ast.Node) { parsed(d, n, "prices.hours.to", &h.To, timeOfDay) }},
					{name: "factor", required: "factor: 0.5", read: amount("hours.factor", &h.Factor, 0, 1000)},
				})
				p.Hours = append(p.Hours, h)
			})
		}},
		{name: "share", read: amount("share", &p.Share, 0.001, 1)},
	}
}

// timeOfDay reads HH:MM as a span since midnight.
func timeOfDay(s string) (grid.Tick, error) {
	hour, minute, _ := strings.Cut(s, ":")
	h, errHour := strconv.ParseUint(hour, 10, 8)
	m, errMinute := strconv.ParseUint(minute, 10, 8)
	if errHour != nil || errMinute != nil || len(minute) != 2 || h > 23 || m > 59 {
		return 0, fmt.Errorf("%q is no time of day: write it like 22:00", clip(s))
	}
	return grid.Tick(h)*grid.Hour + grid.Tick(m)*grid.Minute, nil
}
