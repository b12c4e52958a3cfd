package faults

import (
	"fmt"

	"gbroker/grid"
	"gbroker/plan"
)

// newWorld makes the sites, who knows whom, and the ways between them, by the seed.
//
// About every third site is small and slow and has most of the users, so that moving
// pays; one in five has a batch system whose nodes do not see the control directory.
func newWorld(o Options) *world {
	w := &world{
		o: o, rates: o.Profile.rates, now: genesis, byPeer: map[grid.PeerID]*site{}, rnd: newStreams(o.Seed),
		truth: truth{facts: map[grid.JobID]*fact{}, pieces: map[grid.ReservationID][]*piece{}}, broken: o.Broken.off,
	}
	w.result = Result{Seed: o.Seed, Coverage: map[string]int{}}
	w.aim.point = points[int(o.Seed%uint64(len(points)))]
	w.groupAim.point = groupPoints[int(o.Seed%uint64(len(groupPoints)))]
	w.besideAim.point = besidePoints[int(o.Seed%uint64(len(besidePoints)))]
	if o.aim != nil {
		_, aim := w.crashes(o.aim.stage)
		aim.point = *o.aim
	}
	w.wide = w.wideUsers()
	r := w.rnd.build
	for i := range o.Brokers {
		s := &site{w: w, i: i, disk: newDisk(), links: map[grid.PeerID]grid.Link{}, forgot: map[grid.PeerID]grid.Tick{}, forgetting: map[grid.PeerID]bool{}, fenced: map[grid.PeerID]grid.Tick{}, dropped: map[grid.PeerID]grid.Tick{}}
		name := siteName(i)
		s.peer = grid.PeerID("peer-" + name)
		speed, nodes, cores := [...]float64{1, 1, 2, 4}[r.IntN(4)], 1+r.IntN(3), 4<<r.IntN(3)
		if i%3 == 0 {
			speed, nodes, cores = [...]float64{0.25, 0.5}[r.IntN(2)], 1, 1+r.IntN(3)
		}
		for n := range nodes {
			s.nodes = append(s.nodes, plan.Node{Name: grid.NodeName(fmt.Sprintf("n%d", n)), Cores: cores})
		}
		s.facts = grid.Site{Name: grid.SiteName(name), Processes: nodes * cores, Speed: speed, Architecture: "x86_64", System: "LINUX"}
		s.clock = clock{rate: 1}
		if o.Profile.rates[ClockStep] > 0 {
			s.clock = clock{rate: 1 + (r.Float64()-0.5)/500, offset: between(r, -grid.Hour, grid.Hour)}
		} else if far := o.Profile.apart; far > 0 {
			s.clock = clock{rate: 1 + (w.rnd.part.Float64()-0.5)/5000, offset: between(w.rnd.part, -far, far)}
		}
		s.batch = &batch{s: s, blind: r.IntN(5) == 0}
		s.host = host{s: s}
		w.sites = append(w.sites, s)
		w.byPeer[s.peer] = s
	}
	w.connect()
	return w
}

// siteName is a, b, ... z, aa, ab, ...
func siteName(i int) string {
	name := string(rune('a' + i%26))
	if i >= 26 {
		name = siteName(i/26-1) + name
	}
	return name
}

// connect makes the neighbourhoods: who is a member of whom is mutual, who may send to
// whom is not. A ring keeps everybody in touch.
func (w *world) connect() {
	r, n := w.rnd.build, len(w.sites)
	w.cut, w.lag, w.unheard = make([][]int, n), make([][]grid.Tick, n), make([][]grid.Tick, n)
	for i := range n {
		w.cut[i], w.lag[i], w.unheard[i] = make([]int, n), make([]grid.Tick, n), make([]grid.Tick, n)
	}
	dense := 0.4 + 0.6*r.Float64()
	for i, a := range w.sites {
		for k := i + 1; k < n; k++ {
			b := w.sites[k]
			near := k == i+1 || i == 0 && k == n-1
			if !near && r.Float64() > dense {
				continue
			}
			lag := between(r, 1, 80)
			w.lag[i][k], w.lag[k][i] = lag, lag
			both := r.Float64()
			w.join(a, b, both < 0.9)
			w.join(b, a, both > 0.1)
		}
	}
}

func (w *world) join(a, b *site, send bool) {
	a.members = append(a.members, grid.Member{Name: b.name(), Peer: b.peer, Send: send, SameUsers: true})
	rate := [...]float64{2e5, 1e6, 1e7}[w.rnd.build.IntN(3)]
	a.links[b.peer] = grid.Link{RTT: 2 * w.lag[a.i][b.i], Rates: []grid.Rate{{Size: 1 << 20, BytesPerSecond: rate, Measured: true}}}
}
