package agent

import (
	"context"
	"fmt"
	"os"
	"time"
)

// tend looks at the owner's limits while the program runs.
func (j *job) tend(ctx context.Context, p Process) {
	tick := time.NewTicker(j.agent.config.Look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if why := j.excess(p); why != "" {
			j.end(p, why)
			return
		}
	}
}

// excess is the owner's limit that the job is over, in words; "" is none.
func (j *job) excess(p Process) string {
	if most := j.room(); most > 0 {
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

// room is the memory that the job has here, bytes: that of its cores, and what it asked for; all that the owner gives where it runs alone. 0 is any.
func (j *job) room() int64 {
	c := &j.agent.config.Computer
	if j.Whole || c.Cores < 1 {
		return c.Memory
	}
	of := c.Memory / int64(c.Cores) * int64(max(j.Cores, 1))
	return min(max(of, j.Memory), c.Memory)
}
