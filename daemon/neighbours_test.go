package daemon

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gbroker/grid"
	"gbroker/overlay"
)

func TestNeighboursMistakes(t *testing.T) {
	t.Parallel()
	const at = "neighbours.yaml:"
	for _, c := range []struct{ text, want string }{
		{"members: 3\n", at + "1:10: members is the number 3: write a list, one per line with a dash, or [a, b]"},
		{"member: []\n", at + `1:1: unknown field "member": did you mean "members"?`},
		{"members:\n  -\n", at + "2:5: an entry of members is empty: write a value or remove the dash"},
		{"members: [x]\n", at + `1:11: the member is the text "x": write fields, such as name: …`},
		{"members:\n  - send: true\n", at + "2:5: the member has no field name: write name: NAME\n" +
			at + "2:5: the member has no field peer: write peer: PEERID, as `gbroker id` prints it at that site"},
		{"members:\n  - name: b\n    peer: " + peerA[:30] + "\n", at + "3:11: peer: \"" + peerA[:30] + "\" is no peer ID: copy the line that `gbroker id` prints at that site"},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    adress: /ip4/1.2.3.4/tcp/1\n", at + `4:5: unknown field "adress": did you mean "addresses"?`},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    addresses: [1.2.3.4:5]\n", at + `4:17: addresses: "1.2.3.4:5" is no multiaddress: write /ip4/1.2.3.4/tcp/5`},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    addresses: [/ip4/0.0.0.0/tcp/5]\n", at + `4:17: addresses: "/ip4/0.0.0.0/tcp/5" is no address to dial: write the address under which this machine reaches the other one`},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    addresses: [/ip4/1.2.3.4/tcp/0]\n", at + "4:17: addresses: \"/ip4/1.2.3.4/tcp/0\" has port 0, which nobody listens on: write the port of the other broker, as its `gbroker id` prints it"},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    addresses: [/ip4/1.2.3.4/tcp/5/p2p/" + peerB + "]\n", at + "4:17: addresses: the address is of peer " + peerB + ", but the member is " + peerA + ": one of them belongs to another site"},
		{"members: [{name: b, peer: " + peerA + ", addresses: [/ip6/::1/tcp/2]}]\n", at + "1:93: addresses is a mapping: write a text, between quotes if it holds a colon"},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    send: yes\n", at + `4:11: send is the text "yes": write true or false`},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    rate_limit: 1Gbit/s\n", at + `4:17: rate_limit: "1Gbit/s" counts bits: write bytes per second, an eighth of it, such as 125MB for 1Gbit/s`},
		{"members:\n  - name: b\n    peer: " + peerA + "\n    default_bandwidth: 0\n", at + "4:24: default_bandwidth: 0 is out of range: write 1 to 1024TiB"},
		{"members:\n  - {name: b, peer: " + peerA + "}\n  - {name: b, peer: " + peerB + "}\n", at + `3:12: name: "b" is the name of the member in line 2 already: names differ`},
		{"members:\n  - {name: b, peer: " + peerA + "}\n  - {name: c, peer: " + peerA + "}\n", at + "3:21: peer: " + peerA + " is the member in line 2 already: a site stands here once"},
		{"members:\n  - {name: b, peer: " + peerA + ", via: hub}\n", at + "2:3: members: via of b names hub, which is no member: write the name of one"},
		{"relay: {at_most: 0}\nmembers: []\n", at + "1:18: at_most: 0 is out of range: write 1 to 1000"},
		{"members: [{name: here, peer: " + peerA + "}]\n", at + `1:18: name: "here" is this site itself: give the other one another name`},
	} {
		if got := parseNeighbours("neighbours.yaml", []byte(c.text), "here", "").sorted().Error(); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
	if r := parseNeighbours("n", []byte("relay: {}\nmembers: [{name: b, peer: "+peerA+"}, {name: c, peer: "+peerB+", via: b}]\n"), "here", ""); len(r.mistakes) > 0 ||
		*r.relay != (overlay.Relay{Rate: 1_000_000, AtMost: 16}) || r.members[1].Via != "b" {
		t.Errorf("a relay, and a member through it: %+v, %+v, %v", r.relay, r.members, r.mistakes)
	}
	own := parseNeighbours("n", []byte("members: [{name: b, peer: "+peerA+"}]"), "here", peerA).sorted().Error()
	if want := "n:1:27: peer: " + peerA + " is this site itself: copy the line that `gbroker id` prints at the other site"; own != want {
		t.Errorf("the own peer:\n got %s\nwant %s", own, want)
	}
}

