package agent

import (
	"context"
	"fmt"
	"os"
	"time"
)

// enoughLooks is how often in a row a job is seen over a limit before it is ended: for a moment, what a process shares with one that it is just
// making seems to be there twice.
const enoughLooks = 3

// stands tells that the program is suspended.
func (j *job) stands() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.suspended
}

// tend looks at the owner's limits while the program runs.
func (j *job) tend(ctx context.Context, p Process) {
	tick := time.NewTicker(j.agent.config.Look)
	defer tick.Stop()
	for looks := 0; looks < enoughLooks; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if j.stands() {
			continue
		}
		why := j.excess(p)
		if looks++; why == "" {
			looks = 0
		} else if looks == enoughLooks {
			j.end(p, why)
		}
	}
}

// excess is the owner's limit that the job is over, in words; "" is none.
func (j *job) excess(p Process) string {
	if most := j.Room; most > 0 {
		if taken := p.Memory(most); taken > most {
			return fmt.Sprintf("it took %d bytes of memory, and has %d on its computer", taken, most)
		}
	}
	if most := j.agent.config.Disk; most > 0 {
		total := int64(0)
		j.walk(func(_ string, info os.FileInfo) error {
			if info.Mode().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		if total > most {
			return fmt.Sprintf("it took %d bytes of disk, and the owner of its computer gives %d", total, most)
		}
	}
	return ""
}
