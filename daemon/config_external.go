package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
)

// Names of the batch systems.
const (
	Embedded = "embedded"
	Pool     = "pool" // of shared desktops, whose agents call the daemon
	Slurm    = "slurm"
	Torque   = "torque"
	OpenPBS  = "openpbs"
)

// External are the systems that are reached by commands.
var External = []string{Slurm, Torque, OpenPBS}

// Limits of that part of the configuration.
const (
	maxEnvironment = 64
	maxMapped      = 10_000
	maxValue       = 4096 // of a variable, in bytes
)

// ExternalConfig says how a batch system is reached by its commands.
type ExternalConfig struct {
	// Commands is the folder of its commands, before those of PATH; "" is PATH alone.
	Commands string
	// Environment is what its commands get besides LC_ALL, TZ, PATH and HOME: NAME=VALUE, sorted.
	Environment []string
	// CommandLimit is how long a command may take before it is killed. A short one takes a
	// controller that is only slow for one that is down.
	CommandLimit time.Duration
	// Queue takes the jobs that name none; "" is the system's default.
	Queue grid.QueueName
	// Account is charged for the jobs, in the system's words; "" is the user's default.
	Account string
	// Blind tells that the nodes do not see the jobs' folders: no shared file system.
	Blind bool
	// Operator is the account that makes reservations; "" is the daemon's own.
	Operator string
	// Maui is whether TORQUE's scheduler is Maui, and MauiCommands the folder of its commands.
	Maui         bool
	MauiCommands string
	// SchedConfig is the file of OpenPBS's scheduler, from which its policy is read; "" is not.
	SchedConfig string
	// Resources gives OpenPBS's name of a resource by ours.
	Resources map[string]string
	Users     UsersConfig
	// Reach are the sites whose nodes and those of this one reach each other: over them a program of
	// MPICH is one. Declared where they do not, such a program does not begin.
	Reach []grid.SiteName
	// Ports are those of which one is offered to the programs of co-allocated jobs.
	Ports grid.Ports
	// As is how accounts are taken on: root (the daemon is), sudo, or "" as the daemon can.
	As string
}

// UsersConfig maps users of the grid to accounts of this machine. The zero value runs all
// jobs under the daemon's own.
type UsersConfig struct {
	// Mapped tells that there is a mapping at all.
	Mapped bool
	// Same gives users of this site, and of those with same_users, the account of their name.
	Same bool
	// Map comes before: by USER for the same users, by USER@SITE for those of a neighbour.
	Map map[string]string
	// Otherwise is the account of all others; "" refuses their jobs.
	Otherwise string
}

// Account is the local account of a user called name; site is "" for a user of this site
// or one who is the user of that name here.
func (u UsersConfig) Account(name string, site grid.SiteName) (string, error) {
	if !u.Mapped {
		return "", nil
	}
	key := name
	if site != "" {
		key += "@" + string(site)
	}
	account := u.Map[key]
	if account == "" && u.Same && site == "" {
		account = name
	}
	if account == "" {
		account = u.Otherwise
	}
	switch account {
	case "":
		return "", fmt.Errorf("%w: the user %s has no account here: the administrator of this site maps users by batch.users", grid.ErrInvalid, key)
	case "root":
		return "", fmt.Errorf("%w: no job of the grid runs as root, also not that of %s", grid.ErrInvalid, key)
	}
	return account, nil
}

// of makes a field of batch that only some systems have.
func (d *document) of(c *Config, systems []string, why string, f field) field {
	read := f.read
	f.read = func(n ast.Node) {
		read(n)
		d.later = append(d.later, func() {
			if !slices.Contains(systems, c.Batch.System) {
				d.note(n, "batch.%s: %s", f.name, why)
			}
		})
	}
	return f
}

// readPorts reads FIRST-LAST.
func readPorts(s string) (p grid.Ports, err error) {
	if _, err := fmt.Sscanf(s, "%d-%d", &p.First, &p.Last); err != nil || fmt.Sprintf("%d-%d", p.First, p.Last) != s {
		return p, fmt.Errorf("%q is no range of ports: write it as 20000-29999", s)
	}
	return p, p.Check()
}