func TestNeighboursRead(t *testing.T) {
	t.Parallel()
	r := parseNeighbours("n", []byte("members:\n  - name: b\n    peer: "+peerA+"\n    addresses: /ip4/1.2.3.4/tcp/5/p2p/"+peerA+
		"\n  - {name: c, peer: "+peerB+", send: false, rate_limit: 2MB/s, default_bandwidth: 1MiB, addresses: [/dns4/h.org/tcp/1, '/ip6/::1/tcp/2']}\n"), "a", "")
	want := []grid.Member{
		{Name: "b", Peer: peerA, Addresses: []string{"/ip4/1.2.3.4/tcp/5"}, Send: true, DefaultBandwidth: grid.DefaultBandwidth},
		{Name: "c", Peer: peerB, Addresses: []string{"/dns4/h.org/tcp/1", "/ip6/::1/tcp/2"}, RateLimit: 2e6, DefaultBandwidth: 1 << 20},
	}
	if len(r.mistakes) > 0 || !reflect.DeepEqual(r.members, want) {
		t.Errorf("\n got %+v %v\nwant %+v", r.members, r.mistakes, want)
	}
	for _, empty := range []string{"", "# none\n", "members:\n", "members: []\n"} {
		if r := parseNeighbours("n", []byte(empty), "a", ""); len(r.mistakes) > 0 || len(r.members) > 0 {
			t.Errorf("%q gave %v, %v", empty, r.members, r.mistakes)
		}
	}
}

