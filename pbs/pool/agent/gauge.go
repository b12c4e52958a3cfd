package agent

import (
	"context"
	"math"
	"time"

	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// The speed of a computer is measured again once in gaugeEvery, at a moment when nobody needs the computer: what it is may change with its cooling or its
// settings, and what was measured beside other work was too little.

// gaugeEvery is how long a measured speed counts at the least.
const gaugeEvery = 6 * time.Hour

const (
	leastIdle  = 0.9  // of the processors nobody uses so much when the speed is measured
	leastDrift = 0.05 // a speed that differs by no more is the same
)

// gauge measures until ctx is done.
func (a *Agent) gauge(ctx context.Context) {
	if a.config.Measure == nil {
		return
	}
	every := a.config.Gauge
	tick := time.NewTicker(min(every, time.Minute))
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if time.Since(last) < every || !a.unneeded() {
			continue
		}
		was, is := a.speed(), a.config.Measure()
		if last = time.Now(); math.Abs(is-was) <= leastDrift*was {
			continue
		}
		a.mu.Lock()
		a.config.Computer.Speed = is
		a.mu.Unlock()
		a.log.Info("the speed of this computer was measured again", zap.Float64("speed", is), zap.Float64("before", was))
		a.kick()
	}
}

// speed is the last that was measured, or said.
func (a *Agent) speed() float64 { return a.computer().Speed }

// computer is what this agent says of its computer.
func (a *Agent) computer() line.Computer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Computer
}

// unneeded tells that no job is here, the owner is away and has barred nothing, there is power, and nobody uses the processors.
func (a *Agent) unneeded() bool {
	s := a.owner.look()
	return len(a.held()) == 0 && !s.Active && s.Barred == nil && !s.Battery && s.Idle >= leastIdle
}
