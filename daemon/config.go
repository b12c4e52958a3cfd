// Package daemon is the composition root: it builds one site from its
// configuration, runs it and takes up changes of its neighbours.
//
// # The folder of a site
//
// `gbroker init` makes it, and every relative path is relative to it:
//
//	gbroker.yaml      the configuration, read at start
//	neighbours.yaml   the members, taken up whenever it changes
//	identity.key      the private key from which the peer ID follows (mode 0600)
//	api.token         the token of the HTTP interface over TCP (mode 0600)
//	ready             exists while the daemon serves; see [Ready]
//	data/             journal, sandboxes, what the overlay remembers
//
// # gbroker.yaml
//
//	site: NAME                   a-z 0-9 - _, at most 63; required
//	listen: ADDRESS              multiaddress over TCP, or a list of them; [] only dials out
//	api: HOST:PORT               HTTP on a loopback address; left out: no TCP
//	socket: PATH                 the unix socket of the users; at most 107 bytes as an absolute path
//	data: FOLDER
//	sandboxes: FOLDER            of the jobs; left out: jobs in the data folder. On a shared file
//	                             system where jobs run on other nodes; the data folder stays on a local disk
//	speed: NUMBER                above 0, at most 1000; 1 is the reference machine
//	batch:
//	  system: embedded|slurm|torque|openpbs
//	  policy: POLICY             fcfs, firstfit[:N], easy[:K[:ORDER]], easysjbf, cons-rebuild or
//	                             cons-compress; left out: easy, or what the system says of itself. See [plan.ParsePolicy]
//
//	                             of the embedded system; the others tell it themselves:
//	  nodes: NUMBER              of equal nodes, called SITE-1, SITE-2, …
//	  cores: NUMBER              on each of them
//	  memory: SIZE               on each of them; left out: not declared, and not counted
//	  nodes: [NODE, …]           instead of these three, where nodes differ
//	  queues: [QUEUE, …]         left out: one queue without a name
//	  file_limit: SIZE           the largest file that a job may write; left out: any
//	  confine: true|false        each job in a control group (version 2) of its own, where one can be
//	                             made; left out: false
//
//	                             of slurm, torque and openpbs:
//	  commands: FOLDER           where its commands are; left out: PATH
//	  environment: {NAME: VALUE} of its commands, besides LC_ALL, TZ, PATH and HOME
//	  refresh: SPAN              how often it is polled if nothing happens; left out: 10s
//	  command_limit: SPAN        after which a command is killed; left out: 30s
//	  queue: LABEL               of jobs that name none; left out: its default
//	  account: LABEL             that is charged; left out: the user's default
//	  reach: [SITE, …]           sites whose nodes and those of this one reach each other by TCP; left out: none
//	  ports: FIRST-LAST          of which one is offered to the programs of a job over several sites; left
//	                             out: 20000-29999
//	  nodes_see_jobs: true|false whether the nodes see the folder of the jobs; left out: true
//	  users: USERS               left out: all jobs run under the daemon's own account
//	  as: sudo|root              how other accounts are taken on; left out: root if the daemon is
//	  maui: true|false|FOLDER    (torque) its scheduler is Maui, and where the commands of that are; left out: false
//	  operator: ACCOUNT          that makes reservations: SlurmUser, an ADMIN of maui.cfg, any but root for
//	                             openpbs; left out: the daemon's own account
//	  sched_config: FILE         (openpbs) of its scheduler, if it can be read here
//	  resources: {LABEL: LABEL}  (openpbs) its name of a resource by ours; left out: gpu is ngpus
//	neighbours: FILE
//	administrators: [USER, …]
//	retention: {days: NUMBER, bytes: SIZE}
//	limits: {jobs: NUMBER, processes: NUMBER, documents: SIZE, bytes: SIZE, offered: SIZE}
//	default_walltime: SPAN
//	estimate_deadline: SPAN
//	forget_after: SPAN           left out: never
//	reevaluation: {interval: SPAN, settle: SPAN, margin: SPAN, cooldown: SPAN, soon: SPAN}
//	netmon: {time_share: NUMBER, bytes_per_hour: SIZE}
//	outbound: [NETWORK, …]       that users may reach by this site (URIs of files, webhooks) although they are
//	                             not of the public internet, such as 10.0.0.0/8 or 127.0.0.1; left out: none
//	files: FILES                 of the URIs in jobs
//	mail: MAIL                   to users, of their jobs; left out: none is sent
//	log: {level: debug|info|warn|error, format: text|json}
//	budgets: {USER: NUMBER, …}   what users of this site may pay at others that have prices, in all, in the unit of the
//	                             prices; who is left out may pay anything
//	prices: PRICES               that jobs of other sites pay; left out: none, and nothing is decided by fees
//	each_node: {disk: SIZE, clock: FREQUENCY, bandwidth: BITRATE}
//	                             what every node has, for jobs that ask for it; a frequency as 2.4GHz, a rate of bits as
//	                             10Gbit/s; left out: not declared
//	architecture: WORD           in JSDL's words; left out: this machine's
//	operating_system: WORD
//
// USERS says under which account a user's jobs run. The users of a neighbour are those of
// the same name here only where neighbours.yaml says same_users; no job runs as root:
//
//	same: true|false             under the account of the user's name; left out: false
//	map: {USER: ACCOUNT, …}      comes before; USER@SITE is a user of a neighbour, by its name here
//	otherwise: ACCOUNT|refuse    all others; left out: refuse
//
// FILES says where inputs by URI come from and outputs go:
//
//	read: [FOLDER, …]            file: may name files below them; left out: none
//	write: [FOLDER, …]           the same for outputs; left out: none
//	known_hosts: FILE            of the keys of sftp servers; left out: users give them
//	credentials: FILE            that all users may use, of mode 0600; see package stage/transfer
//	cache: SIZE                  of inputs from other sites, kept for other jobs of their users; left out: 10GiB
//	patience: SPAN               how long a place is tried; left out: 2m
//
// PRICES are a rate per core and hour, in the unit of the users' fees:
//
//	base: NUMBER                 required
//	priority: NUMBER             what is added to the factor of 1 for each point of the priority of a local job
//	                             that gives way to a reservation; left out: 0
//	hours: [{from: HH:MM, to: HH:MM, factor: NUMBER}, …]
//	                             of the day, in this machine's time; the first that holds counts
//	users: [{site: NAME, user: NAME, factor: NUMBER}, …]
//	                             of a neighbour; without user, of all who have none of their own
//	share: NUMBER                the part of the cores that reservations of other sites may have at one time; left out: all
//
// MAIL says how mail is sent:
//
//	from: NAME@HOST              the sender; required
//	server: HOST[:PORT]          that takes it by SMTP; left out, the port is 587, for tls: tls 465, for none 25
//	tls: starttls|tls|none       left out: starttls; a server that does not offer it gets nothing
//	authorities: FILE            certificates (PEM) that the server's is believed of; left out: the machine's
//	credentials: FILE            for the server, of mode 0600: user: NAME and password: WORD; left out: none
//	program: FILE                that takes what sendmail takes, instead of a server
//	to: [DOMAIN, …]              mail goes to these, and what lies below them; left out: any
//	per_hour: NUMBER             mails of one user; left out: 60. What is more is told together
//
// A NODE is one machine, and a QUEUE the NAME of one that has all nodes, or a
// partition (the nodes of two may overlap):
//
//	name: NAME                   a-z 0-9 - _, at most 63; required
//	cores: NUMBER                required
//	memory: SIZE                 left out: not declared, and not counted
//	resources: {LABEL: NUMBER}   what else it has, at most 16; a LABEL with a colon between quotes
//	speed: NUMBER                left out: the site's
//	properties: [LABEL, …]       what jobs may ask for, at most 16
//
//	name: NAME
//	nodes: [NAME, …]             left out: all
//	limit: SPAN                  the longest that a job may run; left out: any
//
// A LABEL is 1 to 64 letters, digits and . _ : -
//
// # neighbours.yaml
//
//	members:
//	  - name: NAME               this site's alias for the other
//	    peer: PEERID             as `gbroker id` prints it there
//	    addresses: [ADDRESS, …]  where it is dialled; none: it dials us
//	    send: true|false         whether jobs may be sent to it; true if left out
//	    rate_limit: RATE         of file transfers, each way; left out: none
//	    default_bandwidth: RATE  believed until it is measured
//	    same_users: true|false   whether its users are those of the same name here; false if left out
//
// SIZE is a NUMBER with B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB
// (powers of 1024) or no unit (bytes). RATE is a SIZE per second; "/s" may stand
// behind it. SPAN is one or more NUMBER UNIT, UNIT being d, h, m, s or ms: 1h30m.
//
// Both files are read strictly over the defaults: a field that is not listed here,
// one that stands twice, a value of the wrong kind or out of its range is a
// [Mistake] with its line and column, and all of them are told at once. Anchors,
// aliases and tags of YAML are refused.
package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/internal/mail"
	"gbroker/overlay"
	"gbroker/plan"
)

