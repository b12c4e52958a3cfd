package pool

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// Config is all that a pool needs to know.
type Config struct {
	Site grid.Site
	// Policy decides who starts.
	Policy plan.Policy
	Spool  string // absolute folder, made if absent; one pool at a time uses it
	// Listen is where agents call, HOST:PORT. Address is how they call it, where that is not the same.
	Listen, Address string
	// Interval is how often each computer reports; 0 is 30 s.
	Interval time.Duration
	// Poll is for how long a computer's request for orders waits at the pool until there are some; 0 is 30 s,
	// below 0 no computer asks between its reports.
	Poll time.Duration
	// Silence is after how long without a word from its computer a job counts as cut off; 0 is
	// 10 min. Longer spares jobs that a network cuts off, shorter finds lost ones sooner.
	Silence time.Duration
	// Grace is what a program gets between SIGTERM and SIGKILL; 0 is 5 s.
	Grace time.Duration
	// Rule says which job with a deadline goes first to which computer; the zero value is desks.EDF.
	Rule desks.Rule
	// Presume is which part of a computer a job is presumed to have in hours of which nothing is known yet, from
	// above 0 to 1; 0 is a half. Of a computer that has no owner it is all.
	Presume float64
	// Copies is on how many computers a job that may run twice runs at once, where these have nothing else to do, at most; 0 is 2, and 1 is on one.
	Copies int
	// Untrusted are the computers whose results count only where another computer comes to the same, for jobs that may run twice.
	Untrusted []string
	// MaxQueue bounds the jobs that wait or run; more are refused. 0 is 20,000.
	MaxQueue int
	// Changed is called, from any goroutine, whenever the progress of an attempt may have changed.
	// It must not wait for a method of the System. nil: nobody is told.
	Changed func(grid.AttemptID)
	Logger  *zap.Logger // nil: silent
}

// MaxCopies is on how many computers a job runs at once, at most.
const MaxCopies = 8

// WithDefaults is the configuration as the pool takes it: what is not said stands in it.
func (c Config) WithDefaults() Config {
	if c.Interval == 0 {
		c.Interval = 30 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 30 * time.Second
	}
	c.Poll = max(c.Poll, 0)
	if c.Silence == 0 {
		c.Silence = 10 * time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if margin := c.Rule.Margin; c.Rule == (desks.Rule{Margin: margin}) {
		c.Rule = desks.EDF
		c.Rule.Margin = margin
	}
	if c.Presume == 0 {
		c.Presume = 0.5
	}
	if c.Copies == 0 {
		c.Copies = 2
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 20_000
	}
	if c.Changed == nil {
		c.Changed = func(grid.AttemptID) {}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Validate says what is wrong with c and what to write instead.
func (c Config) Validate() error {
	if !filepath.IsAbs(c.Spool) {
		return fmt.Errorf("%w: the spool folder %q must be an absolute path", grid.ErrInvalid, c.Spool)
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("%w: the pool listens at %q, which is not HOST:PORT: %w", grid.ErrInvalid, c.Listen, err)
	}
	if c.Interval < 0 || c.Interval > time.Hour || c.Poll > time.Hour || c.Silence < 0 || c.Grace < 0 || c.MaxQueue < 0 || c.Copies < 0 || c.Copies > MaxCopies {
		return fmt.Errorf("%w: interval %v and hold %v must be at most an hour; silence %v, grace %v and max queue %d not negative; copies %d from 0 to %d",
			grid.ErrInvalid, c.Interval, c.Poll, c.Silence, c.Grace, c.MaxQueue, c.Copies, MaxCopies)
	}
	if !(c.Presume >= 0 && c.Presume <= 1) || !(c.Rule.Margin >= 0) {
		return fmt.Errorf("%w: presume %v must be from 0 to 1, and the margin %v not negative", grid.ErrInvalid, c.Presume, c.Rule.Margin)
	}
	return nil
}
