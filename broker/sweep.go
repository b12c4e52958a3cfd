package broker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
)

// Folders of no known job, and attempts of no record, are looked for after the first pause: a candidate that
// was restarted while it fetched gets its offer again before, and fetches on. What is only removed when it was seen
// twice does not wait for long after a start, which is when most of it is found.
const (
	firstSweep  = 20 * time.Second
	secondSweep = 100 * time.Second // the members that live have spoken by then, or are not waited for
	nextSweeps  = 10 * time.Minute
)

// sweeps are the pauses before each of them.
func sweeps(yield func(time.Duration) bool) {
	for pause, more := firstSweep, yield(firstSweep); more; more = yield(pause) {
		if pause == firstSweep {
			pause = secondSweep
		} else {
			pause = nextSweeps
		}
	}
}

func (b *Broker) sweep(ctx context.Context) {
	for pause := range sweeps {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		// The attempts first: a folder stays in its place while there is one of its job.
		if ids, err := b.attempts(ctx); err != nil {
			b.ports.Log.Warn("listing the attempts in the batch system", zap.Error(err))
		} else {
			b.Post(core.Attempts{IDs: ids})
		}
		if ids, err := b.ports.Stager.Jobs(); err != nil {
			b.ports.Log.Warn("listing the job folders", zap.Error(err))
		} else {
			b.Post(core.Folders{Jobs: ids})
		}
		b.dropAside()
	}
}

func (b *Broker) attempts(ctx context.Context) ([]grid.AttemptID, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return b.ports.Batch.Attempts(ctx)
}
