package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"gbroker/internal/form"
	"gbroker/plan"
)

// The limits of a file.
const (
	mostSites   = 100_000
	mostCores   = 1 << 20 // of a site
	mostJobs    = 20_000_000
	mostSeconds = 1e9
)

// limit is what a number must be.
type limit struct {
	path        string
	value       number
	least, most float64
}

// check holds the limits against a point.
func (s *spec) check(root ast.Node) error {
	one := func(v float64) number { n := number{}; n.Mean = v; return n }
	w, b := &s.Workload, &s.Brokering
	limits := []limit{
		{"replications", one(float64(s.Replications)), 1, 10_000},
		{"links.delivery_s", one(s.Links.Delivery), 0, mostSeconds},
		{"links.bandwidth_mb_s", s.Links.Bandwidth, 0, 1e6},
		{"links.latency_s", s.Links.Latency, 0, 3600},
		{"workload.bytes_mb", w.Bytes, 0, 1e9},
		{"workload.local_share", one(w.LocalShare), 0, 1},
		{"workload.skew.jobs", one(w.Skew.Jobs), 0, 1},
		{"workload.skew.sites", one(w.Skew.Sites), 0, 1},
		{"workload.gaps_cv", one(w.Gaps), 0, 20},
		{"workload.users", one(float64(w.Users)), 0, 1e6},
		{"workload.walltime_factor", w.Over, 1, 1e6},
		{"workload.strategists.share", one(w.Strategists.Share), 0, 1},
		{"workload.strategists.walltime_factor", w.Strategists.Over, 1, 1e6},
		{"workload.strategists.copies", one(float64(w.Strategists.Copies)), 1, 64},
		{"workload.strategists.cancel_s", one(w.Strategists.Cancel), 0, mostSeconds},
		{"workload.log.speed_up", one(w.Log.SpeedUp), 1e-6, 1e6},
		{"workload.log.first", one(float64(w.Log.First)), 0, mostJobs},
		{"brokering.reevaluate_s", one(b.Reevaluate), 0, mostSeconds},
		{"brokering.tell_s", one(b.Tell), 0, mostSeconds},
		{"brokering.view_age_s", one(b.ViewAge), 0, mostSeconds},
		{"topology.random", one(float64(s.Topology.Random)), 0, mostSites},
	}
	if w.Log.File == "" {
		limits = append(limits,
			limit{"workload.jobs", one(float64(w.Jobs)), 0, mostJobs},
			limit{"workload.jobs_per_site", one(float64(w.PerSite)), 0, mostJobs / mostSites},
			limit{"workload.cores", w.Cores, 0, mostCores},
			limit{"workload.run_s", w.Run, 0, mostSeconds},
			limit{"workload.rate_per_s", one(w.Rate), 0, 1e6},
			limit{"workload.load", one(w.Load), 0, 100})
	}
	for i, g := range s.Sites {
		at := fmt.Sprintf("sites.%d.", i)
		limits = append(limits,
			limit{at + "count", one(float64(g.Count)), 1, mostSites},
			limit{at + "cores", g.Cores, 1, mostCores},
			limit{at + "cores_per_node", one(float64(g.PerNode)), 0, mostCores},
			limit{at + "speed", g.Speed, 1e-3, 1e3},
			limit{at + "local_load", g.LocalLoad, 0, 10},
			limit{at + "away.share", one(g.Away.Share), 0, 1},
			limit{at + "away.up_s", one(g.Away.Up), 0, mostSeconds},
			limit{at + "away.down_s", one(g.Away.Down), 0, mostSeconds})
	}
	for _, l := range limits {
		least, most, bounded := l.value.bounds()
		if !(least >= l.least) || bounded && !(most <= l.most) {
			return mistakeAt(form.At(root, l.path), "%s: it must be from %s to %s", names(l.path), plain(l.least), plain(l.most))
		}
	}
	if err := s.checkWords(root); err != nil {
		return err
	}
	return s.checkWhole(root)
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// names is a path without the positions in lists.
func names(path string) string {
	words := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w[0] >= '0' && w[0] <= '9' }), ".")
}

// checkWords holds the lists of words against a point.
func (s *spec) checkWords(root ast.Node) error {
	for _, w := range []struct{ path, value, known string }{
		{"vary", s.Vary, "all one"},
		{"topology", s.Topology.Kind, "full ring grid random members"},
		{"brokering.rule", s.Brokering.Rule, "none core published random least-loaded oracle"},
		{"brokering.views", s.Brokering.Views, "first all"},
		{"brokering.knowledge", s.Brokering.Knowledge, "requested learned true"},
		{"brokering.homes", s.Brokering.Homes, "neighbours all"},
		{"workload.log.deal", s.Workload.Log.Deal, "partitions users turn"},
	} {
		if !slices.Contains(strings.Fields(w.known), w.value) {
			return mistakeAt(form.At(root, w.path), "%s: %q is none of %s", w.path, w.value, w.known)
		}
	}
	for i, g := range s.Sites {
		if _, err := plan.ParsePolicy(g.Policy); err != nil {
			return mistakeAt(form.At(root, fmt.Sprintf("sites.%d.policy", i)), "sites.policy: %v", err)
		}
	}
	return nil
}

