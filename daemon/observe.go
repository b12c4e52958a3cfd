package daemon

import (
	"go.uber.org/zap"

	"gbroker/grid"
)

// changed sees each durable change of a record: one line in the log for each job that is
// accepted, placed, started or ended here, and the counters of the metrics.
func (s *site) changed(before *grid.Record, change grid.Change) {
	_, after, _ := change.Job()
	defer s.feedOn(before, after) // who is woken by it finds the counters as they are now
	if after == nil || after.Removed {
		return
	}
	if before == nil {
		before = &grid.Record{}
	}
	job := []zap.Field{zap.String("job", string(after.Job.ID)), zap.String("user", after.Job.User.Name)}
	home := after.Job.Home == s.self
	if home && before.Role == 0 && after.Role == grid.Owning {
		s.meter.accepted.Inc()
		s.log.Info("a job was accepted", append(job, zap.String("name", after.Job.Name), zap.Int("processes", after.Job.Demand.Processes()))...)
	}
	s.moved(before, after, job)
	if after.Queued > 0 && after.Queued != before.Queued {
		s.log.Info("a job was placed in the queue here", append(job, zap.Stringer("epoch", after.Epoch), zap.Duration("expected wait", max(0, after.ExpectedStart-after.Queued).Duration()))...)
	}
	if after.Role == grid.Owning && after.Started > 0 && before.Started == 0 {
		s.meter.started(after)
		s.log.Info("a job has started here", append(job, zap.Duration("waited", (after.Started-after.Submitted).Duration()))...)
	}
	if home && after.State.Terminal() && !before.State.Terminal() {
		s.meter.ended.WithLabelValues(after.State.String()).Inc()
		s.log.Info("a job has ended", append(job, zap.Stringer("state", after.State), zap.Int("exit", after.ExitCode), zap.String("reason", after.Reason))...)
	}
	for _, d := range change.Decisions {
		if d.Stays == "" {
			s.meter.decisions.WithLabelValues(cause(d, before)).Inc()
		}
	}
}

// feedOn notes in the feed of changes whatever users see of a job.
func (s *site) feedOn(before, after *grid.Record) {
	c := changed{removed: after == nil || after.Removed}
	switch {
	case after != nil:
		c.job, c.user = after.Job.ID, after.Job.User
	case before != nil:
		c.job, c.user = before.Job.ID, before.Job.User
	default:
		return
	}
	s.feed.note(s.broker.JournalID().Life, c)
}

// moved tells of a job that came from a neighbour, or went to one.
func (s *site) moved(before, after *grid.Record, job []zap.Field) {
	name := func(p grid.PeerID) zap.Field { return zap.String("site", service{s}.SiteName(p)) }
	switch {
	case before.Role != grid.Owning && after.Role == grid.Owning && after.Epoch.Hop > 0:
		s.meter.handoffs.WithLabelValues("in").Inc()
		s.log.Info("a job has come", append(job, name(before.Owner), zap.Stringer("epoch", after.Epoch))...)
	case before.Handoff.Phase != grid.Committed && after.Handoff.Phase == grid.Committed:
		s.meter.handoffs.WithLabelValues("out").Inc()
		s.log.Info("a job was handed on", append(job, name(after.Handoff.To), zap.Stringer("epoch", after.Handoff.Epoch))...)
	}
}

// cause is why a place was searched for.
func cause(d grid.Decision, before *grid.Record) string {
	switch {
	case d.Chosen == "":
		return "nobody"
	case before.Queued > 0:
		return "reevaluation"
	case before.EstimateNow == 0:
		return "first"
	}
	return "again"
}
