package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

const (
	peerA = "12D3KooWK99VoVxNE7XzyBwXEzW7xhK7Gpv85r9F3V3fyKSUKPH5"
	peerB = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
)

// Each mistake has one tiny file and its exact words.
func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	const at = "gbroker.yaml:"
	long := strings.Repeat("x", 120)
	for _, c := range []struct{ text, want string }{
		{"", at + "1:1: the file is empty: write at least site: NAME, or let `gbroker init` make a new one"},
		{"# nothing\n", at + "1:1: the file is empty: write at least site: NAME, or let `gbroker init` make a new one"},
		{"- a\n", at + "1:1: the file is a list: write fields, such as site: …"},
		{"speed: 2\n", at + "1:1: the file has no field site: write site: NAME"},
		{"site: a\nadress: b\n", at + `2:1: unknown field "adress": did you mean "listen"?`},
		{"site: a\nsoket: b\n", at + `2:1: unknown field "soket": did you mean "socket"?`},
		{"site: a\nlog: {color: true}\n", at + `2:7: unknown field "color": the fields here are level, format`},
		{"site: a\nlog: {format: xml}\n", at + `2:15: log.format: "xml" is not known: write one of text, json`},
		{"site: a\nsite: b\n", at + "2:1: the field site is here for the second time, first in line 1: remove one"},
		{"site: A b\n", at + `1:7: site: the name "A b" has 'A' at position 1: use a-z 0-9 - _, first a letter or digit`},
		{"site: [a]\n", at + "1:7: site is a list: write a text"},
		{"site:\n", at + "1:7: the field site has no value: write one, or remove the line to get the default"},
		{"site: |\n  a\n  b\n", at + "1:7: site is a text of several lines: write it in one"},
		{"site: a\nlisten: localhost:4010\n", at + `2:9: listen: "localhost:4010" is no multiaddress: to listen, write an address of this machine, /ip4/127.0.0.1/tcp/4010`},
		{"site: a\nlisten: broker.example.org:4010\n", at + `2:9: listen: "broker.example.org:4010" is no multiaddress: to listen, write an address of this machine, /ip4/0.0.0.0/tcp/4010`},
		{"site: a\nlisten: 0.0.0.0:4010\n", at + `2:9: listen: "0.0.0.0:4010" is no multiaddress: write /ip4/0.0.0.0/tcp/4010`},
		{"site: a\nlisten: [/ip4/127.0.0.1/udp/1/quic-v1]\n", at + `2:10: listen: "/ip4/127.0.0.1/udp/1/quic-v1" is not reached by TCP: write it like /ip4/192.0.2.1/tcp/4010`},
		{"site: a\nlisten: /dns4/h/tcp/1\n", at + `2:9: listen: "/dns4/h/tcp/1" names a host: to listen, write an address of this machine, such as /ip4/0.0.0.0/tcp/4010`},
		{"site: a\napi: 0.0.0.0:80\n", at + `2:6: api: "0.0.0.0:80" can be reached from outside: the interface is for this machine alone, write 127.0.0.1:80`},
		{"site: a\napi: 80\n", at + `2:6: api: "80" is no HOST:PORT: write it like 127.0.0.1:4080`},
		{"site: a\nsocket: /" + long + "\n", at + "2:9: socket: the path of the socket has 121 bytes and the kernel takes 107: write a shorter one, such as /run/gbroker/gbroker.sock (it is /" + long + ")"},
		{"site: a\nspeed: 0\n", at + "2:8: speed: 0 is out of range: write a number above 0, at most 1000, where 1 is the reference machine"},
		{"site: a\nspeed: fast\n", at + `2:8: speed: "fast" is no number: write it like 1.5`},
		{"site: a\nspeed: .nan\n", at + "2:8: speed is the number .nan: write a text"},
		{"site: a\nbatch: {system: pool, listen: \"127.0.0.1:0\"}\n", at + `2:31: batch.listen: "127.0.0.1:0" is no HOST:PORT that computers can call: write it as 0.0.0.0:4050`},
		{"site: a\nbatch: {system: pbs}\n", at + `2:17: batch.system: "pbs" is not known: write one of embedded, slurm, torque, openpbs, pool`},
		{"site: a\nbatch:\n  nodes: 0\n  cores: x\n", at + "3:10: batch.nodes: 0 is out of range: write 1 to 65536\n" + at + `4:10: batch.cores: "x" is no whole number: write it like 4`},
		{"site: a\nbatch: {cores: 65536, nodes: 65536}\n", at + "2:9: batch: 65536 nodes of 65536 cores are more than 1048576: declare fewer"},
		{"site: a\nbatch: {memory: 64G}\n", at + `2:17: batch.memory: "64G" has no unit of bytes: write it like 64GiB, 500MB or 1000000 (here 64GiB or 64GB)`},
		{"site: a\nbatch: {policy: slurm}\n", at + `2:17: batch.policy: policy "slurm": there are fcfs, firstfit[:N], easy[:K[:ORDER]], easysjbf, cons-rebuild, cons-compress`},
		{"site: a\nbatch: {memory: -1}\n", at + "2:17: batch.memory: -1 is out of range: a size is 0 to 1024TiB"},
		{"site: a\nbatch: {queues: [q, q]}\n", at + `2:21: batch.queues: "q" is here twice: remove one`},
		{"site: a\nbatch: {queues: [Q]}\n", at + `2:18: batch.queues: the name "Q" has 'Q' at position 1: use a-z 0-9 - _, first a letter or digit`},
		{"site: a\nbatch: {queues: [{name: q, nodes: [n]}]}\n", at + `2:35: nodes: there is no node "n": batch.nodes has 1, the first is "a-1"`},
		{"site: a\nbatch: {queues: [{name: q, nodes: [a-1, a-1]}]}\n", at + `2:41: nodes: "a-1" is here twice: remove one`},
		{"site: a\nbatch: {queues: [{name: q, nodes: []}]}\n", at + `2:35: nodes is an empty list: name some, or leave it out to have all`},
		{"site: a\nbatch: {queues: [{name: q, limit: 0s}]}\n", at + `2:35: limit: 0s is out of range: write 1s to 366d`},
		{"site: a\nbatch: {queues: [{limit: 1h}]}\n", at + `2:19: a queue has no field name: write name: long`},
		{"site: a\nbatch: {queues: [{name: q, node: [a-1]}]}\n", at + `2:28: unknown field "node": did you mean "nodes"?`},
		{"site: a\nbatch: {nodes: []}\n", at + `2:16: batch.nodes is an empty list: write at least one node, or a number of equal ones`},
		{"site: a\nbatch: {nodes: [n]}\n", at + `2:17: a node is the text "n": write fields, such as name: …`},
		{"site: a\nbatch: {nodes: [{}]}\n", at + "2:17: a node has no field name: write name: n1\n" + at + `2:17: a node has no field cores: write cores: 8`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 0}]}\n", at + `2:34: cores: 0 is out of range: write 1 to 65536`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1}, {name: n, cores: 1}]}\n", at + `2:39: batch.nodes: "n" is here twice: give each node a name of its own`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, memory: 5}]}\n", at + `2:45: memory: 5 is out of range: write 1MiB to 1024TiB`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, speed: -1}]}\n", at + `2:44: speed: -1 is out of range: write a number above 0, at most 1000, where 1 is the reference machine`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, resources: gpu}]}\n", at + `2:48: resources is the text "gpu": write names with amounts, such as {gpu: 2}`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, resources: {gpu: 0}}]}\n", at + `2:49: resources: 0 of the resource gpu: an amount is a whole number from 1 to 1099511627776`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, resources: {gpu: many}}]}\n", at + `2:54: resources: "many" is no amount: write a whole number, as in {gpu: 2}, or {"gpu:a100": 2} with quotes around a name with a colon`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, resources: {gpu: 1, gpu: 1}}]}\n", at + `2:57: resources: the resource gpu is named twice: once only, with the sum`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, resources: {cores: 1}}]}\n", at + `2:49: resources: the resource cores is counted by itself: leave it out here`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, properties: [a b]}]}\n", at + `2:50: properties: the name "a b" has ' ' at position 2: use letters, digits and . _ : -, first a letter or digit`},
		{"site: a\nbatch: {nodes: [{name: n, cores: 1, properties: [a, a]}]}\n", at + `2:53: properties: "a" is here twice: remove one`},
		{"site: a\nbatch: {memory: 1GiB, nodes: [{name: n, cores: 1}], cores: 8}\n", at + "2:17: batch.memory is of equal nodes: in a list each node has its own, remove this one\n" +
			at + `2:60: batch.cores is of equal nodes: in a list each node has its own, remove this one`},
		{"site: a\nbatch: {nodes: [" + manyNodes(17) + "]}\n", at + "2:9: batch: the nodes have 1114112 cores, more than 1048576: declare fewer"},
		{"site: a\nadministrators: root\n", at + `2:17: administrators is the text "root": write a list, one per line with a dash, or [a, b]`},
		{"site: a\nadministrators: [a b]\n", at + "2:18: administrators: \"a b\" is no user name: write it as `id -un` prints it"},
		{"site: a\nlimits: {jobs: 0}\n", at + "2:16: limits.jobs: 0 is out of range: write 1 to 1000000"},
		{"site: a\nlimits: {documents: 10kB}\n", at + "2:21: limits.documents: 10kB is out of range: write 1MiB to 1024TiB"},
		{"site: a\nretention: {days: 0}\n", at + "2:19: retention.days: 0 is out of range: write 1 to 3650"},
		{"site: a\ndefault_walltime: 3600\n", at + `2:19: default_walltime: "3600" has no unit: write 3600s for seconds, 3600m for minutes, 3600h for hours`},
		{"site: a\ndefault_walltime: 400d\n", at + "2:19: default_walltime: 400d is out of range: write 1s to 366d"},
		{"site: a\nestimate_deadline: -1s\n", at + `2:20: estimate_deadline: "-1s" is no span of time: write it like 30d, 1h30m or 250ms`},
		{"site: a\nreevaluation: {margin: 1ms}\n", at + "2:24: reevaluation.margin: 1ms is out of range: write 100ms to 1d"},
		{"site: a\nnetmon: {time_share: 2}\n", at + "2:22: netmon.time_share: 2 is out of range: write 0 to 0.5"},
		{"site: a\nlog: {level: loud}\n", at + `2:14: log.level: "loud" is not known: write one of debug, info, warn, error`},
		{"site: a\nprices: {hours: [{from: 25:00, to: 6:60, factor: -1}], share: 2, priority: x}\n", at + `2:10: prices has no field base: write base: 1` + "\n" +
			at + `2:25: prices.hours.from: "25:00" is no time of day: write it like 22:00` + "\n" + at + `2:36: prices.hours.to: "6:60" is no time of day: write it like 22:00` + "\n" +
			at + `2:50: prices.hours.factor: -1 is out of range: write 0 to 1000` + "\n" + at + `2:63: prices.share: 2 is out of range: write 0.001 to 1` + "\n" + at + `2:76: prices.priority: "x" is no number: write it like 1.5`},
		{"site: a\nprices: {base: 1, users: [{site: B!, user: \"\", factor: 1001}]}\n", at + `2:34: prices.users.site: the name "B!" has 'B' at position 1: use a-z 0-9 - _, first a letter or digit` + "\n" +
			at + "2:44: prices.users.user: \"\" is no user name: write it as `id -un` prints it\n" + at + `2:56: prices.users.factor: 1001 is out of range: write 0 to 1000`},
		{"site: a\nbudgets: {alice: -1, bob: 1e10, carol: x, \"\": 1}\n", at + `2:18: budgets: a budget: -1 is out of range: write 0 to 1000000000` + "\n" +
			at + `2:27: budgets: a budget: 1e10 is out of range: write 0 to 1000000000` + "\n" + at + `2:40: budgets: a budget: "x" is no number: write it like 1.5` + "\n" +
			at + "2:43: budgets: \"\" is no user name: write it as `id -un` prints it"},
		{"site: a\neach_node: {disk: 5x, clock: 2.4, bandwidth: 10GB}\n", at + `2:19: each_node.disk: "5x" has no unit of bytes: write it like 64GiB, 500MB or 1000000` + "\n" +
			at + `2:30: each_node.clock: "2.4" is none: write it like 2.4GHz` + "\n" + at + `2:46: each_node.bandwidth: "10GB" is none: write it like 10Gbit/s`},
		{"site: a\nmail: {server: m.org}\n", at + `2:8: mail has no field from: write from: NAME@HOST`},
		{"site: a\nmail: {from: a@b}\n", at + "2:8: mail goes by a server or by a program: write one of them, as server: mail.example.org or program: /usr/sbin/sendmail"},
		{"site: a\nmail: {from: a b, server: m.org:0, tls: ssl, to: [x y], per_hour: 0}\n", at + `2:14: mail.from: "a b" is no address: write NAME@HOST` + "\n" +
			at + `2:27: mail.server: "0" is no port: write 1 to 65535, or leave it out` + "\n" + at + `2:41: mail.tls: "ssl" is not known: write one of starttls, tls, none` + "\n" +
			at + `2:51: mail.to: "x y" is no name of a host: ' ' is not taken` + "\n" + at + `2:67: mail.per_hour: 0 is out of range: write 1 to 3600`},
		{"site: a\nmail: {from: a@b, program: /p, credentials: c}\n", at + `2:8: credentials and authorities are for a server: remove them, or the program`},
		{"site: a\nmail: {from: a@b, server: m, tls: none, credentials: c}\n", at + "2:8: a password is told only over TLS: write tls: starttls or tls: tls, or remove the credentials"},
		{"site: a\narchitecture: amd64\n", at + `2:15: architecture: "amd64" is not known: write one of sparc, powerpc, x86, x86_32, x86_64, parisc, mips, ia64, arm, other`},
		{"site: a\noperating_system: linux\n", at + `2:19: operating_system: "linux" is LINUX in JSDL's words: write LINUX`},
		{"site: &x a\n", at + "1:7: anchors, aliases and tags are not used here: write the value itself"},
		{"site: a\n<<: {speed: 1}\n", at + "2:1: merge keys (<<) are not used here: write the fields out"},
		{"site: a\n---\nsite: b\n", at + "3:1: a second document begins here: the file holds one, remove the line ---"},
		{"site: [a\n", at + "1:7: this is no YAML: the list that begins here with [ has no ]"},
		{"site: a\nbatch:\n\tnodes: 1\n", at + "3:1: this is no YAML: a tab stands here: indent with spaces"},
		{"site: \"\xff\"\nspeed: x\nbogus_field_here: 1\n", at + "1:7: site: the name \"\ufffd\" has 'ï' at position 1: use a-z 0-9 - _, first a letter or digit\n" +
			at + "2:8: speed: \"x\" is no number: write it like 1.5\n" +
			at + `3:1: unknown field "bogus_field_here": the fields here are site, listen, api, socket, data, sandboxes, speed, batch, neighbours, administrators, retention, limits, reservations, default_walltime, estimate_deadline, forget_after, reevaluation, netmon, outbound, files, mail, log, budgets, prices, each_node, architecture, operating_system`},
	} {
		cfg := Default("/site")
		if got := parseConfig(&cfg, "gbroker.yaml", []byte(c.text)).Error(); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestConfigOverDefaults(t *testing.T) {
	t.Parallel()
	c := Default("/site")
	wrong := parseConfig(&c, "gbroker.yaml", []byte(`
site: xeon80
listen: [/ip4/10.0.0.1/tcp/4010, /ip6/::1/tcp/0]
api: "[::1]:4080"
socket: /run/g.sock
data: ../data
speed: 1.5
batch: {nodes: 10, cores: 8, memory: 64GiB, policy: "easy:2:sjf", queues: [short, 2]}
administrators: [root, anna]
retention: {days: 7, bytes: 1.5GB}
limits: {jobs: 5, processes: 6, groups: 7, group_jobs: 8, documents: 7MiB, bytes: 8GiB, offered: 9GiB}
default_walltime: 1d12h
reevaluation: {interval: 2m, settle: 1s, margin: 2s, cooldown: 3s, soon: 4s, tell: 6s}
netmon: {time_share: 0, bytes_per_hour: 0}
log: {level: debug}
operating_system: Solaris
`))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := Default("/site")
	want.Site, want.API, want.Socket, want.Data, want.Speed = "xeon80", "[::1]:4080", "/run/g.sock", "/data", 1.5
	want.Listen = []string{"/ip4/10.0.0.1/tcp/4010", "/ip6/::1/tcp/0"}
	want.Batch = BatchConfig{System: "embedded", Nodes: 10, Cores: 8, Memory: 64 << 30, Policy: plan.Policy{Kind: plan.EASY, Reservations: 2, Order: plan.ShortestFirst}, Ruled: true, Queues: []QueueConfig{{Name: "short"}, {Name: "2"}}, Refresh: 10 * time.Second, External: want.Batch.External}
	want.Administrators = []string{"root", "anna"}
	want.Retention = RetentionConfig{Days: 7, Bytes: 1_500_000_000}
	want.Limits = LimitsConfig{Jobs: 5, Processes: 6, Groups: 7, GroupJobs: 8, SweepJobs: 100_000, SweepWindow: 1000, Documents: 7 << 20, Bytes: 8 << 30, Offered: 9 << 30}
	want.DefaultWalltime = 36 * time.Hour
	want.Reevaluation = ReevaluationConfig{
		Interval: 2 * time.Minute, Settle: time.Second, Margin: 2 * time.Second, Cooldown: 3 * time.Second, Soon: 4 * time.Second, Tell: 6 * time.Second,
	}
	want.Netmon = NetmonConfig{}
	want.LogLevel, want.System = "debug", "Solaris"
	if !reflect.DeepEqual(c, want) {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
	half := NetmonConfig{TimeShare: 0.01}
	if usual := Default("/site").Netmon; !c.Netmon.quiet() || !half.quiet() || usual.quiet() {
		t.Errorf("without bytes or time it is not quiet, or %+v is", usual)
	}
}

func manyNodes(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("{name: n%d, cores: 65536}", i))
	}
	return strings.Join(list, ", ")
}

