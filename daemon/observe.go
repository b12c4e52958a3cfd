package daemon

import (
	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/grid"
)

// changed sees each durable change.
func (s *site) changed(before grid.Entity, change grid.Change) {
	if change.Kind == grid.KindJob {
		was, _ := before.(*grid.Record)
		s.observe(was, change)
	}
	s.feedOn(before, change) // who is woken by it finds the counters as they are now
}

// observe sees each durable change of a job: one line in the log for each that is accepted, placed, started or ended
// here, and the counters of the metrics.
func (s *site) observe(before *grid.Record, change grid.Change) {
	_, after, _ := change.Job()
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
		if !d.Unmoved {
			s.meter.decisions.WithLabelValues(cause(d, before)).Inc()
		}
	}
}

// feedOn notes in the feed of changes what users see of them; what was removed, or has left this site, is told once, though its
// record goes later.
func (s *site) feedOn(before grid.Entity, change grid.Change) {
	was, known := seen(before)
	now, is := seen(change.Record)
	if !is {
		now, now.removed = was, true
	}
	if r, _ := change.Record.(*grid.Record); r != nil && !known && now.removed && !r.Removed {
		return // it was never listed here
	}
	if (is || known) && !(now.removed && was.removed) {
		s.feed.note(s.broker.JournalID().Life, now)
	}
}

// seen is what the feed tells of an entity; false of what it does not tell of.
func seen(e grid.Entity) (c changed, is bool) {
	switch e := e.(type) {
	case *grid.Record:
		return changed{entity{api.KindJob, string(e.Job.ID)}, e.Job.User, !listed(e)}, true
	case *grid.Group:
		return changed{entity{api.KindGroup, string(e.ID)}, e.User, e.Removed}, true
	case *grid.Reservation:
		return changed{entity{api.KindReservation, string(e.ID)}, e.Holder, false}, true
	}
	return c, false
}

// flowChanged notes a workflow, whose changes are durable in a folder of its own.
func (s *site) flowChanged(id api.FlowID, user string, removed bool) {
	s.feed.note(s.broker.JournalID().Life, changed{entity{api.KindFlow, string(id)}, grid.User{Home: s.self, Name: user}, removed})
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
