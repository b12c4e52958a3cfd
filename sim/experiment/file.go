package experiment

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"gbroker/internal/form"
	"gbroker/sim/workload"
)

// spec is one point of an experiment: the file with each list replaced by one of its values.
type spec struct {
	Title        string    `yaml:"title"`
	Sites        []group   `yaml:"sites"`
	Topology     topology  `yaml:"topology"`
	Links        links     `yaml:"links"`
	Workload     jobs      `yaml:"workload"`
	Brokering    brokering `yaml:"brokering"`
	Seed         uint64    `yaml:"seed"`
	Replications int       `yaml:"replications"`
	Vary         string    `yaml:"vary"`
	Plots        []Plot    `yaml:"plots"`
}

// group is like sites.
type group struct {
	Name      string `yaml:"name"`
	Count     int    `yaml:"count"`
	Cores     number `yaml:"cores"`
	PerNode   int    `yaml:"cores_per_node"`
	Speed     number `yaml:"speed"`
	Policy    string `yaml:"policy"`
	LocalLoad number `yaml:"local_load"`
	Partition int64  `yaml:"partition"`
	Away      away   `yaml:"away"`
}

type away struct {
	Share float64 `yaml:"share"`
	Up    float64 `yaml:"up_s"`
	Down  float64 `yaml:"down_s"`
}

type links struct {
	Delivery  float64 `yaml:"delivery_s"`
	Bandwidth number  `yaml:"bandwidth_mb_s"`
	Latency   number  `yaml:"latency_s"`
}

type jobs struct {
	Jobs        int     `yaml:"jobs"`
	PerSite     int     `yaml:"jobs_per_site"`
	Rate        float64 `yaml:"rate_per_s"`
	Load        float64 `yaml:"load"`
	Gaps        float64 `yaml:"gaps_cv"`
	Cores       number  `yaml:"cores"`
	Run         number  `yaml:"run_s"`
	Over        number  `yaml:"walltime_factor"`
	Bytes       number  `yaml:"bytes_mb"`
	Users       int     `yaml:"users"`
	Home        string  `yaml:"home"`
	Skew        skew    `yaml:"skew"`
	LocalShare  float64 `yaml:"local_share"`
	Strategists struct {
		Share  float64 `yaml:"share"`
		Over   number  `yaml:"walltime_factor"`
		Copies int     `yaml:"copies"`
		Cancel float64 `yaml:"cancel_s"`
	} `yaml:"strategists"`
	Log log `yaml:"log"`
}

type skew struct {
	Jobs  float64 `yaml:"jobs"`
	Sites float64 `yaml:"sites"`
}

type log struct {
	File    string  `yaml:"file"`
	Deal    string  `yaml:"deal"`
	SpeedUp float64 `yaml:"speed_up"`
	First   int     `yaml:"first"`
}

type brokering struct {
	Rule       string  `yaml:"rule"`
	Reevaluate float64 `yaml:"reevaluate_s"`
	ViewAge    float64 `yaml:"view_age_s"`
	Views      string  `yaml:"views"`
	Knowledge  string  `yaml:"knowledge"`
	Homes      string  `yaml:"homes"`
	Tell       float64 `yaml:"tell_s"`
}

// Plot is a figure that is drawn of the results.
type Plot struct {
	File  string            `yaml:"file"`
	Title string            `yaml:"title"`
	X     string            `yaml:"x"`
	Y     string            `yaml:"y"`
	Where map[string]string `yaml:"where"`
	Log   string            `yaml:"log"`
}

// defaults are what a file that says nothing gets.
func defaults() spec {
	s := spec{Seed: 1, Replications: 1, Vary: "all"}
	s.Topology.Kind = "full"
	s.Workload.Cores, s.Workload.Over = number{workload.Value(1)}, number{workload.Value(1)}
	s.Workload.Strategists.Over, s.Workload.Strategists.Copies = number{workload.Value(1)}, 1
	s.Workload.Strategists.Cancel = 5
	s.Workload.Log = log{Deal: "partitions", SpeedUp: 1}
	s.Brokering = brokering{Rule: "core", Views: "first", Knowledge: "requested", Homes: "neighbours"}
	return s
}

// ReadNode reads a group over its defaults.
func (g *group) ReadNode(d *form.Decoder, n ast.Node, what string) {
	type plain group
	*g = group{Name: "site", Count: 1, Speed: number{workload.Value(1)}, Policy: "fcfs", Partition: -1}
	d.Read(n, (*plain)(g), what)
}

