package daemon

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gbroker/grid"
	"gbroker/internal/localfs"
	"gbroker/overlay"
)

// InitOptions is what an administrator says of a new site.
type InitOptions struct {
	Dir    string
	Site   grid.SiteName
	Pool   string // where the agents of a pool of desktops call, HOST:PORT; "" is no pool but
	Found  Found  // the batch system; none is the embedded one, with
	Nodes  int
	Cores  int // of each node
	Speed  float64
	Listen string
	API    string // "" for none
	Socket string // "" for gbroker.sock in Dir
}

// DefaultInit is what `gbroker init` takes where nothing is said: a site of one node, this machine.
func DefaultInit() InitOptions {
	d := Default("/")
	return InitOptions{
		Nodes: d.Batch.Nodes, Cores: d.Batch.Cores,
		Speed: d.Speed, Listen: d.Listen[0],
	}
}

// Init makes the folder of a site. It overwrites nothing: if any of its files is
// there, nothing is written and the error (fs.ErrExist) lists them all.
func Init(o InitOptions) (Config, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Config{}, fmt.Errorf("making a site in %s: %w", o.Dir, err)
	}
	if o.Socket == "" {
		if o.Socket = socketName; len(filepath.Join(dir, socketName)) > maxSocketPath {
			return Config{}, fmt.Errorf("the path of the socket %s would have %d bytes and the kernel takes %d: choose a shorter one with --socket, or a shorter --dir: %w",
				filepath.Join(dir, socketName), len(filepath.Join(dir, socketName)), maxSocketPath, grid.ErrInvalid)
		}
	}
	text := configText(o)
	c := Default(dir)
	if wrong := parseConfig(&c, configName, []byte(text)); len(wrong) > 0 {
		return Config{}, fmt.Errorf("the site cannot be made so: %w:\n%s", grid.ErrInvalid, texts(wrong))
	}
	if there := existing(c); len(there) > 0 {
		return Config{}, fmt.Errorf("%s holds a site already, which is left as it is: %s: choose another --dir, or move these away: %w",
			dir, strings.Join(there, ", "), fs.ErrExist)
	}
	return c, write(c, text)
}

// existing lists what init would overwrite.
func existing(c Config) []string {
	var there []string
	for _, path := range []string{c.File, c.Neighbours, c.IdentityFile(), c.TokenFile(), c.Data} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, filepath.Base(path))
		}
	}
	return there
}

// write makes the files. gbroker.yaml comes last: where it is, a site is complete.
// What an attempt that failed has written, it takes away again.
func write(c Config, text string) (err error) {
	if err := os.MkdirAll(c.Dir(), 0o755); err != nil {
		return fmt.Errorf("making the folder of the site: %w", err)
	}
	var made []string
	defer func() {
		if err != nil {
			for _, path := range made {
				_ = os.Remove(path)
			}
		}
	}()
	for _, step := range []struct {
		path string
		make func(string) error
	}{
		{c.Data, func(p string) error { return os.Mkdir(p, 0o700) }},
		{c.IdentityFile(), func(p string) error { _, err := overlay.CreateKey(p); return err }},
		{c.TokenFile(), func(p string) error { return localfs.Create(p, []byte(rand.Text()+rand.Text()+"\n"), 0o600) }},
		{c.Neighbours, func(p string) error { return localfs.Create(p, []byte(neighboursText), 0o644) }},
		{filepath.Join(c.Dir(), firstStartName), func(p string) error { return localfs.Create(p, []byte(firstStartText), 0o644) }},
		{c.File, func(p string) error { return localfs.Create(p, []byte(text), 0o644) }},
	} {
		if err := step.make(step.path); err != nil {
			return fmt.Errorf("making the site: %w", err)
		}
		made = append(made, step.path)
	}
	return nil
}

// texts is what is wrong, without positions in a file nobody has seen.
func texts(ms Mistakes) string {
	var lines []string
	for _, m := range ms {
		lines = append(lines, m.Text)
	}
	return strings.Join(lines, "\n")
}

