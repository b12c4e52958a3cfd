package experiment

import (
	"math"
	"strconv"
	"strings"
)

// Results are what an experiment came to.
type Results struct {
	Title   string
	Axes    []string
	Rows    []*Row
	Partial bool // not all runs are in them
}

// Row is what one combination of values came to under one rule.
type Row struct {
	point    *point
	Rule     string
	Values   map[string]string // of the axes that matter to the rule
	Mean, SD map[string]float64
	Seeds    []uint64
	Sites    []Site // means
	Partial  bool   // runs are missing, or one was stopped on its way
}

// results gathers the runs of each point.
func (e *Experiment) results(tasks []*task) *Results {
	r := &Results{Title: e.Title, Axes: e.Axes}
	runs := make(map[string][]*task)
	var keys []string
	for _, t := range tasks {
		if runs[t.key] == nil {
			keys = append(keys, t.key)
		}
		runs[t.key] = append(runs[t.key], t)
	}
	for _, key := range keys {
		first := runs[key][0].of
		oracle := runs[first.keyFor("oracle")]
		if row := newRow(first, runs[key], oracle); row != nil {
			r.Rows = append(r.Rows, row)
			r.Partial = r.Partial || row.Partial
		} else {
			r.Partial = true
		}
	}
	return r
}

// newRow is nil where there is nothing yet. Runs that were stopped count only where no other is there.
func newRow(p *point, tasks, oracle []*task) *Row {
	row := &Row{point: p, Rule: p.Brokering.Rule, Values: make(map[string]string), Mean: make(map[string]float64), SD: make(map[string]float64)}
	for path, v := range p.values {
		if path != "brokering.rule" && matters(row.Rule, path) {
			row.Values[path] = v
		}
	}
	whole := false
	for _, t := range tasks {
		whole = whole || t.got != nil && !t.got.partial
	}
	samples := make(map[string][]float64)
	for i, t := range tasks {
		if t.got == nil || t.got.partial && (whole || t.got.values["jobs"] == 0) {
			row.Partial = true
			continue
		}
		row.Partial = row.Partial || t.got.partial
		row.Seeds = append(row.Seeds, t.seed)
		for name, v := range t.got.values {
			samples[name] = append(samples[name], v)
		}
		if i < len(oracle) && oracle[i].got != nil && !oracle[i].got.partial && !t.got.partial {
			samples["oracle_ratio"] = append(samples["oracle_ratio"], t.got.values["mean_response_s"]/oracle[i].got.values["mean_response_s"])
		}
		row.addSites(t.got.bySite)
	}
	if len(row.Seeds) == 0 {
		return nil
	}
	for name, all := range samples {
		row.Mean[name], row.SD[name] = meanAndDeviation(all)
	}
	for i := range row.Sites {
		s, n := &row.Sites[i], float64(len(row.Seeds))
		s.Utilisation, s.Response, s.Slowdown = s.Utilisation/n, s.Response/n, s.Slowdown/n
		s.Jobs, s.Ran = int(math.Round(float64(s.Jobs)/n)), int(math.Round(float64(s.Ran)/n))
	}
	return row
}

// addSites adds up what the runs were for each site.
func (r *Row) addSites(sites []Site) {
	if r.Sites == nil {
		r.Sites = append(r.Sites, sites...)
		return
	}
	for i, s := range sites {
		t := &r.Sites[i]
		t.Utilisation, t.Response, t.Slowdown = t.Utilisation+s.Utilisation, t.Response+s.Response, t.Slowdown+s.Slowdown
		t.Jobs, t.Ran = t.Jobs+s.Jobs, t.Ran+s.Ran
	}
}

// meanAndDeviation are those of a sample; of one value the deviation is 0.
func meanAndDeviation(all []float64) (mean, sd float64) {
	for _, v := range all {
		mean += v
	}
	mean /= float64(len(all))
	if len(all) < 2 {
		return mean, 0
	}
	for _, v := range all {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(all)-1))
}

// rounded keeps nine digits, in which all machines agree.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// shortName is the last name of a path, or two where the last says nothing alone.
func shortName(path string) string {
	words := strings.Split(path, ".")
	switch last := words[len(words)-1]; last {
	case "random", "poisson", "lognormal", "exponential", "share", "walltime_factor", "jobs", "sites", "count":
		return strings.Join(words[max(0, len(words)-2):], ".")
	default:
		return last
	}
}
