package plan

import (
	"slices"
	"time"

	"gbroker/grid"
)

// maxRate bounds what a core may cost for an hour.
const maxRate = 1e9

// Pricing is what an owner asks of the grid for the site's nodes, as a rate per core and hour:
//
//	rate = Base * factor of the hour * factor of the user * (1 + Priority * priority of who is displaced)
//
// Time that nobody waits for displaces nobody. Where the plan would run waiting local jobs, the
// one of the highest priority counts; a priority below 0 is 0. Time of a running job is
// not for sale. Without prices (nil) all costs nothing, and nobody is displaced.
type Pricing struct {
	Base     float64
	Priority float64 // for each point of the priority
	Hours    []Hours // the first that holds counts; outside of them the factor is 1
	Users    map[grid.User]float64
	Share    float64        // the part of the site's cores that the grid may hold at once; 0 is all
	Zone     *time.Location // of the hours; nil is UTC
}

// Hours are a time of each day, from From until just before To; over midnight where To is not after From.
type Hours struct {
	From, To grid.Tick // since midnight
	Factor   float64
}

// Rate is what a core costs for an hour at an instant, displacing nobody.
func (p *Pricing) Rate(at grid.Tick, user grid.User) float64 {
	if p == nil {
		return 0
	}
	return min(p.Base*p.hour(at)*p.user(user), maxRate)
}

// Cost is that of so many cores at a rate per core and hour, for so long.
func Cost(rate float64, cores int, span grid.Tick) float64 {
	return rate * float64(cores) * span.Seconds() / 3600
}

// displacing is the rate at an instant where a job of that priority gives way.
func (p *Pricing) displacing(at grid.Tick, user grid.User, priority int64) float64 {
	return min(p.Rate(at, user)*(1+p.Priority*float64(max(priority, 0))), maxRate)
}

// user is the factor of a user, or of all of its site.
func (p *Pricing) user(user grid.User) float64 {
	if f, ok := p.Users[user]; ok {
		return f
	}
	if f, ok := p.Users[grid.User{Home: user.Home}]; ok {
		return f
	}
	return 1
}

func (p *Pricing) hour(at grid.Tick) float64 {
	day := p.sinceMidnight(at)
	for _, h := range p.Hours {
		if h.From < h.To && h.From <= day && day < h.To || h.From >= h.To && (day >= h.From || day < h.To) {
			return h.Factor
		}
	}
	return 1
}

func (p *Pricing) sinceMidnight(at grid.Tick) grid.Tick {
	h, m, s := p.local(at).Clock()
	return (grid.Tick(h)*60+grid.Tick(m))*grid.Minute + grid.Tick(s)*grid.Second
}

func (p *Pricing) local(at grid.Tick) time.Time {
	zone := p.Zone
	if zone == nil {
		zone = time.UTC
	}
	return time.UnixMilli(int64(at)).In(zone)
}

// changes are the instants between two at which the rate changes by the hour, or may: also where the clock is put forward or back.
func (p *Pricing) changes(from, to grid.Tick) (out []grid.Tick) {
	if p == nil || len(p.Hours) == 0 {
		return nil
	}
	for start := from; start < to; {
		if from < start {
			out = append(out, start)
		}
		midnight, until := p.steady(start, to)
		for ; midnight < until; midnight += grid.Day {
			for _, h := range p.Hours {
				for _, t := range []grid.Tick{h.From, h.To} {
					if at := midnight + t; start <= at && at < until && from < at {
						out = append(out, at)
					}
				}
			}
		}
		start = until
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// steady is until when, to at most, the clock stays as it is at an instant, and the midnight before that by this clock.
func (p *Pricing) steady(at, to grid.Tick) (midnight, until grid.Tick) {
	local := p.local(at)
	_, east := local.Zone()
	ahead := grid.Tick(east) * grid.Second
	if _, end := local.ZoneBounds(); !end.IsZero() {
		to = min(to, grid.Tick(end.UnixMilli()))
	}
	return (at+ahead)/grid.Day*grid.Day - ahead, to
}