func TestNodesAndQueues(t *testing.T) {
	t.Parallel()
	c := Default("/site")
	if wrong := parseConfig(&c, "gbroker.yaml", []byte(`
batch:
  queues:
    - all
    - {name: gpu, nodes: [big, b-2], limit: 1d}
  nodes:
    - name: big
      cores: 64
      memory: 512GiB
      resources: {"gpu:a100": 4, licence: 1099511627776}
      speed: 1.5
      properties: [ib, Scratch.1]
    - name: b-2
      cores: 8
      resources:
        "gpu:a100": 1
    - {name: b-3, cores: 8}
site: a
`)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	nodes := []plan.Node{
		{Name: "big", Cores: 64, Memory: 512 << 30, Speed: 1.5, Properties: []string{"ib", "Scratch.1"},
			Resources: []grid.Resource{{Name: "gpu:a100", Amount: 4}, {Name: "licence", Amount: grid.MaxAmount}}},
		{Name: "b-2", Cores: 8, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 1}}}, {Name: "b-3", Cores: 8},
	}
	queues := []plan.Queue{{Name: "all"}, {Name: "gpu", Nodes: []int{0, 1}, Limit: grid.Day}}
	if !reflect.DeepEqual(c.Nodes(), nodes) || !reflect.DeepEqual(c.Queues(), queues) || c.Processes() != 80 {
		t.Errorf("%+v\n%+v\n%d", c.Nodes(), c.Queues(), c.Processes())
	}

	c = Default("/site")
	if wrong := parseConfig(&c, "gbroker.yaml", []byte("batch: {queues: [{name: q, nodes: [s-2]}], nodes: 2, cores: 3, memory: 1GiB}\nsite: s\n")); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	nodes = []plan.Node{{Name: "s-1", Cores: 3, Memory: 1 << 30}, {Name: "s-2", Cores: 3, Memory: 1 << 30}}
	queues = []plan.Queue{{Name: "q", Nodes: []int{1}}}
	if !reflect.DeepEqual(c.Nodes(), nodes) || !reflect.DeepEqual(c.Queues(), queues) || c.Processes() != 6 {
		t.Errorf("%+v\n%+v\n%d", c.Nodes(), c.Queues(), c.Processes())
	}
}