// topology says who has whom for a neighbour.
type topology struct {
	Kind    string // full, ring, grid, random or members
	Random  int
	Members map[string][]string
}

// ReadNode reads a word, or one of the two forms with more to say.
func (t *topology) ReadNode(d *form.Decoder, n ast.Node, what string) {
	*t = topology{}
	if s, ok := n.(*ast.StringNode); ok {
		t.Kind = s.Value
		return
	}
	var says struct {
		Random  *int                `yaml:"random"`
		Members map[string][]string `yaml:"members"`
	}
	before := len(d.Mistakes)
	d.Read(n, &says, what)
	switch {
	case says.Random != nil && says.Members == nil:
		t.Kind, t.Random = "random", *says.Random
	case says.Members != nil && says.Random == nil:
		t.Kind, t.Members = "members", says.Members
	case len(d.Mistakes) == before:
		d.Note(n, "topology is one of full, ring, grid, {random: DEGREE} and {members: {SITE: [SITE, ...]}}")
	}
}

// number is one value, or a distribution.
type number struct{ workload.Numbers }

// ReadNode reads a number by its form.
func (v *number) ReadNode(d *form.Decoder, n ast.Node, what string) {
	if _, ok := n.(ast.MapNode); !ok {
		var x float64
		d.Read(n, &x, what)
		*v = number{workload.Value(x)}
		return
	}
	var says struct {
		From        float64   `yaml:"from"`
		To          float64   `yaml:"to"`
		Poisson     *float64  `yaml:"poisson"`
		Exponential *float64  `yaml:"exponential"`
		Lognormal   *float64  `yaml:"lognormal"`
		CV          float64   `yaml:"cv"`
		Choose      []float64 `yaml:"choose"`
	}
	before := len(d.Mistakes)
	d.Read(n, &says, what)
	of := workload.Numbers{Kind: workload.Uniform, From: says.From, To: says.To, CV: says.CV, Of: says.Choose}
	forms := 0
	for kind, mean := range map[workload.Kind]*float64{workload.Poisson: says.Poisson, workload.Exponential: says.Exponential, workload.Lognormal: says.Lognormal} {
		if mean != nil {
			of.Kind, of.Mean, forms = kind, *mean, forms+1
		}
	}
	if says.Choose != nil {
		of.Kind, forms = workload.Choose, forms+1
	}
	*v = number{of}
	if wrong := v.check(forms); wrong != nil && len(d.Mistakes) == before {
		d.Note(n, "%v", wrong)
	}
}

// check says why it is no distribution; nil if it is one.
func (v *number) check(forms int) error {
	d := &v.Numbers
	switch {
	case forms > 1:
		return errors.New("a number has one form: poisson, exponential, lognormal, choose, or from and to alone")
	case d.To != 0 && d.To < d.From, d.Kind == workload.Uniform && d.To <= d.From:
		return fmt.Errorf("from %v to %v: there is nothing between them", d.From, d.To)
	case d.Kind == workload.Poisson && !(d.Mean > 0 && d.Mean <= workload.MostPoisson):
		return fmt.Errorf("poisson: %v: the mean is above 0 and at most %d", d.Mean, workload.MostPoisson)
	case (d.Kind == workload.Exponential || d.Kind == workload.Lognormal) && !(d.Mean > 0):
		return fmt.Errorf("the mean of a distribution is above 0, not %v", d.Mean)
	case d.Kind == workload.Lognormal && !(d.CV > 0 && d.CV <= 20):
		return fmt.Errorf("lognormal: cv: %v: the deviation, as a part of the mean, is above 0 and at most 20", d.CV)
	case d.Kind != workload.Lognormal && d.CV != 0:
		return errors.New("cv is a field of lognormal alone")
	case d.Kind == workload.Choose && (len(d.Of) == 0 || len(d.Of) > 1000):
		return errors.New("choose: from 1 to 1000 values")
	}
	return nil
}

// least and most are the bounds of what may be drawn; false where there is no upper one.
func (v *number) bounds() (least, most float64, bounded bool) {
	d := &v.Numbers
	switch d.Kind {
	case workload.Constant:
		return d.Mean, d.Mean, true
	case workload.Choose:
		least, most = d.Of[0], d.Of[0]
		for _, x := range d.Of {
			least, most = min(least, x), max(most, x)
		}
		return least, most, true
	}
	return d.From, d.To, d.To > 0
}