// Names of the files in a site's folder.
const (
	ConfigName     = "gbroker.yaml"
	NeighboursName = "neighbours.yaml"
	SocketName     = "gbroker.sock"
	identityName   = "identity.key"
	tokenName      = "api.token"
	readyName      = "ready"
	dataName       = "data"
)

// MaxSocketPath is how long the path of a unix socket may be, in bytes: the
// kernel's sun_path without the final zero.
const MaxSocketPath = 107

// Limits of the configuration.
const (
	maxNodes  = 65536 // of a site
	maxCores  = 65536 // of a node
	maxQueues = 64
	maxAdmins = 256
	maxListen = 16
)

// Config is one site as its administrator wrote it. All paths are absolute.
type Config struct {
	// File is gbroker.yaml itself; its folder is the site's.
	File string
	// Site is the name by which this site calls itself, and under which its jobs
	// are known for ever: change it and old identifiers name a site that is gone.
	Site grid.SiteName
	// Listen are the multiaddresses for other brokers. An address in all networks
	// (0.0.0.0) is easy; one address keeps other networks out. None: this site only
	// dials out, and two such sites do not meet.
	Listen []string
	// API is HOST:PORT of the HTTP interface, always loopback; "" has none. The unix
	// socket knows its users by the kernel's word, TCP only by a token.
	API string
	// Socket is the users' unix socket.
	Socket string
	// EmptyJournal begins with an empty journal where it is lost. It is no field of the file: it is
	// meant once.
	EmptyJournal bool
	// Data is the folder of journal and sandboxes. It must be on a local disk, and
	// large enough for the files of all jobs that wait, run or are retained.
	Data string
	// Sandboxes is the folder of the jobs' own; "" is jobs in Data. Where jobs run on
	// other machines it must be on a file system that these share, under the same path.
	Sandboxes string
	// Speed is how fast a core is beside the reference machine's. Too high a value
	// draws jobs here that would end sooner elsewhere.
	Speed float64
	Batch BatchConfig
	// Neighbours is the file of the members, and Neighbourhood what it held when it was read.
	Neighbours string
	Neighbourhood
	// Administrators are users of this machine who may see, cancel and remove every
	// job; root and the daemon's own user are always among them.
	Administrators []string
	Retention      RetentionConfig
	Limits         LimitsConfig
	// DefaultWalltime limits a job that names no limit. A long one keeps the plan
	// from filling gaps, a short one kills jobs whose users forgot.
	DefaultWalltime time.Duration
	// EstimateDeadline is how long a decision waits for the others' estimates. A
	// short one leaves distant sites out, a long one delays every placement while a site is down.
	EstimateDeadline time.Duration
	// ForgetAfter starts a rerunnable job again, at a new term, when the site that has it
	// was not heard for so long; 0 is never. A short one runs jobs twice where only the network was cut.
	ForgetAfter  time.Duration
	Reevaluation ReevaluationConfig
	Netmon       NetmonConfig
	// Outbound are networks that users may reach by this site although they are not public. One too many lets
	// a user speak, as the site, with what trusts it.
	Outbound     []netip.Prefix
	Files        FilesConfig
	Mail         MailConfig
	Reservations ReservationsConfig
	// LogLevel is debug, info, warn or error.
	LogLevel string
	// LogFormat is text, lines for people, or json.
	LogFormat string
	// Each is what every node of the site has, for jobs that ask for it. It is believed, not measured: what
	// is not declared meets no such job.
	Each grid.Each
	// Budgets are what users of this site may pay at others, in all; who is not named may pay anything.
	Budgets map[string]grid.Amount
	// Prices are what jobs of other sites pay; nil is nothing.
	Prices      *plan.Pricing
	PricedUsers []PricedUser
	// Architecture and System are told to jobs that ask for one, in JSDL's words.
	Architecture, System string
}