// The nodes and queues of the administrators' page are right.
func TestNodesOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	c := Default("/site")
	if wrong := parseConfig(&c, "page", []byte("site: a\n"+text)); len(wrong) > 0 || c.Processes() != 128 || len(c.Queues()) != 2 {
		t.Errorf("%v\n%+v", wrong, c.Batch)
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"10MB": 1e7, "10MB/s": 1e7, "100": 100} {
		if got, err := ParseRate(s); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"1Gbit", "1Mbit/s", "10bps", "fast", "10MB/h"} {
		if got, err := ParseRate(s); err == nil {
			t.Errorf("ParseRate(%q) = %d, want an error", s, got)
		}
	}
	for s, want := range map[string]string{"5MBps": "like 10MB or 10MB/s (here 5MB/s)", "5M": "like 10MB or 10MB/s (here 5MB/s)", "5 stones": "is no rate: write bytes per second, like 10MB or 10MB/s"} {
		if _, err := ParseRate(s); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("ParseRate(%q): %v, want ...%s", s, err, want)
		}
	}
	for s, want := range map[string]time.Duration{"0": 0, "30d": 720 * time.Hour, "1h30m": 90 * time.Minute, "1d2h": 26 * time.Hour, "250ms": 250 * time.Millisecond, "0.5d": 12 * time.Hour} {
		if got, err := grid.ParseSpan(s); err != nil || got != want {
			t.Errorf("grid.ParseSpan(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "1", "d", "-1d", "NaNd", "1d-2h", "1h 2m", "1w", "99999999d"} {
		if got, err := grid.ParseSpan(s); err == nil {
			t.Errorf("grid.ParseSpan(%q) = %v, want an error", s, got)
		}
	}
}

// TestLoadToldAtOnce: the mistakes of both files come together, the files named as the caller named them.
func TestLoadToldAtOnce(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(c.File, "site: a\nspeed: -1\n")
	write(c.Neighbours, "members:\n  - {name: b, peer: nobody}\n")
	_, err := Load(c.File)
	var wrong Mistakes
	if !errors.As(err, &wrong) || len(wrong) != 2 || wrong[0].File != c.File || wrong[1].File != c.Neighbours {
		t.Fatalf("Load gave %v", err)
	}
	if !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("the mistakes are not of the kind invalid: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), configName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there gave %v", err)
	}
}

