package wire

import (
	"pgregory.net/rapid"

	"gbroker/grid"
)

func (d draw) part() *grid.Part {
	if d.yes() {
		return nil
	}
	p := &grid.Part{
		Of: d.jobID(), Round: d.u32(), Start: 1 + grid.Tick(d.n(0, int64(MaxSpan-1))),
		Grace: grid.Tick(d.n(0, int64(grid.MaxGrace))), Within: grid.Tick(d.n(1, int64(grid.MaxWithin))),
		Limit: grid.Tick(d.n(1, int64(grid.MaxWalltime))),
	}
	for i := range d.n(1, grid.MaxPartSites) {
		p.Sites = append(p.Sites, grid.PartSite{Name: grid.SiteName(string(rune('a'+i)) + d.name()), Processes: int(d.n(1, grid.MaxProcesses)), Peer: d.peer()})
	}
	p.Rank = int(d.n(0, int64(len(p.Sites)-1)))
	return p
}

func (d draw) gathered() grid.Gathered {
	g := grid.Gathered{Site: grid.SiteName(d.name()), Hosts: many(d, 4, func() string {
		return rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}:[1-9][0-9]{0,4}`).Draw(d.T, "host")
	})}
	if d.yes() {
		g.Address = rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}:[1-9][0-9]{0,3}`).Draw(d.T, "address")
	}
	if d.yes() {
		g.Rendezvous = rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}:[1-9][0-9]{0,3}`).Draw(d.T, "rendezvous")
	}
	return g
}

func (d draw) slot() grid.Slot {
	start := d.n(0, int64(MaxSpan)-2)
	s := grid.Slot{
		Node: grid.NodeName(d.name()), Start: grid.Tick(start), End: grid.Tick(d.n(start+1, int64(MaxSpan))),
		Cores: int(d.n(1, grid.MaxProcesses)), Memory: d.n(0, grid.MaxMemory), Price: rapid.Float64Range(0, MaxPrice).Draw(d.T, "price"),
	}
	for _, name := range d.labels() {
		s.Resources = append(s.Resources, grid.Resource{Name: name, Amount: d.n(1, grid.MaxAmount)})
	}
	return s
}

func (d draw) several() *grid.Coallocation {
	if !d.yes() {
		return nil
	}
	return &grid.Coallocation{Sites: int(d.n(1, grid.MaxPartSites)), PerSite: int(d.n(1, grid.MaxProcesses)), Early: d.yes(), Survive: d.yes(), Reach: d.yes()}
}

func (d draw) coallocation(kind Kind) Message {
	switch kind {
	case KindSlots:
		from := d.n(0, int64(grid.MaxWalltime))
		return Slots{
			d.jobID(), d.u64(), d.demand(), grid.Tick(d.n(1, int64(grid.MaxWalltime))), d.queue(), grid.User{Home: d.peer(), Name: d.name()},
			grid.Tick(from), grid.Tick(d.n(from+1, from+int64(grid.MaxWalltime))), rapid.Float64Range(0, MaxPrice).Draw(d.T, "fee"), d.yes(), d.wait(),
		}
	case KindSlotsReply:
		return SlotsReply{
			d.jobID(), d.u64(), d.site(), many(d, 4, d.slot), d.estimate().Refusal, d.wait(), d.estimate(),
			Clocks{d.wait(), d.wait(), d.wait()},
		}
	case KindGather:
		m := Gather{Job: d.jobID(), Epoch: d.epoch(), Begun: d.yes()}
		if !m.Begun {
			m.Sites = append(many(d, 3, d.gathered), d.gathered())
		}
		return m
	}
	panic(kind)
}

// arrive makes the report of a part of some.
func (d draw) arrive(m Report) Report {
	if m.Arrived = d.ago(); m.Arrived.Known {
		g := d.gathered()
		m.Hosts, m.Address, m.Rendezvous = g.Hosts, g.Address, g.Rendezvous
	}
	return m
}
