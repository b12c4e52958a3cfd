package daemon

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"gbroker/broker"
	"gbroker/grid"
)

// lookAtDisk is how often the log is told whether there is room on the disks.
const lookAtDisk = 5 * time.Second

// watchDisk tells the log when there is no room for new work any more, and when there is again.
func (s *site) watchDisk(ctx context.Context) error {
	tick := time.NewTicker(lookAtDisk)
	defer tick.Stop()
	for {
		s.noteShortage()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// shortage is what the disks lack for new work, as of now; nil is nothing. While the journal is being opened again it is what
// was noted last.
func (s *site) shortage() *string {
	journal, jobs, err := s.broker.Room()
	if err != nil {
		return s.full.Load()
	}
	return noRoom(journal, jobs, s.cfg.Data, s.cfg.JobsFolder())
}

// noteShortage keeps what the disks lack, and logs where that begins and ends.
func (s *site) noteShortage() {
	journal, jobs, err := s.broker.LookAtRoom()
	if err != nil {
		return // the journal is being opened again: what was noted stays
	}
	now := noRoom(journal, jobs, s.cfg.Data, s.cfg.JobsFolder())
	switch was := s.full.Swap(now); {
	case was != nil && now == nil:
		s.log.Info("there is room on the disk again")
	case was == nil && now != nil:
		s.log.Error("the disk is full", zap.Int64("free", journal), zap.Int64("free for files of jobs", jobs))
	}
}

// noRoom is the alarm; nil is none.
func noRoom(journal, jobs int64, data, folder string) *string {
	where, left := data, journal
	switch {
	case journal < broker.Reserve:
	case jobs <= 0:
		where, left = folder, jobs
	default:
		return nil
	}
	text := fmt.Sprintf("the disk of %s has %s free, no more than is kept back for the jobs that are here: no new job, offer or file is taken; what ends, is cancelled or removed is still written down. "+
		"Make room there, or remove ended jobs", where, grid.FormatSize(max(left, 0)>>20<<20))
	return &text
}