func externalFields(d *document, c *Config) []field {
	x := &c.Batch.External
	word := func(what string, to *string, read func(string) (string, error)) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, "batch."+what, to, read) }
	}
	span := func(what string, to *time.Duration, least, most time.Duration) func(ast.Node) {
		return func(n ast.Node) {
			parsed(d, n, "batch."+what, to, within(least, most, grid.FormatSpan, grid.ParseSpan))
		}
	}
	list := []field{
		{name: "commands", aka: "bin path", read: word("commands", &x.Commands, c.path)},
		{name: "environment", aka: "env", read: func(n ast.Node) { x.Environment = d.environment(n) }},
		{name: "refresh", aka: "interval poll", read: span("refresh", &c.Batch.Refresh, time.Second, time.Hour)},
		{name: "command_limit", aka: "timeout", read: span("command_limit", &x.CommandLimit, time.Second, 10*time.Minute)},
		{name: "queue", aka: "partition default_queue", read: func(n ast.Node) {
			parsed(d, n, "batch.queue", &x.Queue, func(s string) (grid.QueueName, error) { return grid.QueueName(s), grid.CheckLabel(s) })
		}},
		{name: "reach", aka: "reaches", list: true, read: func(n ast.Node) {
			x.Reach = nil
			d.unique(n, "batch.reach", grid.MaxChoice, readName[string], func(s string) { x.Reach = append(x.Reach, grid.SiteName(s)) })
		}},
		{name: "ports", aka: "port", read: func(n ast.Node) { parsed(d, n, "batch.ports", &x.Ports, readPorts) }},
		{name: "account", aka: "project charge", read: word("account", &x.Account, readLabel)},
		{name: "nodes_see_jobs", aka: "shared", read: func(n ast.Node) {
			if sees, ok := d.yes(n, "batch.nodes_see_jobs"); ok {
				x.Blind = !sees
			}
		}},
		{name: "users", aka: "accounts mapping", read: func(n ast.Node) {
			x.Users = UsersConfig{Mapped: true}
			before := len(d.mistakes)
			d.fields(n, "users", usersFields(d, &x.Users))
			d.later = append(d.later, func() {
				if c.Sandboxes == "" || strings.HasPrefix(c.Sandboxes+"/", c.Data+"/") {
					d.note(n, "users: other accounts cannot pass the data folder: write sandboxes: FOLDER at the top, outside of it, where every account may pass")
				}
			})
			if u := x.Users; len(d.mistakes) == before && !u.Same && len(u.Map) == 0 && u.Otherwise == "" {
				d.note(n, "users: everybody is refused: write same: true, a map, or otherwise: ACCOUNT; leave users out to run all jobs under the daemon's own account")
			}
		}},
		{name: "as", aka: "sudo", read: func(n ast.Node) {
			word("as", &x.As, oneOf("sudo", "root"))(n)
			d.later = append(d.later, func() {
				if !x.Users.Mapped && x.Operator == "" {
					d.note(n, "batch.as: no other account is used: remove it, or map users")
				}
			})
		}},
	}
	for i, f := range list {
		list[i] = d.of(c, External, "the embedded batch system has no commands: remove this, or write the system: "+strings.Join(External, ", "), f)
	}
	return append(list, onlyFields(d, c)...)
}

// onlyFields are those of one system.
func onlyFields(d *document, c *Config) []field {
	x := &c.Batch.External
	torque, openpbs := []string{Torque}, []string{OpenPBS}
	return []field{
		d.of(c, torque, "only TORQUE has Maui: remove this", field{name: "maui", read: func(n ast.Node) {
			if _, is := n.(*ast.BoolNode); is {
				x.Maui, _ = d.yes(n, "batch.maui")
				return
			}
			x.Maui = true
			parsed(d, n, "batch.maui", &x.MauiCommands, c.path)
		}}),
		d.of(c, External, "the embedded batch system has none: remove this", field{name: "operator", aka: "admin", read: func(n ast.Node) {
			parsed(d, n, "batch.operator", &x.Operator, userName)
			d.later = append(d.later, func() {
				if c.Batch.System == Torque && !x.Maui {
					d.note(n, "batch.operator: TORQUE without Maui has no reservations: write maui: true, or remove this")
				}
				if c.Batch.System == OpenPBS && x.Operator == "root" {
					d.note(n, "batch.operator: OpenPBS takes no reservations of root: write another account")
				}
			})
		}}),
		d.of(c, openpbs, "only OpenPBS has one: remove this", field{name: "sched_config", read: func(n ast.Node) {
			parsed(d, n, "batch.sched_config", &x.SchedConfig, c.path)
		}}),
		d.of(c, openpbs, "only OpenPBS gives resources other names: remove this", field{name: "resources", read: func(n ast.Node) {
			x.Resources = map[string]string{}
			d.pairs(n, "batch.resources", "{gpu: ngpus}", grid.MaxProperties, readLabel, readLabel, func(k, v string) { x.Resources[k] = v })
		}}),
	}
}