// BatchConfig is the local batch system.
type BatchConfig struct {
	// System is Embedded, where jobs run on this machine under the daemon's user, Pool, or one of External.
	System string
	// Nodes and Cores (of each) are declared, and may exceed the real ones: jobs then share them.
	Nodes, Cores int
	// Memory is that of each node, in bytes. 0 is not declared: no job is refused
	// for its memory, and none is counted.
	Memory int64
	// Policy decides which waiting job starts. Strict ones (fcfs) leave nodes idle,
	// reckless ones (firstfit) let large jobs wait for long.
	// That of an external system is its own; one that is written here (Ruled) is believed instead.
	Policy plan.Policy
	Ruled  bool
	// List are nodes that differ; nil where there are Nodes equal ones.
	List   []plan.Node
	Queues []QueueConfig
	// FileLimit is the largest file that a job of the embedded system may write, in bytes; 0
	// is any. A small one ends honest jobs, none lets one job fill the disk of all.
	FileLimit int64
	// Confine puts each job of the embedded system into a control group of its own, so that
	// what it asked of memory is a limit for all its processes together.
	Confine bool
	// Refresh is how often the batch system is looked at if nothing happens. Shorter knows
	// sooner of what others do there, and asks its controller more.
	Refresh  time.Duration
	External ExternalConfig
	Pool     PoolConfig
}

