package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// unseen is for how many refreshes nothing may be known of the batch system before that is an
// alarm: one poll that fails is not worth waking anybody.
const unseen = 3

// follow keeps what this broker says of its site like what the batch system shows, and an
// alarm while it shows nothing.
func (s *site) follow(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Batch.Refresh)
	defer tick.Stop()
	good := time.Now()
	for {
		if s.see(ctx, time.Since(good) >= unseen*s.cfg.Batch.Refresh) {
			good = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// see looks once; alarmed tells that a failure is to be shown.
func (s *site) see(ctx context.Context, alarmed bool) bool {
	limited, cancel := context.WithTimeout(ctx, s.cfg.Batch.Refresh+time.Minute)
	defer cancel()
	shot, err := s.batch.Snapshot(limited)
	if p, ok := s.batch.(pbs.Poller); ok && err == nil {
		// It tells the last good listing for a while yet, which must not put off the alarm.
		err = p.Trouble()
	}
	switch {
	case ctx.Err() != nil:
		return true
	case err == nil:
		s.meter.polls.WithLabelValues("answered").Inc()
		load := loadOf(shot)
		s.load.Store(&api.BatchLoad{System: s.cfg.Batch.System, Load: api.Load(load), At: api.Time(shot.At)})
		s.tell(shot)
		s.become(cores(shot.Nodes), load, shot.Cohorts)
		return true
	default:
		s.meter.polls.WithLabelValues("failed").Inc()
	}
	if alarmed {
		text := fmt.Sprintf("nothing is known of the batch system, so that no job can be estimated or started here: %v; "+
			"`gbroker doctor --config %s` says what to mend", err, s.cfg.File)
		if s.trouble.Swap(&text) == nil {
			s.log.Error("nothing is known of the batch system", zap.Error(err))
		}
		s.load.Store(nil)
		s.become(s.factsNow().Processes, grid.Load{}, nil)
	}
	return false
}

// tell keeps an alarm as long as the batch system starts nothing, or is not understood whole.
func (s *site) tell(shot plan.Snapshot) {
	list := faults(shot)
	if len(list) == 0 {
		if s.trouble.Swap(nil) != nil {
			s.log.Info("nothing is wrong with the batch system any more")
		}
		return
	}
	text := strings.Join(list, "; ")
	if was := s.trouble.Swap(&text); was == nil || *was != text {
		s.log.Warn("the batch system is not as it should be", zap.String("why", text))
	}
}

// faults is what an administrator should know of a batch system that answers.
func faults(shot plan.Snapshot) (list []string) {
	if shot.Stopped {
		list = append(list, fmt.Sprintf("the batch system starts no jobs, so that none is estimated or sent here: %s", shot.Why))
	}
	for _, q := range shot.Queues {
		if q.Name == shot.Default && (q.Stopped || q.Closed) {
			list = append(list, fmt.Sprintf("queue %s, which jobs get that name none, is closed: %s", q.Name, q.Why))
		}
	}
	if len(shot.Unusable) > 0 {
		list = append(list, "not understood in the batch system, and left out: "+strings.Join(shot.Unusable, ", "))
	}
	return list
}

// cores are those of all nodes.
func cores(nodes []plan.Node) (total int) {
	for _, n := range nodes {
		total += n.Cores
	}
	return min(total, grid.MaxProcesses)
}

// become takes up how many cores the nodes have and what they have to do, and tells the neighbours.
func (s *site) become(processes int, load grid.Load, cohorts []grid.Cohort) {
	s.mu.Lock()
	before := s.facts
	s.facts.Processes, s.facts.Load, s.facts.Cohorts = processes, load, cohorts
	facts := s.facts
	s.mu.Unlock()
	if before.Processes != processes {
		s.log.Info("the batch system has changed", zap.Int("processes", processes))
	}
	if !before.Same(facts) {
		s.broker.Post(core.OwnSite{Site: facts})
	}
}

// alarms are what is wrong with this broker, its batch system or its disk.
func (s *site) alarms() []string {
	all := []string{}
	if text, stands := s.broker.Alarm(); stands {
		all = append(all, text)
	}
	for _, text := range []*string{s.shortage(), s.trouble.Load(), s.stale.Load()} {
		if text != nil {
			all = append(all, *text)
		}
	}
	return append(all, s.doubled()...)
}

// notify makes the batch system be looked at now.
func (s *site) notify() {
	if p, ok := s.batch.(pbs.Poller); ok {
		p.Poll()
	}
}