// checkWhole holds the fields against each other.
func (s *spec) checkWhole(root ast.Node) error {
	at := func(path, format string, args ...any) error { return mistakeAt(form.At(root, path), format, args...) }
	w := &s.Workload
	sites := 0
	for i, g := range s.Sites {
		sites += g.Count
		if g.Away.Share > 0 && (g.Away.Up <= 0 || g.Away.Down <= 0) {
			return at(fmt.Sprintf("sites.%d.away", i), "away: say for how long a site stays (up_s) and for how long it is away (down_s)")
		}
	}
	switch {
	case sites == 0:
		return at("", "there are no sites: write sites: with a group of them")
	case sites > mostSites:
		return at("sites", "there are %d sites: at most %d", sites, mostSites)
	case s.Topology.Kind == "random" && (s.Topology.Random < 1 || s.Topology.Random >= sites || s.Topology.Random*sites%2 != 0):
		return at("topology", "no graph of %d sites gives each %d neighbours: fewer than there are sites, and one of both numbers even", sites, s.Topology.Random)
	case s.Topology.Kind == "full" && sites > 5000 && s.Brokering.Rule != "none" && s.Brokering.Rule != "oracle":
		return at("topology", "all of %d sites are neighbours of each other: at most 5000, or take {random: 8}", sites)
	case s.Brokering.Homes == "all" && sites > 500:
		return at("brokering.homes", "each of %d sites knows all others: at most 500", sites)
	case s.Links.Delivery > 0 && (s.Links.Bandwidth.Drawn() || s.Links.Bandwidth.Mean > 0 || s.Links.Latency.Drawn() || s.Links.Latency.Mean > 0):
		return at("links", "links have either a delivery time or bandwidth and latency")
	case w.Log.File == "" && (w.Jobs > 0) == (w.PerSite > 0):
		return at("workload", "how many jobs come is missing: write jobs, or jobs_per_site")
	case w.Log.File == "" && (w.Rate > 0) == (w.Load > 0):
		return at("workload", "jobs come at a rate (rate_per_s) or ask for a part of the grid (load): say one of them")
	case w.Log.File == "" && !w.Run.Drawn() && w.Run.Mean == 0:
		return at("workload", "the run time of the jobs is missing: write run_s, as {lognormal: 30, cv: 1}")
	case w.Log.File != "" && (w.Jobs > 0 || w.PerSite > 0 || w.Rate > 0 || w.Load > 0):
		return at("workload", "jobs are taken from a log, or made: jobs, rate_per_s and load are of made ones")
	case (w.Skew.Jobs > 0) != (w.Skew.Sites > 0):
		return at("workload.skew", "skew: so many of the jobs come to so many of the sites: say both")
	case w.Home != "" && !slices.Contains(s.siteNames(), w.Home):
		return at("workload.home", "there is no site %q", w.Home)
	}
	return s.checkMembers(root)
}

// checkMembers looks for neighbours that are no sites.
func (s *spec) checkMembers(root ast.Node) error {
	if s.Topology.Kind != "members" {
		return nil
	}
	known := s.siteNames()
	for from, all := range s.Topology.Members {
		for _, name := range append([]string{from}, all...) {
			if !slices.Contains(known, name) {
				return mistakeAt(form.At(root, "topology.members"), "there is no site %q", name)
			}
		}
	}
	return nil
}

// siteNames are those of all sites, in their order.
func (s *spec) siteNames() (out []string) {
	for _, g := range s.Sites {
		for i := range g.Count {
			name := g.Name
			if g.Count > 1 {
				name = fmt.Sprint(g.Name, i+1)
			}
			out = append(out, name)
		}
	}
	return out
}

// checkPlots looks for figures of what is not there: the axes are those of the file, quick or not.
func (e *Experiment) checkPlots(root ast.Node, axes []string) error {
	for i, p := range e.Plots {
		at := form.At(root, fmt.Sprintf("plots.%d", i))
		known := func(name string) bool { return slices.Contains(axes, name) || metricOf(name) != nil }
		switch {
		case p.File == "" || strings.ContainsAny(p.File, `/\`) || strings.HasPrefix(p.File, "."):
			return mistakeAt(at, "plots: file: a name without a folder and an ending, not %q", p.File)
		case !known(p.X):
			return mistakeAt(at, "plots: x: %q is neither a field with several values (%s) nor a result", p.X, strings.Join(axes, ", "))
		case metricOf(p.Y) == nil:
			return mistakeAt(at, "plots: y: %q is no result", p.Y)
		case !slices.Contains([]string{"", "x", "y", "xy"}, p.Log):
			return mistakeAt(at, "plots: log: x, y or xy")
		}
		for name := range p.Where {
			if !slices.Contains(axes, name) {
				return mistakeAt(at, "plots: where: %q has not several values", name)
			}
		}
	}
	return nil
}
