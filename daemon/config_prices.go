package daemon

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/plan"
)

// maxHours bounds the times of day that have a price of their own.
const maxHours = 24

// maxPricedUsers bounds those who have a factor of their own.
const maxPricedUsers = 1000

// PricedUser is a user of a neighbour, or all of them, whose rate is another. The neighbour is meant by the name that it has
// here, so that what it is worth is known with the neighbours.
type PricedUser struct {
	Site   grid.SiteName
	User   string // "" is all
	Factor float64
}

// prices are those of the file, for the neighbours as they are.
func (c *Config) prices(members []grid.Member) *plan.Pricing {
	if c.Prices == nil {
		return nil
	}
	p := *c.Prices
	p.Users = map[grid.User]float64{}
	for _, u := range c.PricedUsers {
		for _, m := range members {
			if m.Name == u.Site {
				p.Users[grid.User{Home: m.Peer, Name: u.User}] = u.Factor
			}
		}
	}
	return &p
}

// repriced tells what the prices are, for the neighbours as they are.
func (s *site) repriced() {
	s.broker.Post(core.PricesChanged{Prices: s.pricing.Load().prices(s.memberList())})
}

func (d *document) pricedUser(n ast.Node) (u PricedUser) {
	const what = "prices.users"
	d.fields(n, what, []field{
		{name: "site", aka: "neighbour", required: "site: NAME", read: func(n ast.Node) { parsed(d, n, what+".site", &u.Site, readName[grid.SiteName]) }},
		{name: "user", aka: "name", read: func(n ast.Node) { parsed(d, n, what+".user", &u.User, userName) }},
		{name: "factor", required: "factor: 0.5", read: func(n ast.Node) {
			parsed(d, n, what+".factor", &u.Factor, within(0, 1000, formatNumber, number))
		}},
	})
	return u
}

func priceFields(d *document, c *Config) []field {
	p := c.Prices
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
		{name: "users", aka: "factors", read: func(n ast.Node) {
			d.list(n, "prices.users", maxPricedUsers, false, func(n ast.Node) { c.PricedUsers = append(c.PricedUsers, d.pricedUser(n)) })
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
		return 0, fmt.Errorf("%q is no time of day: write it like 22:00", form.Clip(s))
	}
	return grid.Tick(h)*grid.Hour + grid.Tick(m)*grid.Minute, nil
}