func usersFields(d *document, u *UsersConfig) []field {
	return []field{
		{name: "same", read: func(n ast.Node) { u.Same, _ = d.yes(n, "users.same") }},
		{name: "map", aka: "mapping", read: func(n ast.Node) {
			u.Map = map[string]string{}
			d.pairs(n, "users.map", "{alice: a123, bob@xeon32: guest}", maxMapped, gridUser, accountName, func(k, v string) { u.Map[k] = v })
		}},
		{name: "otherwise", aka: "default others", read: func(n ast.Node) {
			parsed(d, n, "users.otherwise", &u.Otherwise, accountName)
			if u.Otherwise == "refuse" {
				u.Otherwise = ""
			}
		}},
	}
}

// environment reads variables, sorted.
func (d *document) environment(n ast.Node) []string {
	values := map[string]string{}
	d.pairs(n, "batch.environment", "{SLURM_CONF: /etc/slurm/slurm.conf}", maxEnvironment, variableName, variableValue,
		func(k, v string) { values[k] = v })
	var list []string
	for _, k := range slices.Sorted(maps.Keys(values)) {
		list = append(list, k+"="+values[k])
	}
	return list
}

// pairs reads a mapping of words to words.
func (d *document) pairs(n ast.Node, what, example string, most int, key, value func(string) (string, error), add func(k, v string)) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.note(n, "%s is %s: write names with values, such as %s", what, form.Kind(n), example)
		return
	}
	seen := map[string]bool{}
	for iter := m.MapRange(); iter.Next(); {
		k, err := key(iter.Key().GetToken().Value)
		switch {
		case err != nil:
			d.note(iter.Key(), "%s: %v", what, err)
			continue
		case seen[k]:
			d.note(iter.Key(), "%s: %q is here twice: remove one", what, form.Clip(k))
			continue
		case len(seen) == most:
			d.note(iter.Key(), "%s has more than %d lines: write fewer", what, most)
			return
		}
		seen[k] = true
		var v string
		before := len(d.mistakes)
		if parsed(d, iter.Value(), what, &v, value); len(d.mistakes) == before {
			add(k, v)
		}
	}
}

func variableName(s string) (string, error) {
	if s == "" || len(s) > 256 || s[0] >= '0' && s[0] <= '9' ||
		strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", fmt.Errorf("%q is no name of a variable: letters, digits and _, as SLURM_CONF", form.Clip(s))
	}
	if slices.Contains([]string{"LC_ALL", "TZ", "LANG"}, s) {
		return "", fmt.Errorf("%s is set by gbroker, which reads what the commands print: remove it", s)
	}
	return s, nil
}

func variableValue(s string) (string, error) {
	if len(s) > maxValue || strings.ContainsAny(s, "\x00\n") {
		return "", fmt.Errorf("the value is no line of at most %d bytes", maxValue)
	}
	return s, nil
}

// accountName is a local account, for jobs or commands; never root.
func accountName(s string) (string, error) {
	switch _, err := userName(s); {
	case err != nil:
		return "", err
	case s == "root" || s[0] == '-':
		return "", fmt.Errorf("%q is no account for this: write one without rights of its own", form.Clip(s))
	}
	return s, nil
}

// gridUser is USER or USER@SITE.
func gridUser(s string) (string, error) {
	name, site, far := strings.Cut(s, "@")
	if _, err := userName(name); err != nil {
		return "", err
	}
	if far {
		if err := grid.CheckName(site); err != nil {
			return "", err
		}
	}
	return s, nil
}