// RetentionConfig is how long ended jobs and their files are kept: a job goes when
// either limit is passed, the oldest first.
type RetentionConfig struct {
	Days  int
	Bytes int64
}

// LimitsConfig bounds what one user, or one neighbour, can make this site hold. Low ones
// refuse honest work, high ones let one fill what all need.
type LimitsConfig struct {
	// Jobs are those of one user that have not ended, and Processes those of them that wait.
	Jobs, Processes int
	// Documents are the bytes of their documents (arguments, variables, lists of files), which
	// are in the journal and partly in memory; Bytes are those of the files that they bring.
	Documents, Bytes int64
	// Groups are those of one user that have not ended, and GroupJobs the jobs of one group.
	Groups, GroupJobs int
	// SweepJobs are those of one sweep, of which SweepWindow are under way at most.
	SweepJobs, SweepWindow int
	// Offered are the bytes of the files of the jobs that one neighbour has offered and not yet handed over.
	Offered int64
}

// ReevaluationConfig says when a job that waits here is moved to a better place.
type ReevaluationConfig struct {
	// Interval is how often a place is searched anew where nothing changes. Shorter
	// follows the other sites sooner, and asks them more.
	Interval time.Duration
	// Settle is the least time between two searches, however much changes.
	Settle time.Duration
	// Margin is what a job must gain at least. A small one moves jobs, with their
	// files, for differences that may be gone when they arrive. 0 is an eighth of Settle.
	Margin time.Duration
	// Cooldown is how long a job stays where it has come to; 0 is Margin.
	Cooldown time.Duration
	// Soon: a job that is to start within it stays; 0 is Margin.
	Soon time.Duration
}

// NetmonConfig bounds what measuring costs. More of either finds a change of the
// network sooner.
type NetmonConfig struct {
	TimeShare    float64 // of the time, in which a measurement may be under way; 0 to 0.5
	BytesPerHour int64   // sent to each neighbour for measuring; 0 learns from real transfers only
}

