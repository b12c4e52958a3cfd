package daemon

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/internal/mail"
	"gbroker/plan"
	"gbroker/reserve"
)

// What the file says of files, mail, reservations, prices and networks is what the configuration has: each field, and no other.
func TestEachFieldIsRead(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := func(text string) grid.Tick {
		w, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return grid.InstantOf(w)
	}
	for text, want := range map[string]func(c *Config){
		"outbound: [10.0.0.0/8, 192.0.2.7]": func(c *Config) {
			c.Outbound = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}
		},
		"files: {read: [/a, b], write: [/w], watch: in, known_hosts: k, credentials: /c, cache: 1GiB, patience: 3s}": func(c *Config) {
			c.Files = FilesConfig{Read: []string{"/a", "/site/b"}, Write: []string{"/w"}, Watch: "/site/in", KnownHosts: "/site/k", Credentials: "/c", Cache: 1 << 30, Patience: 3 * time.Second}
		},
		"mail: {from: a@b.org, server: \"m.org:25\", tls: tls, authorities: ca, credentials: /c, to: [B.org, c.org], per_hour: 7}": func(c *Config) {
			c.Mail = MailConfig{From: "a@b.org", Host: "m.org", Port: 25, Security: mail.TLS, Authorities: "/site/ca", Credentials: "/c", To: []string{"b.org", "c.org"}, PerHour: 7}
		},
		"mail: {from: a@b.org, server: m.org, per_hour: 3600}": func(c *Config) {
			c.Mail = MailConfig{From: "a@b.org", Host: "m.org", Security: c.Mail.Security, PerHour: 3600}
		},
		"mail: {from: a@b.org, server: \"[::1]:465\"}": func(c *Config) { c.Mail.From, c.Mail.Host, c.Mail.Port = "a@b.org", "::1", 465 },
		"mail: {from: a@b.org, server: \"[::1]\"}":     func(c *Config) { c.Mail.From, c.Mail.Host = "a@b.org", "::1" },
		"mail: {from: a@b.org, program: bin/sendmail, tls: none}": func(c *Config) {
			c.Mail.From, c.Mail.Program, c.Mail.Security = "a@b.org", "/site/bin/sendmail", mail.Plain
		},
		"reservations: {offered: false}":   func(c *Config) { c.Reservations.Offered = false },
		"reservations: {offered: 'false'}": func(c *Config) { c.Reservations.Offered = false },
		"reservations: {offered: true}":    func(*Config) {},
		"reservations: {member: {number: 3, node_hours: 4, horizon: 5d}, user: {number: 1}, deliveries: {horizon: 1m}, uplink: 5MB/s}": func(c *Config) {
			c.Reservations.Member = QuotaConfig{3, 4, 5 * day}
			c.Reservations.User.Number, c.Reservations.Deliveries.Horizon, c.Reservations.Uplink = 1, time.Minute, 5e6
		},
		"reservations: {maintenance: [{name: pump, from: 2027-01-31T18:00:00Z, until: 2027-01-31T19:00:00.7+00:30, nodes: [n1, n2]}, {name: all, from: 2027-02-01T00:00:00Z, until: 2027-02-01T00:00:01Z}]}": func(c *Config) {
			c.Reservations.Maintenance = []reserve.Window{
				{Name: "pump", Start: at("2027-01-31T18:00:00Z"), End: at("2027-01-31T18:30:00Z"), Nodes: []grid.NodeName{"n1", "n2"}},
				{Name: "all", Start: at("2027-02-01T00:00:00Z"), End: at("2027-02-01T00:00:01Z")},
			}
		},
		"prices: {base: 2, priority: 0.5, share: 0.25, hours: [{from: 22:00, to: 6:05, factor: 0.5}, {from: 0:00, to: 23:59, factor: 0}], users: [{site: b, user: ann, factor: 3}, {site: c, factor: 0}]}": func(c *Config) {
			c.Prices = &plan.Pricing{Base: 2, Priority: 0.5, Share: 0.25, Zone: time.Local, Hours: []plan.Hours{
				{From: 22 * grid.Hour, To: 6*grid.Hour + 5*grid.Minute, Factor: 0.5}, {From: 0, To: 24*grid.Hour - grid.Minute},
			}}
			c.PricedUsers = []PricedUser{{"b", "ann", 3}, {"c", "", 0}}
		},
		"budgets: {ann: 1.5, bob: 0}":                    func(c *Config) { c.Budgets = map[string]grid.Amount{"ann": 1_500_000, "bob": 0} },
		"sandboxes: scratch":                             func(c *Config) { c.Sandboxes = "/site/scratch" },
		"data: /d":                                       func(c *Config) { c.Data = "/d" },
		"forget_after: 2d":                               func(c *Config) { c.ForgetAfter = 2 * day },
		"administrators: [ann, bob]":                     func(c *Config) { c.Administrators = []string{"ann", "bob"} },
		"listen: [/ip4/127.0.0.1/tcp/1, /ip6/::1/tcp/2]": func(c *Config) { c.Listen = []string{"/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/2"} },
		"architecture: arm":                              func(c *Config) { c.Architecture = "arm" },
		"operating_system: LINUX":                        func(c *Config) { c.System = "LINUX" },
	} {
		got, wanted := Default("/site"), Default("/site")
		wanted.Site = "a"
		want(&wanted)
		wrong := parseConfig(&got, "gbroker.yaml", []byte("site: a\n"+text+"\n"))
		if len(wrong) > 0 || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s: %v\n%+v\nnot\n%+v", text, wrong, got, wanted)
		}
	}
}

