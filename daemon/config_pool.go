package daemon

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/pbs/pool"
	desks "gbroker/pool"
)

// PoolConfig is how a pool of shared desktops is served.
type PoolConfig struct {
	// Listen is where agents call, HOST:PORT. Address is what stands in join codes in its place, where
	// agents must call elsewhere, as through a firewall.
	Listen, Address string
	// Interval is how often a computer reports, Silence after how long without a word its jobs count as cut
	// off; 0 is the pool's own.
	Interval, Silence time.Duration
	// Rule says which job with a deadline goes first to which computer, Presume is the part of a computer that a job is presumed to have
	// in hours of which nothing was seen yet; 0 is the pool's own.
	Rule    desks.Rule
	Margin  float64
	Presume float64
	// Copies is on how many computers a job that may run twice runs at once; 0 is the pool's own.
	Copies int
	// Untrusted are the computers whose results are compared with those of others.
	Untrusted []string
}

func poolFields(d *document, c *Config) []field {
	p := &c.Batch.Pool
	span := func(name string, to *time.Duration, least, most time.Duration) func(ast.Node) {
		return func(n ast.Node) {
			parsed(d, n, "batch."+name, to, within(least, most, grid.FormatSpan, grid.ParseSpan))
		}
	}
	part := func(name string, to *float64, least, most float64) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, "batch."+name, to, within(least, most, partText, readPart)) }
	}
	fields := []field{
		{name: "rule", read: func(n ast.Node) { parsed(d, n, "batch.rule", &p.Rule, readRule) }},
		{name: "margin", read: part("margin", &p.Margin, 0, 10)},
		{name: "presume", read: part("presume", &p.Presume, 0.01, 1)},
		{name: "copies", read: func(n ast.Node) {
			parsed(d, n, "batch.copies", &p.Copies, within(1, pool.MaxCopies, strconv.Itoa, readCopies))
		}},
		{name: "untrusted", read: func(n ast.Node) {
			d.unique(n, "batch.untrusted", maxUntrusted, readName[string], func(s string) { p.Untrusted = append(p.Untrusted, s) })
		}},
		{name: "listen", read: func(n ast.Node) { parsed(d, n, "batch.listen", &p.Listen, readHostPort) }},
		{name: "address", read: func(n ast.Node) { parsed(d, n, "batch.address", &p.Address, readHostPort) }},
		{name: "interval", read: span("interval", &p.Interval, time.Second, time.Hour)},
		{name: "silence", read: span("silence", &p.Silence, 10*time.Second, 30*24*time.Hour)},
	}
	for i, f := range fields {
		fields[i] = d.of(c, []string{Pool}, "this is of a pool of desktops: write system: pool, or remove this", f)
	}
	return fields
}

// DefaultPoolListen is where the agents of a pool call that names no other place.
const DefaultPoolListen = "0.0.0.0:4050"

// readCopies reads on how many computers a job runs at once.
func readCopies(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is no whole number: write it as 2", text)
	}
	return n, nil
}

// maxUntrusted bounds the computers that are named as not trusted.
const maxUntrusted = 10_000

// readRule reads the rule for jobs with deadlines: those that give each the weakest computer that ends it in time.
func readRule(s string) (desks.Rule, error) {
	r, err := desks.ParseRule(s)
	if err != nil || r.Fit != desks.BestFit {
		return r, fmt.Errorf("%q is no rule for deadlines: write edf, slack or best", s)
	}
	return r, nil
}

func readPart(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number: write it as 0.5", form.Clip(s))
	}
	return v, nil
}

func partText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// readHostPort reads where computers call; port 0 would be another after each start.
func readHostPort(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 {
		return "", fmt.Errorf("%q is no HOST:PORT that computers can call: write it as 0.0.0.0:4050", s)
	}
	return s, nil
}

// batchSpool is the folder in which our side of the batch system keeps what it knows.
func (c Config) batchSpool() string { return filepath.Join(c.Data, "batch") }

// ThePool is the pool of this site, for commands beside its daemon.
func (c Config) ThePool() (pool.Config, error) {
	if c.Batch.System != Pool {
		return pool.Config{}, fmt.Errorf("%w: %s has batch.system %s: only a pool has computers that join", grid.ErrInvalid, c.File, c.Batch.System)
	}
	return c.pool(c.facts(), c.batchSpool()), nil
}

func (c Config) pool(site grid.Site, spool string) pool.Config {
	p := c.Batch.Pool
	if p.Listen == "" {
		p.Listen = DefaultPoolListen
	}
	p.Rule.Margin = p.Margin
	return pool.Config{
		Rule: p.Rule, Presume: p.Presume, Copies: p.Copies, Untrusted: p.Untrusted,
		Site: site, Policy: c.Batch.Policy, Spool: spool, Listen: p.Listen, Address: p.Address, Interval: p.Interval, Silence: p.Silence,
	}
}
