package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/plan"
)

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
	return c, append(wrong, more...).OrNil()
}

// LoadConfig reads gbroker.yaml alone, for who may not read the site's identity.
func LoadConfig(file string) (Config, error) {
	c, wrong, err := loadConfig(file)
	if err != nil {
		return c, err
	}
	return c, wrong.OrNil()
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
		return c, nil, absent(fmt.Sprintf("there is no configuration %s: `gbroker init` makes one", file))
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
		d.note(nil, "the file is empty: write at least site: NAME, or let `gbroker init` make a new one")
	}
	return d.sorted()
}

func configFields(d *document, c *Config) []field {
	word := func(what string, to *string, read func(string) (string, error)) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, what, to, read) }
	}
	span := func(what string, to *time.Duration, least, most time.Duration) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, what, to, within(least, most, grid.FormatSpan, grid.ParseSpan)) }
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
			parsed(d, n, "retention.bytes", &r.Bytes, within(1<<20, grid.MaxMemory, grid.FormatSize, grid.ParseSize))
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
			parsed(d, n, "limits."+name, to, within(1<<20, grid.MaxMemory, grid.FormatSize, grid.ParseSize))
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
			parsed(d, n, what, to, within(100*time.Millisecond, 24*time.Hour, grid.FormatSpan, grid.ParseSpan))
		}}
	}
	return []field{
		span("interval", &r.Interval), span("settle", &r.Settle), span("margin", &r.Margin),
		span("cooldown", &r.Cooldown), span("soon", &r.Soon),
		{name: "tell", read: func(n ast.Node) {
			parsed(d, n, "reevaluation.tell", &r.Tell, within(0, time.Minute, grid.FormatSpan, grid.ParseSpan))
		}},
	}
}

func netmonFields(d *document, m *NetmonConfig) []field {
	return []field{
		{name: "time_share", aka: "share time", read: func(n ast.Node) {
			parsed(d, n, "netmon.time_share", &m.TimeShare, within(0, 0.5, formatNumber, number))
		}},
		{name: "bytes_per_hour", aka: "bytes", read: func(n ast.Node) {
			parsed(d, n, "netmon.bytes_per_hour", &m.BytesPerHour, grid.ParseSize)
		}},
	}
}

// absent says that a file is not there which has to be, and what makes it.
type absent string

func (a absent) Error() string { return string(a) }

func (a absent) Unwrap() []error { return []error{fs.ErrNotExist, grid.ErrNotFound} }