// configText is gbroker.yaml for a new site, with every field that has a default shown as a comment.
func configText(o InitOptions) string {
	api := "# api: 127.0.0.1:4080"
	if o.API != "" {
		api = "api: " + quoted(o.API)
	}
	return fmt.Sprintf(configTemplate, quoted(string(o.Site)), quoted(o.Listen), api, quoted(o.Socket),
		formatNumber(o.Speed), batchText(o))
}

// batchText is the batch system in it.
func batchText(o InitOptions) string {
	f := o.Found
	if o.Pool != "" {
		return fmt.Sprintf(poolTemplate, quoted(o.Pool))
	}
	if f.System == "" {
		return fmt.Sprintf(embeddedTemplate, o.Nodes, o.Cores)
	}
	var b strings.Builder
	fmt.Fprintf(&b, externalTemplate, f.Version, quoted(f.System), quoted(f.Commands))
	if len(f.Environment) > 0 {
		b.WriteString("  environment:\n")
	}
	for _, e := range f.Environment {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "    %s: %s\n", name, quoted(value))
	}
	switch {
	case f.System == Slurm:
		fmt.Fprintf(&b, operatorText, "slurm")
	case f.Maui != "":
		fmt.Fprintf(&b, "  # its scheduler is Maui, with its commands here\n  maui: %s\n"+operatorText, quoted(f.Maui), "maui")
	case f.System == Torque:
		b.WriteString("  # whether its scheduler is Maui: true, or the folder of its commands\n  # maui: false\n")
	case f.SchedConfig != "":
		fmt.Fprintf(&b, "  # the policy of its scheduler is read from\n  sched_config: %s\n"+operatorText, quoted(f.SchedConfig), "pbsreserve")
	default:
		fmt.Fprintf(&b, "  # the policy of its scheduler is read from this file, if it can be\n  # sched_config: /var/spool/pbs/sched_priv/sched_config\n"+operatorText, "pbsreserve")
	}
	return b.String() + externalRest
}

// quoted writes s as YAML: plain where that is safe, else between single quotes.
func quoted(s string) string {
	plain := s != ""
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789._-:", rune(c))) {
			plain = false
		}
	}
	if plain && !strings.HasSuffix(s, ":") && s != "true" && s != "false" && s != "null" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

const configTemplate = `# The configuration of one gbroker site. It is read when the daemon starts;
# check it with: gbroker check --config FILE
# Relative paths are relative to the folder of this file. What stands behind a #
# is the default.

# The name of this site: a-z 0-9 - _. Jobs handed in here are called NAME.01ABC...
site: %s

# Where other brokers reach this one (a list may stand here). [] only dials out.
listen: %s

# HTTP for programs of this machine; needs the token in api.token. Left out: none.
%s

# Where users of this machine reach the broker; at most 107 bytes as an absolute path.
socket: %s

# Journal and sandboxes: on a local disk, not a network file system.
data: data

# The sandboxes elsewhere, such as on the file system that the nodes of a cluster share.
# sandboxes: data/jobs

# How fast a core is; 1 is the reference machine. A job's walltime is divided by it.
speed: %s

%s
# The other sites; taken up at once when it changes.
neighbours: neighbours.yaml

# Users who may see, cancel and remove all jobs.
# administrators: []

# Ended jobs and their files go when either limit is passed, the oldest first.
# retention: {days: 30, bytes: 50GiB}

# What the jobs of one user may take together until they end: how many, how many processes
# that wait, the bytes of their documents, the bytes of the files that they bring; and the
# files of the jobs that one neighbour has offered and not yet handed over.
# limits: {jobs: 10000, processes: 100000, documents: 256MiB, bytes: 1TiB, offered: 1TiB}

# The limit of a job that names none.
# default_walltime: 1h

# How long a decision waits for the estimates of other sites.
# estimate_deadline: 2s

# When a job that waits here moves on: how often that is looked into if nothing changes,
# and at most; the least gain, beside 0.5 %% of the time to its end; how long it then stays;
# when it starts too soon to move. 0s for these three is an eighth of settle: for jobs of seconds.
# tell: how often neighbours hear at most when jobs would start here, such as 2s; 0s: never, and each search asks all.
# reevaluation: {interval: 1m, settle: 5s, margin: 30s, cooldown: 5s, soon: 15s, tell: 2s}

# What measuring the network may cost: a share of the time, and bytes to each neighbour; 0 learns from files alone.
# netmon: {time_share: 0.01, bytes_per_hour: 3MiB}

# debug, info, warn or error
# log: {level: info, format: text}     # format: json for programs

# What the users of one neighbour, and each user, may reserve here at one time; how much of the uplink deliveries
# may; and under maintenance when you need nodes yourself (docs/operating.md).
# reservations: {member: {number: 200}, user: {number: 20, horizon: 14d}}     # node_hours: 500, and uplink: 50MB/s

# What jobs of other sites pay for a core and hour; left out, nothing.
# prices: {base: 1, hours: [{from: "22:00", to: "6:00", factor: 0.5}]}

# What users of this site may pay at others that have prices, in all; who is left out may pay anything.
# budgets: {alice: 1000}

# What every node has, for jobs that ask for it; left out, such jobs go elsewhere.
# each_node: {disk: 400GB, clock: 2.4GHz, bandwidth: 10Gbit/s}

# In the words of JSDL; left out, those of this machine.
# architecture: x86_64
# operating_system: LINUX
`

