package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
)

// enoughLooks is how often in a row a job is seen over its memory before it is ended: for a moment, what a process shares with one that it is just
// making seems to be there twice.
const enoughLooks = 3

// stands tells that the program is suspended.
func (j *job) stands() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.suspended
}

// tend keeps the program behind the owner's, and looks at the owner's limits, while it runs.
func (j *job) tend(ctx context.Context, p Process) {
	tick := time.NewTicker(j.agent.config.Look)
	defer tick.Stop()
	for looks := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := p.Yield(); err != nil {
			j.agent.log.Warn("a job may stand in the owner's way", zap.String("tag", j.tag), zap.Error(err))
		}
		if j.stands() {
			continue
		}
		switch over, sure := j.excess(p); {
		case over == nil:
			looks = 0
		case sure || looks == enoughLooks-1:
			j.end(p, over)
			return
		default:
			looks++
		}
	}
}

// excess is that the job is over a limit of the owner, and whether one look is enough to be sure; nil is none.
func (j *job) excess(p Process) (over error, sure bool) {
	if most := j.agent.config.Disk; most > 0 {
		total := int64(0)
		j.walk(func(_ string, info os.FileInfo) error {
			if info.Mode().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		if total > most {
			return fmt.Errorf("it took %d bytes of disk, and the owner of its computer gives %d", total, most), true
		}
	}
	if most := j.Room; most > 0 {
		if taken := p.Memory(most); taken > most {
			return fmt.Errorf("it took %d bytes of memory, and has %d on its computer", taken, most), false
		}
	}
	return nil, true
}
