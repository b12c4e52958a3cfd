package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/brokers"
	"gbroker/sim/workload"
)

// The streams of random numbers of a world, beside those of package workload.
const (
	streamSites = iota + 1
	streamTopology
	streamLinks
	streamAway
)

func stream(seed uint64, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) }

// world makes what one run is made of. All that chance decides comes from the seed and is the same for each rule.
func (s *spec) world(seed uint64, logs *logs) (brokers.World, error) {
	w := brokers.World{Seed: seed, Known: s.Brokering.Homes == "all", Brokering: s.Brokering.built(), Delivery: ticks(s.Links.Delivery), CancelAfter: ticks(s.Workload.Strategists.Cancel)}
	parts, err := s.sites(&w, stream(seed, streamSites))
	if err != nil {
		return w, err
	}
	if w.Brokering.Rule != brokers.None && w.Brokering.Rule != brokers.Oracle {
		if w.Members, err = s.Topology.members(s.siteNames(), stream(seed, streamTopology)); err != nil {
			return w, err
		}
	}
	w.Link = s.Links.built(seed)
	if w.Jobs, err = s.jobs(seed, w.Sites, parts, logs); err != nil {
		return w, err
	}
	s.away(&w, stream(seed, streamAway))
	return w, nil
}

func ticks(seconds float64) grid.Tick { return grid.Tick(math.Round(seconds * 1000)) }

// part is what a site is to the workload.
type part struct {
	partition int64
	localLoad float64
}

// sites draws the sites.
func (s *spec) sites(w *brokers.World, r *rand.Rand) (parts []part, err error) {
	names := s.siteNames()
	for _, g := range s.Sites {
		policy, err := plan.ParsePolicy(g.Policy)
		if err != nil {
			return nil, fmt.Errorf("the policy of %s: %w", g.Name, err)
		}
		for range g.Count {
			w.Sites = append(w.Sites, brokers.Site{
				Name: names[len(w.Sites)], Cores: max(1, int(math.Round(g.Cores.Draw(r)))), PerNode: g.PerNode,
				Speed: math.Round(g.Speed.Draw(r)*1e6) / 1e6, Policy: policy,
			})
			parts = append(parts, part{g.Partition, g.LocalLoad.Draw(r)})
		}
	}
	return parts, nil
}

func (b *brokering) built() brokers.Brokering {
	out := brokers.Brokering{Reevaluate: ticks(b.Reevaluate), ViewAge: ticks(b.ViewAge), OldForAll: b.Views == "all", Tell: ticks(b.Tell)}
	for r := brokers.None; r <= brokers.Oracle; r++ {
		if r.String() == b.Rule {
			out.Rule = r
		}
	}
	for k := brokers.Requested; k <= brokers.True; k++ {
		if k.String() == b.Knowledge {
			out.Knowledge = k
		}
	}
	return out
}

// built draws a link each time that it is asked for: always the same one, in both directions.
func (l *links) built(seed uint64) func(from, to int) brokers.Link {
	return func(from, to int) brokers.Link {
		r := stream(seed, streamLinks+uint64(min(from, to))<<32+uint64(max(from, to))<<8)
		return brokers.Link{Bandwidth: 1e6 * l.Bandwidth.Draw(r), Latency: ticks(l.Latency.Draw(r))}
	}
}

// jobs makes the workload, or takes it from a log.
func (s *spec) jobs(seed uint64, sites []brokers.Site, parts []part, logs *logs) ([]workload.Job, error) {
	w := &s.Workload
	if w.Log.File != "" {
		return logs.deal(w.Log, sites, parts)
	}
	of := make([]workload.Site, len(sites))
	for i, site := range sites {
		of[i] = workload.Site{Cores: site.Cores, Speed: site.Speed, LocalLoad: parts[i].localLoad}
	}
	bytes := w.Bytes.Numbers
	bytes.Mean, bytes.From, bytes.To, bytes.Of = bytes.Mean*1e6, bytes.From*1e6, bytes.To*1e6, slices.Clone(bytes.Of)
	for i := range bytes.Of {
		bytes.Of[i] *= 1e6
	}
	m := workload.Model{
		Jobs: w.Jobs + w.PerSite*len(sites), Rate: w.Rate, Load: w.Load, Gaps: w.Gaps, Cores: w.Cores.Numbers, Run: w.Run.Numbers, Over: w.Over.Numbers, Bytes: bytes,
		Home: slices.Index(s.siteNames(), w.Home), JobsShare: w.Skew.Jobs, SitesShare: w.Skew.Sites, LocalShare: w.LocalShare, Users: w.Users,
		Strategists: workload.Strategists{Share: w.Strategists.Share, Over: w.Strategists.Over.Numbers, Copies: w.Strategists.Copies}, Seed: seed,
	}
	jobs := m.Make(of)
	if s.Brokering.Rule == brokers.None.String() {
		for _, j := range jobs {
			if j.Cores > sites[j.Home].Cores {
				return nil, fmt.Errorf("a job of %d cores is handed in at %s, which has %d: without brokering it would never run", j.Cores, sites[j.Home].Name, sites[j.Home].Cores)
			}
		}
	}
	return jobs, nil
}

// away draws when sites are away, as long as jobs come.
func (s *spec) away(w *brokers.World, r *rand.Rand) {
	if len(w.Jobs) == 0 {
		return
	}
	last, site := w.Jobs[len(w.Jobs)-1].Arrival, 0
	for _, g := range s.Sites {
		for range g.Count {
			leaves := r.Float64() < g.Away.Share
			for at := grid.Tick(0); leaves; {
				from := at + max(1, ticks(g.Away.Up*r.ExpFloat64()))
				if at = from + max(1, ticks(g.Away.Down*r.ExpFloat64())); from >= last {
					break
				}
				w.Sites[site].Away = append(w.Sites[site].Away, brokers.Interval{From: from, To: at})
			}
			site++
		}
	}
}
