package daemon

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/internal/mail"
	"gbroker/plan"
)

// Names of the files in a site's folder.
const (
	configName     = "gbroker.yaml"
	neighboursName = "neighbours.yaml"
	socketName     = "gbroker.sock"
	identityName   = "identity.key"
	tokenName      = "api.token"
	readyName      = "ready"
	dataName       = "data"
)

// maxSocketPath is how long the path of a unix socket may be, in bytes: the
// kernel's sun_path without the final zero.
const maxSocketPath = 107

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
	// ListenInstead is in place of Listen, where the command line says so; nil is not. It is no field of the file.
	ListenInstead []string
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
	// Tell is how often neighbours are told at most when jobs would start here, so that searches ask only those that could win. 0 tells
	// nothing, and asks all.
	Tell time.Duration
}

// NetmonConfig bounds what measuring costs. More of either finds a change of the
// network sooner.
type NetmonConfig struct {
	TimeShare    float64 // of the time, in which a measurement may be under way; 0 to 0.5; 0 learns from real transfers only
	BytesPerHour int64   // sent to each neighbour for measuring; 0 learns from real transfers only
}

// quiet tells that nothing is sent to learn the bandwidth.
func (n NetmonConfig) quiet() bool { return n.TimeShare == 0 || n.BytesPerHour == 0 }

// Default is the configuration of a site in dir whose file says nothing.
func Default(dir string) Config {
	return Config{
		File:             filepath.Join(dir, configName),
		Listen:           []string{"/ip4/0.0.0.0/tcp/4010"},
		Socket:           filepath.Join(dir, socketName),
		Data:             filepath.Join(dir, dataName),
		Speed:            1,
		Batch:            defaultBatch(),
		Neighbours:       filepath.Join(dir, neighboursName),
		Retention:        RetentionConfig{Days: 30, Bytes: 50 << 30},
		Limits:           LimitsConfig{Jobs: 10000, Processes: 100_000, Documents: 256 << 20, Bytes: grid.MaxSandbox, Groups: 1000, GroupJobs: grid.MaxGroup, SweepJobs: grid.MaxSweep, SweepWindow: core.DefaultWindow, Offered: grid.MaxSandbox},
		DefaultWalltime:  time.Hour,
		EstimateDeadline: 2 * time.Second,
		Reevaluation:     ReevaluationConfig{Interval: time.Minute, Settle: 5 * time.Second, Margin: 30 * time.Second, Cooldown: 5 * time.Second, Soon: 15 * time.Second, Tell: 2 * time.Second},
		Netmon:           NetmonConfig{TimeShare: 0.01, BytesPerHour: 3 << 20},
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
		err = fmt.Errorf("%s is out of range: write a number above 0, at most 1000, where 1 is the reference machine", form.Clip(s))
	}
	return v, err
}

func userName(s string) (string, error) {
	if s == "" || len(s) > 256 || strings.ContainsAny(s, " :\t\n/") {
		return "", fmt.Errorf("%q is no user name: write it as `id -un` prints it", form.Clip(s))
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

// listens is where this broker listens.
func (c *Config) listens() []string {
	if c.ListenInstead != nil {
		return c.ListenInstead
	}
	return c.Listen
}