// Each value that cannot be is told, where a neighbour of it can.
func TestValuesThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"prices: {base: 1, hours: [{from: 23:59, to: 24:00, factor: 1}]}": `"24:00" is no time of day`,
		"prices: {base: 1, hours: [{from: 1:5, to: 2:00, factor: 1}]}":    `"1:5" is no time of day`,
		"prices: {base: 1, hours: [{from: 01:60, to: 2:00, factor: 1}]}":  `"01:60" is no time of day`,
		"prices: {base: 1, hours: [{from: x:00, to: 2:00, factor: 1}]}":   `"x:00" is no time of day`,
		"prices: {base: 1, hours: [{from: 01:0x, to: 2:00, factor: 1}]}":  `"01:0x" is no time of day`,
		"prices: {base: 1e7}":                                                                                             "prices.base: 1e7 is out of range",
		"mail: {from: a@b.org, server: \"m:65536\"}":                                                                      `"65536" is no port`,
		"mail: {from: a@b.org, server: \"m:x\"}":                                                                          `"x" is no port`,
		"mail: {from: a@b.org, server: \"m:0\"}":                                                                          `"0" is no port`,
		"mail: {from: a@b.org, server: \"m_x y\"}":                                                                        "is no name of a host",
		"mail: {from: a@b.org, server: m, per_hour: 0}":                                                                   "mail.per_hour: 0 is out of range",
		"mail: {from: a@b.org, server: m, program: /p}":                                                                   "by a server or by a program",
		"mail: {from: a@b.org, program: /p, credentials: /c}":                                                             "are for a server",
		"mail: {from: a@b.org, program: /p, authorities: /c}":                                                             "are for a server",
		"mail: {from: a@b.org, server: m, tls: none, credentials: /c}":                                                    "only over TLS",
		"reservations: {offered: maybe}":                                                                                  `"maybe" is not known`,
		"reservations: {member: {number: 0}}":                                                                             "reservations.member.number: 0 is out of range",
		"reservations: {member: {number: 10001}}":                                                                         "reservations.member.number: 10001 is out of range",
		"reservations: {user: {node_hours: 0}}":                                                                           "reservations.user.node_hours: 0 is out of range",
		"reservations: {deliveries: {horizon: 1s}}":                                                                       "reservations.deliveries.horizon: 1s is out of range",
		"reservations: {maintenance: [{name: p, from: 2027-01-31T18:00:00Z, until: 2027-01-31T18:00:00Z}]}":               "the window ends at",
		"reservations: {maintenance: [{name: p, from: 2027-01-31, until: 2027-02-01T18:00:00Z}]}":                         "is no instant",
		"reservations: {maintenance: [{name: p, from: 2027-01-31T18:00:00Z, until: 2027-01-31T18:00:01Z, nodes: [a b]}]}": "nodes",
		"files: {patience: 999ms}":                                                                                        "files.patience: 999ms is out of range",
		"files: {cache: -1}":                                                                                              "files.cache: -1 is out of range",
		"files: {read: [/a, /a]}":                                                                                         "is here twice",
		"outbound: [10.0.0.0/33]":                                                                                         "outbound",
		"listen: a:70000":                                                                                                 `"a:70000" is no multiaddress: write it like`,
		"listen: :80":                                                                                                     `":80" is no multiaddress: write /ip4/0.0.0.0/tcp/80`,
		"listen: \"[::1]:80\"":                                                                                            `"[::1]:80" is no multiaddress: write /ip6/::1/tcp/80`,
		"listen: /ip4/1.2.3.4/tcp/1/ws":                                                                                   "goes on after the port: write /ip4/1.2.3.4/tcp/1",
		"listen: /unix/a":                                                                                                 "is not reached by TCP",
		"api: localhost":                                                                                                  "is no HOST:PORT",
	} {
		c := Default("/site")
		got := parseConfig(&c, "gbroker.yaml", []byte("site: a\n"+text+"\n"))
		if len(got) != 1 || !strings.Contains(got[0].Text, wrong) {
			t.Errorf("%s: %v, not %q", text, got, wrong)
		}
	}
}