const embeddedTemplate = `batch:
  # embedded runs the jobs on this machine, under the daemon's own user.
  system: embedded
  nodes: %d
  # of each node; nodes x cores may exceed what the machine has
  cores: %d
  # of each node, such as 64GiB; left out, memory is not counted
  # memory: 64GiB
  # who starts: fcfs, firstfit[:N], easy[:K[:ORDER]], easysjbf, cons-rebuild, cons-compress
  # policy: easy
  # queues: [short, long]
`

// docs/desktops.md says more of each line.
const poolTemplate = `batch:
  # computers that stay their owners'; each joins with a code of: gbroker pool invite --config FILE
  system: pool
  # where their agents call
  listen: %s
  # how they call it where that is another address, as through a firewall
  # address: pool.example.org:4050
  # how often a computer reports, and after how long without a word its jobs count as cut off
  # interval: 30s
  # silence: 10m
  # which job with a deadline goes first: edf, slack or best; the part of more work with which it must still
  # be in time; the part of a computer that is presumed in hours of which nothing is known
  # rule: edf
  # margin: 0
  # presume: 0.5
  # on how many computers a job that says it may run twice (GBROKER_TWICE=1) runs at once, where
  # these have nothing else to do; 1: on one
  # copies: 2
  # computers of which the result of such a job counts only where another comes to the
  # same, as [desk7, desk9]
  # untrusted: []
`

// docs/batch.md says more of each line.
const externalTemplate = `batch:
  # %s, found on this machine by init; check it with: gbroker doctor --config FILE
  system: %s
  commands: %s
`

const operatorText = `  # the account that may make reservations, if it is not the daemon's own
  # operator: %s
`

const externalRest = `  # how often it is polled if nothing happens, and after how long a command is killed
  # refresh: 10s
  # command_limit: 30s
  # of jobs that name none; what is charged
  # queue: batch
  # account: physics
  # sites whose nodes and those of this one reach each other by TCP; a port of which is offered to
  # the programs of a job over several sites
  # reach: [beta, gamma]
  # ports: 20000-29999
  # under whose account jobs run; left out, all under the daemon's own
  # users: {same: true, map: {alice: a123}, otherwise: refuse}
  # how these are taken on: sudo or root
  # as: sudo
  # false where the nodes do not share the file system of sandboxes
  # nodes_see_jobs: true
  # believed instead of what the system says of its scheduler
  # policy: easy
`

const neighboursText = `# The sites that this broker hears, and with send: true (which is also the default)
# sends jobs to. To add one, run "gbroker id" at the other site and hand its line to
# "gbroker neighbour add" here; then the same the other way round.
#
#   - name: xeon32             # this site's name for it
#     peer: 12D3KooW...        # its identity
#     addresses: [/ip4/192.0.2.7/tcp/4010]
#     send: true
#     rate_limit: 10MB/s       # of file transfers, each way; left out: none
#     default_bandwidth: 10MB/s  # believed until measured
members: []
`
