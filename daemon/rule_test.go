package daemon

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/overlay/topology"
)

// The rule of the file is read with all it may say, chooses of the members, and a mistake in it is told with its place.
func TestRuleOfTheFile(t *testing.T) {
	t.Parallel()
	const members = "members:\n  - {name: b, peer: " + peerA + ", tags: [gpu, big], organisation: x}\n  - {name: c, peer: " + peerB + "}\n"
	r := parseNeighbours("f", []byte("topology: {rule: nearest, degree: 3, by: bandwidth, tags: [gpu], at_most: 5, always: [c], organisations: [x], accept: true}\n"+members), "a", "")
	want := topology.Rule{Kind: topology.Nearest, Degree: 3, Bandwidth: true, Tags: []string{"gpu"}, Organisations: []string{"x"}, Always: []grid.SiteName{"c"}, AtMost: 5}
	if len(r.mistakes) > 0 || !reflect.DeepEqual(r.rule, want) || !r.accept {
		t.Errorf("%v, %+v", r.mistakes, r.rule)
	}
	n := Neighbourhood{Members: r.members, Rule: topology.Rule{Tags: []string{"gpu"}}}
	if got := n.Chosen("self", nil); len(got) != 1 || got[0].Name != "b" || got[0].Organisation != "x" {
		t.Errorf("of the members %+v are chosen", got)
	}
	for text, why := range map[string]string{
		"topology: {rule: star}":                    "topology: there is no rule",
		"topology: {rule: ring, degree: 3}":         "even",
		"topology: {rule: random, degree: 5000}":    "out of range",
		"topology: {rule: nearest, by: colour}":     "no measure",
		"topology: {degree: 3}":                     "has no field rule",
		"topology: {rule: full, tags: [Not A Tag]}": "f:1:",
		"grid_key: ../grid.key":                     "no name of a file beside this one",
	} {
		r := parseNeighbours("f", []byte(text+"\nmembers: []\n"), "a", "")
		if err := r.sorted().OrNil(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	for _, m := range r.members { // what an edit writes is read as the same again
		again := parseNeighbours("f", []byte("members:\n"+strings.Join(memberLines(m, "  "), "\n")+"\n"), "a", "")
		if len(again.members) != 1 || !sameMember(m, again.members[0]) {
			t.Errorf("%+v became %+v", m, again.members)
		}
	}
}

// Neighbours that the rule has accepted stay, whether or not they are proposed now; those of the file are there once.
func TestAcceptedStay(t *testing.T) {
	t.Parallel()
	b, c, d := grid.Member{Name: "b", Peer: peerA}, grid.Member{Name: "c", Peer: peerB}, grid.Member{Name: "d", Peer: "d"}
	r := ruling{file: Neighbourhood{Members: []grid.Member{b}}, accepted: map[grid.PeerID]bool{peerA: true, peerB: true}}
	if got := r.known([]grid.Member{b, c, d}); !reflect.DeepEqual(got, []grid.Member{b, c}) {
		t.Errorf("the rule chooses of %+v", got)
	}
}

// A member that the rule drops keeps its last measure, so that the rule does not take it for one that is not measured yet.
func TestPassedOverKeepsItsMeasure(t *testing.T) {
	t.Parallel()
	b, c := grid.Member{Name: "b", Peer: peerA}, grid.Member{Name: "c", Peer: peerB}
	n := Neighbourhood{Members: []grid.Member{b, c}, Rule: topology.Rule{Kind: topology.Nearest, Degree: 1}}
	r := ruling{file: n, measured: map[grid.PeerID]measure{}}
	at := time.Unix(1, 0)
	r.note(b.Peer, grid.Link{RTTFine: 0.02}, at)
	r.note(c.Peer, grid.Link{RTTFine: 0.01, Rates: []grid.Rate{{Size: 1, BytesPerSecond: 5, Measured: true}, {Size: 2, BytesPerSecond: 9}}}, at)
	r.note(b.Peer, grid.Link{}, at.Add(time.Hour)) // no link of it is looked at any more
	if k := r.seen()[c.Peer]; k.RTT != 0.01 || k.Bandwidth != 5 {
		t.Errorf("seen: %+v", k)
	}
	chosen := n.Chosen("self", r.seen())
	passed := r.passed(n.Members, chosen)
	if len(chosen) != 1 || chosen[0].Name != "c" || len(passed) != 1 || passed[0].Name != "b" || passed[0].link.RTTFine != 0.02 || !passed[0].at.Equal(at) {
		t.Errorf("chosen %+v, passed over %+v", chosen, passed)
	}
}

// Words of a rule that no member has are told.
func TestIdleWords(t *testing.T) {
	t.Parallel()
	n := Neighbourhood{
		Members: []grid.Member{{Name: "b", Tags: []string{"gpu"}, Organisation: "x"}},
		Rule:    topology.Rule{Always: []grid.SiteName{"b", "nobody"}, Tags: []string{"gpu", "cpu"}, Organisations: []string{"x", "y"}},
	}
	want := "topology: always: no member is called nobody|topology: tags: no member has the tag cpu|topology: organisations: no member is of y"
	if got := strings.Join(n.Idle(), "|"); got != want {
		t.Errorf("got %s", got)
	}
}