// Default is the configuration of a site in dir whose file says nothing.
func Default(dir string) Config {
	return Config{
		File:             filepath.Join(dir, ConfigName),
		Listen:           []string{"/ip4/0.0.0.0/tcp/4010"},
		Socket:           filepath.Join(dir, SocketName),
		Data:             filepath.Join(dir, dataName),
		Speed:            1,
		Batch:            defaultBatch(),
		Neighbours:       filepath.Join(dir, NeighboursName),
		Retention:        RetentionConfig{Days: 30, Bytes: 50 << 30},
		Limits:           LimitsConfig{Jobs: 10000, Processes: 100_000, Documents: 256 << 20, Bytes: grid.MaxSandbox, Groups: 1000, GroupJobs: grid.MaxGroup, SweepJobs: grid.MaxSweep, SweepWindow: core.DefaultWindow, Offered: grid.MaxSandbox},
		DefaultWalltime:  time.Hour,
		EstimateDeadline: 2 * time.Second,
		Reevaluation:     ReevaluationConfig{Interval: time.Minute, Settle: 5 * time.Second},
		Netmon:           NetmonConfig{TimeShare: 0.02, BytesPerHour: 256 << 20},
		Files:            FilesConfig{Patience: 2 * time.Minute, Cache: 10 << 30},
		Mail:             MailConfig{Security: mail.StartTLS, PerHour: 60},
		Reservations:     defaultReservations(),
		LogLevel:         "info",
		LogFormat:        "text",
		Architecture:     architecture(runtime.GOARCH),
		System:           operatingSystem(runtime.GOOS),
	}
}

func defaultBatch() BatchConfig {
	return BatchConfig{
		System: Embedded, Nodes: 1, Cores: runtime.NumCPU(), Policy: plan.Policy{Kind: plan.EASY, Reservations: 1},
		Refresh: 10 * time.Second, External: ExternalConfig{CommandLimit: 30 * time.Second},
	}
}

// Dir is the site's folder.
func (c Config) Dir() string { return filepath.Dir(c.File) }

// JobsFolder is where the folders of the jobs are.
func (c Config) JobsFolder() string {
	if c.Sandboxes != "" {
		return c.Sandboxes
	}
	return filepath.Join(c.Data, "jobs")
}

// IdentityFile holds the private key.
func (c Config) IdentityFile() string { return filepath.Join(c.Dir(), identityName) }

// TokenFile holds the token of the HTTP interface over TCP.
func (c Config) TokenFile() string { return filepath.Join(c.Dir(), tokenName) }

// ReadyFile exists while the daemon serves.
func (c Config) ReadyFile() string { return filepath.Join(c.Dir(), readyName) }

// Load reads a site's configuration with its members. Where the files are wrong the
// error is Mistakes with everything that is; where they cannot be read, another.
// The identity key must be there: a member that is this site itself is refused.
func Load(file string) (Config, error) {
	c, wrong, err := loadConfig(file)
	if err != nil {
		return c, err
	}
	key, err := overlay.LoadKey(c.IdentityFile())
	if err != nil {
		return c, err
	}
	n, more, err := loadNeighbours(c, shown(file, c.Neighbours), overlay.PeerIDOf(key))
	if err != nil {
		return c, err
	}
	c.Neighbourhood = n
	return c, append(wrong, more...).orNil()
}

// LoadConfig reads gbroker.yaml alone, for who may not read the site's identity.
func LoadConfig(file string) (Config, error) {
	c, wrong, err := loadConfig(file)
	if err != nil {
		return c, err
	}
	return c, wrong.orNil()
}

// loadConfig reads gbroker.yaml alone, over the defaults.
func loadConfig(file string) (Config, Mistakes, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return Config{}, nil, fmt.Errorf("reading the configuration: %w", err)
	}
	c := Default(filepath.Dir(path))
	c.File = path
	data, err := readBounded(path)
	var big Mistakes
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil, fmt.Errorf("there is no configuration %s: `gbroker init` makes one: %w", file, fs.ErrNotExist)
	case errors.As(err, &big):
		return c, big, nil
	case err != nil:
		return c, nil, err
	}
	return c, parseConfig(&c, file, data), nil
}

// parseConfig reads data over c, which holds the defaults.
func parseConfig(c *Config, name string, data []byte) Mistakes {
	d := &document{name: name}
	root := d.root(data)
	switch {
	case root != nil:
		d.fields(root, "the file", configFields(d, c))
		for _, check := range d.later {
			check()
		}
	case len(d.mistakes) == 0:
		d.noteToken(nil, "the file is empty: write at least site: NAME, or let `gbroker init` make a new one")
	}
	return d.sorted()
}

