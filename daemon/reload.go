package daemon

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"reflect"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"gbroker/broker/core"
)

// part is a field of gbroker.yaml by its name, and what it holds. A live one is taken up at
// SIGHUP; any other takes a restart.
type part struct {
	name string
	live bool
	of   func(*Config) any
}

var configParts = []part{
	{"site", false, func(c *Config) any { return c.Site }},
	{"listen", false, func(c *Config) any { return c.Listen }},
	{"api", false, func(c *Config) any { return c.API }},
	{"socket", false, func(c *Config) any { return c.Socket }},
	{"data", false, func(c *Config) any { return c.Data }},
	{"sandboxes", false, func(c *Config) any { return c.Sandboxes }},
	{"speed", false, func(c *Config) any { return c.Speed }},
	{"batch", false, func(c *Config) any { return c.Batch }},
	{"neighbours", false, func(c *Config) any { return c.Neighbours }},
	{"administrators", false, func(c *Config) any { return c.Administrators }},
	{"retention", false, func(c *Config) any { return c.Retention }},
	{"limits", true, func(c *Config) any { return c.Limits }},
	{"reservations", true, func(c *Config) any { return c.Reservations }},
	{"default_walltime", false, func(c *Config) any { return c.DefaultWalltime }},
	{"estimate_deadline", false, func(c *Config) any { return c.EstimateDeadline }},
	{"forget_after", false, func(c *Config) any { return c.ForgetAfter }},
	{"reevaluation", false, func(c *Config) any { return c.Reevaluation }},
	{"netmon", false, func(c *Config) any { return c.Netmon }},
	{"outbound", false, func(c *Config) any { return c.Outbound }},
	{"files", false, func(c *Config) any { return c.Files }},
	{"mail", false, func(c *Config) any { return c.Mail }},
	{"log.level", true, func(c *Config) any { return c.LogLevel }},
	{"log.format", false, func(c *Config) any { return c.LogFormat }},
	{"budgets", true, func(c *Config) any { return c.Budgets }},
	{"prices", true, func(c *Config) any { return []any{c.Prices, c.PricedUsers} }},
	{"each_node", false, func(c *Config) any { return c.Each }},
	{"architecture", false, func(c *Config) any { return c.Architecture }},
	{"operating_system", false, func(c *Config) any { return c.System }},
}

// differing names the fields in which two configurations differ: those that are taken up
// while the daemon runs, and those that need a restart.
func differing(a, b *Config) (live, later []string) {
	for _, p := range configParts {
		switch {
		case reflect.DeepEqual(p.of(a), p.of(b)):
		case p.live:
			live = append(live, p.name)
		default:
			later = append(later, p.name)
		}
	}
	return live, later
}

// hangups hear SIGHUP, each for one of the files that are read then. They do so from the start of the daemon to its end, as
// SIGHUP ends a process that does not hear it: one that comes while the journal is checked waits until the files can be taken up.
type hangups struct{ configuration, neighbours chan os.Signal }

func hear() hangups {
	h := hangups{make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(h.configuration, unix.SIGHUP)
	signal.Notify(h.neighbours, unix.SIGHUP)
	return h
}

func (h hangups) stop() {
	signal.Stop(h.configuration)
	signal.Stop(h.neighbours)
}

// reload takes up changes of gbroker.yaml at SIGHUP, until ctx is done.
func (s *site) reload(ctx context.Context) error {
	now := s.cfg // by which it started: what was written since is news
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hangups.configuration:
			now = s.reloaded(now)
		}
	}
}

// reloaded reads the file once more, takes up what can be, and says what cannot. It gives the
// configuration that holds now: a field that needs a restart is told each time until then.
func (s *site) reloaded(now Config) Config {
	next, err := Load(s.cfg.File)
	var wrong Mistakes
	switch {
	case errors.As(err, &wrong):
		s.log.Error("configuration refused, the old one stays", zap.String("mistakes", wrong.Error()))
		return now
	case err != nil:
		s.log.Error("configuration not read, the old one stays", zap.Error(err))
		return now
	}
	live, later := differing(&now, &next)
	if next.LogLevel != now.LogLevel {
		if level, err := zapcore.ParseLevel(next.LogLevel); err == nil {
			s.level.SetLevel(level)
		}
	}
	if next.Limits != now.Limits {
		s.broker.Post(core.LimitsChanged{User: next.Limits.user(), OfferFiles: next.Limits.Offered})
	}
	if !reflect.DeepEqual(next.Reservations, now.Reservations) {
		s.broker.SetReserving(next.Reservations.rules(s.broker.Reserves()))
	}
	if !reflect.DeepEqual(next.Budgets, now.Budgets) {
		s.broker.SetBudgets(next.Budgets)
	}
	now.LogLevel, now.Limits, now.Reservations, now.Budgets = next.LogLevel, next.Limits, next.Reservations, next.Budgets
	if now.Prices, now.PricedUsers = next.Prices, next.PricedUsers; slices.Contains(live, "prices") {
		s.pricing.Store(&next)
		s.repriced()
	}
	switch {
	case len(live)+len(later) == 0:
		s.log.Info("configuration unchanged")
	case len(later) == 0:
		s.log.Info("configuration taken up", zap.Strings("fields", live))
	default:
		s.log.Warn("configuration changed: some fields need a restart, which ends no job", zap.Strings("restart for", later), zap.Strings("taken up", live))
	}
	return now
}
