package broker

import (
	"context"
	"sync"
	"time"

	"gbroker/broker/core"
	"gbroker/grid"
)

// pulse notices when this process did not run: it was stopped, or the machine slept.
// What was decided before may be out of date when it goes on, and the first thing that
// runs then may be what carries it out. So whoever is about to submit an attempt feels
// the pulse first, and so does each step of the loop; one of them finds the pause.
type pulse struct {
	clock  func() grid.Tick
	mu     sync.Mutex
	last   grid.Tick // when it was last felt
	pauses uint64
	span   grid.Tick // of the last pause
}

// every is how often it beats by itself: a pause is what is core.StallAfter longer than that at most.
const every = time.Second

// feel counts the pauses so far, the one that has just ended included.
func (p *pulse) feel() (pauses uint64, span grid.Tick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	if p.last != 0 && now-p.last >= core.StallAfter {
		p.pauses++
		p.span = now - p.last
	}
	p.last = now
	return p.pauses, p.span
}

// run beats until ctx is done.
func (p *pulse) run(ctx context.Context) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			p.feel()
		}
	}
}