func configFields(d *document, c *Config) []field {
	word := func(what string, to *string, read func(string) (string, error)) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, what, to, read) }
	}
	span := func(what string, to *time.Duration, least, most time.Duration) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, what, to, within(least, most, spanText, ParseSpan)) }
	}
	return []field{
		{name: "site", aka: "name", required: "site: NAME", read: func(n ast.Node) {
			parsed(d, n, "site", &c.Site, readName[grid.SiteName])
		}},
		{name: "listen", aka: "address adress addresses addr port bind", read: func(n ast.Node) {
			c.Listen = nil
			d.list(n, "listen", maxListen, true, func(n ast.Node) {
				var a string
				if parsed(d, n, "listen", &a, listenAddress); a != "" {
					c.Listen = append(c.Listen, a)
				}
			})
		}},
		{name: "api", aka: "http web", read: word("api", &c.API, loopback)},
		{name: "socket", aka: "sock unix", read: word("socket", &c.Socket, func(s string) (string, error) {
			return socketPath(c.Dir(), s)
		})},
		{name: "data", aka: "datadir data_dir folder", read: word("data", &c.Data, c.path)},
		{name: "sandboxes", aka: "jobs scratch", read: word("sandboxes", &c.Sandboxes, c.path)},
		{name: "speed", read: func(n ast.Node) { parsed(d, n, "speed", &c.Speed, readSpeed) }},
		{name: "batch", aka: "cluster", read: func(n ast.Node) {
			b := &c.Batch
			d.fields(n, "batch", batchFields(d, c))
			switch total := c.Processes(); {
			case b.System != Embedded:
			case total <= grid.MaxProcesses:
			case b.List == nil:
				d.note(n, "batch: %d nodes of %d cores are more than %d: declare fewer", b.Nodes, b.Cores, grid.MaxProcesses)
			default:
				d.note(n, "batch: the nodes have %d cores, more than %d: declare fewer", total, grid.MaxProcesses)
			}
		}},
		{name: "neighbours", aka: "neighbors members peers", read: word("neighbours", &c.Neighbours, c.path)},
		{name: "administrators", aka: "admins administrator", list: true, read: func(n ast.Node) {
			c.Administrators = nil
			d.unique(n, "administrators", maxAdmins, userName, func(s string) { c.Administrators = append(c.Administrators, s) })
		}},
		{name: "retention", aka: "keep", read: func(n ast.Node) { d.fields(n, "retention", retentionFields(d, &c.Retention)) }},
		{name: "limits", aka: "limit quota quotas user_limits", read: func(n ast.Node) { d.fields(n, "limits", limitsFields(d, &c.Limits)) }},
		{name: "reservations", aka: "reservation booking", read: func(n ast.Node) { d.reservations(n, &c.Reservations) }},
		{name: "default_walltime", aka: "walltime", read: span("default_walltime", &c.DefaultWalltime, time.Second, grid.MaxWalltime.Duration())},
		{name: "estimate_deadline", aka: "deadline", read: span("estimate_deadline", &c.EstimateDeadline, 50*time.Millisecond, time.Minute)},
		{name: "forget_after", aka: "auto_forget forget", read: span("forget_after", &c.ForgetAfter, time.Minute, grid.MaxWalltime.Duration())},
		{name: "reevaluation", aka: "re_evaluation reevaluate delta", read: func(n ast.Node) {
			d.fields(n, "reevaluation", reevaluationFields(d, &c.Reevaluation))
		}},
		{name: "netmon", read: func(n ast.Node) { d.fields(n, "netmon", netmonFields(d, &c.Netmon)) }},
		{name: "outbound", aka: "allow networks private", list: true, read: func(n ast.Node) { d.outboundNetworks(n, &c.Outbound) }},
		{name: "files", aka: "staging sources transfer", read: func(n ast.Node) { d.fields(n, "files", filesFields(d, c)) }},
		{name: "mail", aka: "email smtp sendmail", read: func(n ast.Node) { d.mail(n, c) }},
		{name: "log", aka: "logging", read: func(n ast.Node) {
			d.fields(n, "log", []field{
				{name: "level", read: word("log.level", &c.LogLevel, oneOf("debug", "info", "warn", "error"))},
				{name: "format", read: word("log.format", &c.LogFormat, oneOf("text", "json"))},
			})
		}},
		{name: "budgets", aka: "budget", read: func(n ast.Node) { d.budgets(n, c) }},
		{name: "prices", read: func(n ast.Node) {
			c.Prices = &plan.Pricing{Zone: time.Local}
			d.fields(n, "prices", priceFields(d, c))
		}},
		{name: "each_node", aka: "node nodes_have", read: func(n ast.Node) { d.fields(n, "each_node", eachFields(d, &c.Each)) }},
		{name: "architecture", aka: "arch cpu", read: word("architecture", &c.Architecture, oneOf(architectures...))},
		{name: "operating_system", aka: "os system", read: word("operating_system", &c.System, systemWord)},
	}
}