// initSite makes a site's folder for a test.
func initSite(t *testing.T) Config {
	t.Helper()
	o := DefaultInit()
	o.Dir, o.Site, o.Socket = filepath.Join(t.TempDir(), "s"), "here", "/tmp/unused.sock"
	c, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(configText(DefaultInit())))
	f.Add([]byte(neighboursText))
	f.Add([]byte("site: a\nbatch: {nodes: 0x10, memory: \"1GiB\"}\nlog: ~\n"))
	f.Add([]byte("site: a\nbatch:\n  nodes:\n  - {name: n, cores: 2, resources: {gpu: 1}, properties: [p]}\n  queues: [{name: q, nodes: [n], limit: 1h}]\n"))
	f.Add([]byte("members:\n- {name: a, peer: " + peerA + "}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default("/site")
		for _, m := range append(parseConfig(&c, "f", data), parseNeighbours("f", data, "a", peerA).sorted()...) {
			if m.Line < 1 || m.Column < 1 || m.Text == "" {
				t.Errorf("a mistake without place or text: %+v", m)
			}
		}
		if c.Batch.Nodes < 1 || c.Batch.Cores < 1 || !(c.Speed > 0) || c.Batch.Memory < 0 {
			t.Errorf("a value out of range was taken: %+v", c)
		}
	})
}
