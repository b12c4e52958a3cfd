package daemon

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/pbs/pool"
)

// PoolConfig is how a pool of shared desktops is served.
type PoolConfig struct {
	// Listen is where agents call, HOST:PORT. Address is what stands in join codes in its place, where
	// agents must call elsewhere, as through a firewall.
	Listen, Address string
	// Interval is how often a computer reports, Silence after how long without a word its jobs count as cut
	// off; 0 is the pool's own.
	Interval, Silence time.Duration
}

func poolFields(d *document, c *Config) []field {
	p := &c.Batch.Pool
	span := func(name string, to *time.Duration, least, most time.Duration) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, "batch."+name, to, within(least, most, spanText, ParseSpan)) }
	}
	fields := []field{
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

// defaultListen is where the agents of a pool call that names no other place.
const defaultListen = "0.0.0.0:4050"

func readHostPort(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is no HOST:PORT: write it as 0.0.0.0:4050", s)
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
		p.Listen = defaultListen
	}
	return pool.Config{
		Site: site, Policy: c.Batch.Policy, Spool: spool, Listen: p.Listen, Address: p.Address, Interval: p.Interval, Silence: p.Silence,
	}
}