func batchFields(d *document, c *Config) []field {
	b := &c.Batch
	// equal checks a field of equal nodes.
	equal := func(what string, n ast.Node) {
		d.later = append(d.later, func() {
			if b.List != nil {
				d.note(n, "%s is of equal nodes: in a list each node has its own, remove this one", what)
			}
		})
	}
	declared := []field{
		{name: "nodes", aka: "hosts", read: func(n ast.Node) { d.nodes(n, b) }},
		{name: "cores", aka: "cpus processors slots", read: func(n ast.Node) {
			parsed(d, n, "batch.cores", &b.Cores, within(1, maxCores, strconv.Itoa, wholeNumber))
			equal("batch.cores", n)
		}},
		{name: "memory", aka: "mem ram", read: func(n ast.Node) {
			parsed(d, n, "batch.memory", &b.Memory, readMemory)
			equal("batch.memory", n)
		}},
		{name: "queues", aka: "partitions", list: true, read: func(n ast.Node) { d.queues(n, b, c) }},
	}
	for i, f := range declared {
		declared[i] = d.of(c, []string{Embedded}, "this batch system tells its nodes and queues itself: remove this", f)
	}
	limits := []field{
		{name: "file_limit", aka: "output_limit fsize", read: func(n ast.Node) {
			parsed(d, n, "batch.file_limit", &b.FileLimit, readMemory)
		}},
		{name: "confine", aka: "cgroup cgroups", read: func(n ast.Node) { b.Confine, _ = d.yes(n, "batch.confine") }},
	}
	for i, f := range limits {
		limits[i] = d.of(c, []string{Embedded}, "this batch system limits its jobs itself: remove this", f)
	}
	return slices.Concat([]field{
		{name: "system", aka: "type", read: func(n ast.Node) {
			parsed(d, n, "batch.system", &b.System, oneOf(slices.Concat([]string{Embedded}, External, []string{Pool})...))
		}},
		{name: "policy", aka: "scheduler backfill", read: func(n ast.Node) {
			parsed(d, n, "batch.policy", &b.Policy, plan.ParsePolicy)
			b.Ruled = true
		}},
	}, declared, limits, poolFields(d, c), externalFields(d, c))
}

func retentionFields(d *document, r *RetentionConfig) []field {
	return []field{
		{name: "days", aka: "age time", read: func(n ast.Node) {
			parsed(d, n, "retention.days", &r.Days, within(1, 3650, strconv.Itoa, wholeNumber))
		}},
		{name: "bytes", aka: "size", read: func(n ast.Node) {
			parsed(d, n, "retention.bytes", &r.Bytes, within(1<<20, grid.MaxMemory, FormatSize, ParseSize))
		}},
	}
}