// A file that was cut short has no members, and does not say that there are none: the old ones stay.
func TestNeighboursCutShort(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	for text, wrong := range map[string]bool{"": true, "# none\n": true, "topology: {rule: full}\n": true, "members:\n": false, "members: []\n": false} {
		if err := os.WriteFile(c.Neighbours, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := LoadNeighbours(c)
		if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "write members: []") {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

// TestEditKeepsTheRest adds and removes one member in files of all layouts, and
// looks at every byte.
func TestEditKeepsTheRest(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	set := func(text string) {
		if err := os.WriteFile(c.Neighbours, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	get := func() string {
		text, err := os.ReadFile(c.Neighbours)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	m := grid.Member{Name: "new", Peer: peerB, Addresses: []string{"/ip4/1.2.3.4/tcp/5", "/ip6/::1/tcp/6"}, Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	block := func(indent string) string { return strings.Join(memberLines(m, indent), "\n") + "\n" }
	old := "name: old\n    # deep inside\n    peer: " + peerA
	flow := "{name: old, peer: " + peerA + "}"
	for _, x := range []struct{ name, before, after, back string }{
		{"empty file", "", "members:\n" + block("  "), "members: []\n"},
		{"comment only", "# mine\n", "# mine\nmembers:\n" + block("  "), "# mine\nmembers: []\n"},
		{"empty flow", "# mine\nmembers: [] # so far\n# end\n", "# mine\nmembers: # so far\n" + block("  ") + "# end\n", "# mine\nmembers: [] # so far\n# end\n"},
		{"null", "members:\n# end\n", "members:\n" + block("  ") + "# end\n", "members: []\n# end\n"},
		{"block", "members:\n  # the old one\n  - " + old + " # ä\n\n# end\n", "members:\n  # the old one\n  - " + old + " # ä\n" + block("  ") + "\n# end\n", ""},
		{"block at margin", "members:\n- " + flow + "\n", "members:\n- " + flow + "\n" + block(""), ""},
		{"no newline at the end", "members:\n  - " + old, "members:\n  - " + old + "\n" + strings.TrimSuffix(block("  "), "\n"), ""},
		{"flow", "members: [" + flow + "] # ä\n", "members: [" + flow + ", " + memberFlow(m) + "] # ä\n", ""},
		{"flow on lines", "members: [\n  " + flow + "\n]\n", "members: [\n  " + flow + "\n, " + memberFlow(m) + "]\n", "members: [\n  " + flow + "\n]\n"},
	} {
		set(x.before)
		if again, err := AddNeighbour(t.Context(), c, m); err != nil || again || get() != x.after {
			t.Errorf("%s: add gave %v, %v:\n got %q\nwant %q", x.name, again, err, get(), x.after)
			continue
		}
		if again, err := AddNeighbour(t.Context(), c, m); err != nil || !again || get() != x.after {
			t.Errorf("%s: a second add gave %v, %v: %q", x.name, again, err, get())
		}
		if x.back == "" {
			x.back = x.before
		}
		if err := RemoveNeighbour(t.Context(), c, "new"); err != nil || get() != x.back {
			t.Errorf("%s: remove gave %v:\n got %q\nwant %q", x.name, err, get(), x.back)
		}
	}
}

func TestRemoveTakesItsComment(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	text := "members:\n  # of one\n  - {name: one, peer: " + peerA + "}\n  # of two, which\n  # has more to say\n  - name: two\n    peer: " + peerB + "\n"
	if err := os.WriteFile(c.Neighbours, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := RemoveNeighbour(t.Context(), c, "two"); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(c.Neighbours)
	if want := "members:\n  # of one\n  - {name: one, peer: " + peerA + "}\n"; string(got) != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	m := grid.Member{Name: "b", Peer: peerA, Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	if _, err := AddNeighbour(t.Context(), c, m); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(c.Neighbours)
	for _, bad := range []grid.Member{
		{Name: "b", Peer: peerB, DefaultBandwidth: 1},
		{Name: "c", Peer: peerA, DefaultBandwidth: 1},
		{Name: "b", Peer: peerA, Send: false, DefaultBandwidth: grid.DefaultBandwidth},
		{Name: "here", Peer: peerB, DefaultBandwidth: 1},
	} {
		if _, err := AddNeighbour(t.Context(), c, bad); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%+v gave %v", bad, err)
		}
	}
	if err := RemoveNeighbour(t.Context(), c, "x"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("removing nobody gave %v", err)
	}
	if after, _ := os.ReadFile(c.Neighbours); string(after) != string(before) {
		t.Errorf("refused edits changed the file to %q", after)
	}
}

// TestEditsAtOnce: none of many simultaneous edits is lost.
func TestEditsAtOnce(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	var wait sync.WaitGroup
	for _, m := range []grid.Member{{Name: "b", Peer: peerA, DefaultBandwidth: 1}, {Name: "c", Peer: peerB, DefaultBandwidth: 1}} {
		wait.Go(func() {
			if _, err := AddNeighbour(t.Context(), c, m); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := LoadNeighbours(c); err != nil || len(got.Members) != 2 {
		t.Errorf("the file holds %v, %v", got, err)
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	line := Line("b", peerA, []string{"/ip4/1.2.3.4/tcp/5", "/ip6/::1/tcp/6"})
	m, err := ParseLine(line)
	want := grid.Member{Name: "b", Peer: peerA, Addresses: []string{"/ip4/1.2.3.4/tcp/5", "/ip6/::1/tcp/6"}, Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	if err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%q became %+v, %v", line, m, err)
	}
	for _, bad := range []string{"", "b", "B " + peerA, "b nobody", "b " + peerA + " 1.2.3.4:5", "b " + peerA + " /ip4/1.2.3.4/tcp/5/p2p/" + peerB} {
		if m, err := ParseLine(bad); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q became %+v, %v", bad, m, err)
		}
	}
}
