package daemon

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"gbroker/broker"
	"gbroker/grid"
)

// lookAtDisk is how often the room on the disks is looked at if nothing else happens.
const lookAtDisk = 5 * time.Second

// watchDisk raises an alarm while there is no room for new work.
func (s *site) watchDisk(ctx context.Context) error {
	tick := time.NewTicker(lookAtDisk)
	defer tick.Stop()
	for {
		s.lookAtDisk()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *site) lookAtDisk() {
	journal, jobs, err := s.broker.Room()
	if err != nil {
		return // the journal is being opened again: what was known stays
	}
	text := noRoom(journal, jobs, s.cfg.Data, s.cfg.JobsFolder())
	if text == "" {
		if s.full.Swap(nil) != nil {
			s.log.Info("there is room on the disk again")
		}
		return
	}
	if s.full.Swap(&text) == nil {
		s.log.Error("the disk is full", zap.Int64("free", journal), zap.Int64("free for files of jobs", jobs))
	}
}

// noRoom is the alarm; "" is none.
func noRoom(journal, jobs int64, data, folder string) string {
	where, left := data, journal
	switch {
	case journal < broker.Reserve:
	case jobs <= 0:
		where, left = folder, jobs
	default:
		return ""
	}
	return fmt.Sprintf("the disk of %s has %s free, no more than is kept back for the jobs that are here: no new job, offer or file is taken; what ends, is cancelled or removed is still written down. "+
		"Make room there, or remove ended jobs", where, grid.FormatSize(max(left, 0)>>20<<20))
}