func limitsFields(d *document, l *LimitsConfig) []field {
	number := func(name, aka string, to *int, most int) field {
		return field{name: name, aka: aka, read: func(n ast.Node) {
			parsed(d, n, "limits."+name, to, within(1, most, strconv.Itoa, wholeNumber))
		}}
	}
	size := func(name, aka string, to *int64) field {
		return field{name: name, aka: aka, read: func(n ast.Node) {
			parsed(d, n, "limits."+name, to, within(1<<20, grid.MaxMemory, FormatSize, ParseSize))
		}}
	}
	return []field{
		number("jobs", "max_jobs", &l.Jobs, 1_000_000), number("processes", "max_processes cores", &l.Processes, 1<<30),
		number("groups", "max_groups", &l.Groups, 1_000_000), number("group_jobs", "jobs_per_group", &l.GroupJobs, grid.MaxGroup),
		number("sweep_jobs", "jobs_per_sweep", &l.SweepJobs, grid.MaxSweep), number("sweep_window", "jobs_under_way", &l.SweepWindow, grid.MaxSweep),
		size("documents", "memory", &l.Documents), size("bytes", "size files", &l.Bytes), size("offered", "offers neighbour", &l.Offered),
	}
}

func reevaluationFields(d *document, r *ReevaluationConfig) []field {
	span := func(name string, to *time.Duration) field {
		what := "reevaluation." + name
		return field{name: name, read: func(n ast.Node) {
			parsed(d, n, what, to, within(100*time.Millisecond, 24*time.Hour, spanText, ParseSpan))
		}}
	}
	return []field{
		span("interval", &r.Interval), span("settle", &r.Settle), span("margin", &r.Margin),
		span("cooldown", &r.Cooldown), span("soon", &r.Soon),
	}
}

func netmonFields(d *document, m *NetmonConfig) []field {
	return []field{
		{name: "time_share", aka: "share time", read: func(n ast.Node) {
			parsed(d, n, "netmon.time_share", &m.TimeShare, within(0, 0.5, formatNumber, number))
		}},
		{name: "bytes_per_hour", aka: "bytes", read: func(n ast.Node) {
			parsed(d, n, "netmon.bytes_per_hour", &m.BytesPerHour, ParseSize)
		}},
	}
}

// unique reads a list of words that differ.
func (d *document) unique(n ast.Node, what string, most int, read func(string) (string, error), add func(string)) {
	seen := make(map[string]bool)
	d.list(n, what, most, false, func(n ast.Node) {
		var s string
		switch parsed(d, n, what, &s, read); {
		case seen[s]:
			d.note(n, "%s: %q is here twice: remove one", what, s)
		case s != "":
			seen[s] = true
			add(s)
		}
	})
}

func readName[T ~string](s string) (T, error) { return T(s), grid.CheckName(s) }

func readSpeed(s string) (float64, error) {
	v, err := number(s)
	if err == nil && !(v > 0 && v <= 1000) {
		err = fmt.Errorf("%s is out of range: write a number above 0, at most 1000, where 1 is the reference machine", clip(s))
	}
	return v, err
}

func userName(s string) (string, error) {
	if s == "" || len(s) > 256 || strings.ContainsAny(s, " :\t\n/") {
		return "", fmt.Errorf("%q is no user name: write it as `id -un` prints it", clip(s))
	}
	return s, nil
}

// path makes a path of the file absolute.
func (c *Config) path(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) || len(s) > 4095 {
		return "", fmt.Errorf("%q is no path: write one, relative to the folder of %s or absolute", clip(s), ConfigName)
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(c.Dir(), s)
	}
	return filepath.Clean(s), nil
}

// socketPath makes the path of a socket absolute and refuses one that the kernel would.
func socketPath(dir, s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("%q is no path: write one, such as %s", clip(s), SocketName)
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(dir, s)
	}
	s = filepath.Clean(s)
	if len(s) > MaxSocketPath {
		return "", fmt.Errorf("the path of the socket has %d bytes and the kernel takes %d: write a shorter one, such as /run/gbroker/gbroker.sock (it is %s)",
			len(s), MaxSocketPath, s)
	}
	return s, nil
}

// loopback checks HOST:PORT to be of this machine alone.
func loopback(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(s)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil {
		return "", fmt.Errorf("%q is no HOST:PORT: write it like 127.0.0.1:4080", clip(s))
	} else if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return "", fmt.Errorf("%q can be reached from outside: the interface is for this machine alone, write 127.0.0.1:%d", clip(s), n)
	}
	return s, nil
}

// shown is a file's name in messages: beside the configuration as the administrator named it.
func shown(config, path string) string {
	full, err := filepath.Abs(config)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(filepath.Dir(full), path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return filepath.Join(filepath.Dir(config), rel)
}