// An address at which another broker is reached has a host that can be dialled and a port, and may name the broker.
func TestDialAddress(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct{ address, peer, wrong string }{
		"/ip4/192.0.2.1/tcp/4010":                            {"/ip4/192.0.2.1/tcp/4010", "", ""},
		"/dns4/b.org/tcp/1/p2p/" + peerA:                     {"/dns4/b.org/tcp/1", peerA, ""},
		"/ip4/192.0.2.1/tcp/0":                               {"", "", "has port 0"},
		"/ip4/0.0.0.0/tcp/1":                                 {"", "", "is no address to dial"},
		"/ip6/::/tcp/1":                                      {"", "", "is no address to dial"},
		"/ip4/192.0.2.1/tcp/1/ws":                            {"", "", "goes on after the port: write /ip4/192.0.2.1/tcp/1"},
		"/ip4/192.0.2.1/tcp/1/p2p/" + peerA + "/p2p-circuit": {"", "", "goes on after the port"},
		"/ip4/192.0.2.1/udp/1":                               {"", "", "is not reached by TCP"},
		"/ip4/192.0.2.1":                                     {"", "", "is not reached by TCP"},
		"/unix/a/tcp/1":                                      {"", "", "by TCP"},
		"b.org:4010":                                         {"", "", "write /dns4/b.org/tcp/4010"},
		"192.0.2.1:4010":                                     {"", "", "write /ip4/192.0.2.1/tcp/4010"},
		"b org:1":                                            {"", "", "write it like"},
		"/ip4/192.0.2.1/tcp/" + strings.Repeat("1", 600):     {"", "", "is too long"},
	} {
		address, peer, err := dialAddress(text)
		if address != c.address || peer != c.peer || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%.60s: %q, %q, %v", text, address, peer, err)
		}
	}
}

// A factor holds for the neighbour of that name, as long as it is one, and for one of its users or all.
func TestPricesForTheNeighbours(t *testing.T) {
	t.Parallel()
	c := Config{}
	members := []grid.Member{{Name: "b", Peer: peerA}, {Name: "c", Peer: peerB}}
	if c.prices(members) != nil {
		t.Error("nothing is said of prices")
	}
	c.Prices = &plan.Pricing{Base: 2, Users: map[grid.User]float64{{Name: "old"}: 1}}
	c.PricedUsers = []PricedUser{{"b", "ann", 3}, {"c", "", 0.5}, {"gone", "x", 7}}
	want := map[grid.User]float64{{Home: peerA, Name: "ann"}: 3, {Home: peerB}: 0.5}
	if got := c.prices(members); got.Base != 2 || !reflect.DeepEqual(got.Users, want) || len(c.Prices.Users) != 1 {
		t.Errorf("%+v", got)
	}
}
