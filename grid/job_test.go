package grid

import (
	"reflect"
	"strings"
	"testing"
)

func TestLimitsOfAProgram(t *testing.T) {
	t.Parallel()
	var p Program
	for _, name := range []LimitName{LimitStack, LimitCore, LimitMemory, LimitStack} {
		p.SetLimit(name, int64(len(p.Limits)))
	}
	want := []Limit{{LimitCore, 1}, {LimitMemory, 2}, {LimitStack, 3}}
	if err := CheckLimits(p.Limits); err != nil || !reflect.DeepEqual(p.Limits, want) {
		t.Errorf("%v, %v", p.Limits, err)
	}
	if v, has := p.Limit(LimitMemory); v != 2 || !has {
		t.Error(v, has)
	}
	if _, has := p.Limit(LimitCPU); has {
		t.Error("a limit that was not set")
	}
	for _, bad := range [][]Limit{{{"moon", 1}}, {{LimitCore, -1}}, {{LimitMemory, 0}}, {{LimitCore, 1}, {LimitCore, 1}}, {{LimitStack, 1}, {LimitCore, 1}}, {{LimitCPU, MaxLimitValue + 1}}} {
		if CheckLimits(bad) == nil {
			t.Errorf("%v are limits", bad)
		}
	}
}

func TestURIs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://h/a?b=c:d@e", "sftp://me@h:22/a", "file:/data/x", "s3://b/k", "http://[::1]:80/", "urn:x:y"} {
		if err := CheckURI(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "x", "/a", ":a", "1a:b", "https:", "http://h/a b", "http://h/é", "http://h/\n", "ftp://me:hush@h/", "ftp://me:h@sh@h/", "h:" + strings.Repeat("x", MaxURI)} {
		if err := CheckURI(bad); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMeasures(t *testing.T) {
	t.Parallel()
	m := Measure{ClockSpeed, []Interval{{Low: 1, High: 2, HighOpen: true}, {Low: 3, LowOpen: true}}}
	for v, holds := range map[float64]bool{0.9: false, 1: true, 1.9: true, 2: false, 3: false, 3.1: true, 1e12: true} {
		if m.Holds(v) != holds {
			t.Errorf("%v: %v", v, !holds)
		}
	}
	if err := CheckMeasures([]Measure{{Bandwidth, m.Within}, m}); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]Measure{{m, m}, {m, {Bandwidth, m.Within}}, {{"moon", m.Within}}, {{ClockSpeed, nil}}, {{ClockSpeed, []Interval{{Low: 2, High: 1}}}}, {{ClockSpeed, []Interval{{Low: 2, High: 2, LowOpen: true}}}}} {
		if CheckMeasures(bad) == nil {
			t.Errorf("%v are measures", bad)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	const id = "xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV"
	good := Terms{
		NotBefore: 1, Deadline: 2, Priority: -MaxPriority, Fee: MaxFee,
		After:  []Dependency{{AfterOK, id}, {AfterCorr, id + ".all"}, {After, id + ".7"}, {Kind: Singleton}},
		Notify: []Notice{{OnEnd, "mailto:a@b.org"}, {OnFail, "https://h/x"}},
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Terms{
		{NotBefore: 2, Deadline: 2}, {Deadline: -1}, {Priority: MaxPriority + 1}, {Fee: -1}, {After: []Dependency{{"moon", id}}}, {After: []Dependency{{AfterOK, ""}}},
		{After: []Dependency{{Singleton, id}}}, {Notify: []Notice{{"moon", "mailto:a@b"}}}, {Notify: []Notice{{OnEnd, "a@b"}}},
		{Notify: []Notice{{OnEnd, "mailto:a@b?cc=c@d"}}}, {Notify: []Notice{{OnEnd, "https://me:hush@h/"}}}, {Notify: make([]Notice, MaxNotices+1)},
	} {
		if err := bad.Check(); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v are terms: %v", bad, err)
		}
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	c := Choice{Only: []SiteName{"a", "b"}, Prefer: []SiteName{"b"}, Not: []SiteName{"c"}}
	if err := c.Check(); err != nil || !c.Allows("a") || c.Allows("c") || c.Allows("d") {
		t.Error(err)
	}
	if free := (Choice{Not: []SiteName{"c"}}); !free.Allows("d") || free.Allows("c") {
		t.Error(free)
	}
	for _, bad := range []Choice{{Only: []SiteName{"a", "a"}}, {Only: []SiteName{"A"}}, {Only: []SiteName{"a"}, Not: []SiteName{"a"}}, {Only: []SiteName{"a"}, Prefer: []SiteName{"b"}}} {
		if bad.Check() == nil {
			t.Errorf("%+v is a choice", bad)
		}
	}
	for _, bad := range []string{"-A", "a b", "a;b", strings.Repeat("a", MaxAccount+1)} {
		if CheckAccount(bad) == nil {
			t.Errorf("%q is an account", bad)
		}
	}
	if CheckHosts([]string{"n1.cluster", "N-2"}) != nil || CheckHosts([]string{"n1", "n1"}) == nil || CheckHosts([]string{"-n"}) == nil || CheckHosts([]string{""}) == nil {
		t.Error("hosts")
	}
}

// What a job says in any part counts: an account of memory that leaves one out is none.
func TestDocumentSize(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 1000)
	for what, set := range map[string]func(*Job){
		"a source":      func(j *Job) { j.Sources = []Source{{URI: word}} },
		"a target":      func(j *Job) { j.Outputs = []Output{{URI: word}} },
		"a host":        func(j *Job) { j.Demand.Hosts = []string{word} },
		"a dependency":  func(j *Job) { j.Terms.After = []Dependency{{On: word}} },
		"a notice":      func(j *Job) { j.Terms.Notify = []Notice{{To: word}} },
		"a text":        func(j *Job) { j.About.Description = word },
		"an annotation": func(j *Job) { j.About.Annotations = []string{word} },
	} {
		var j Job
		before := j.DocumentSize()
		set(&j)
		if j.DocumentSize() < before+1000 {
			t.Errorf("%s does not count", what)
		}
	}
}
