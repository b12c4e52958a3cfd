package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/broker"
	"gbroker/grid"
	"gbroker/internal/version"
	"gbroker/plan"
)

// Overview counts the jobs of all.
func (s administration) Overview(context.Context) (api.Overview, error) {
	return s.site.overview(), nil
}

func (s *site) overview() api.Overview {
	facts := s.factsNow()
	o := api.Overview{
		Site: facts.Name, Peer: s.self, PID: os.Getpid(), Version: version.Version,
		Started: api.Time(grid.InstantOf(s.start)), UptimeS: time.Since(s.start).Seconds(), Draining: facts.Draining,
		Jobs: s.jobs(), Batch: s.load.Load(), Alarms: s.alarms(), Members: []api.MemberAtGlance{},
		Disk: api.Disk{Folder: s.cfg.Data, JournalSize: journalSize(s.cfg.Data)},
	}
	if journal, _, err := s.broker.Room(); err == nil {
		o.Disk.Free = max(0, journal-broker.Reserve)
	}
	there := s.broker.Count(func(r *grid.Record) string {
		if r.Role != grid.Watching || r.State.Terminal() {
			return ""
		}
		return string(r.Owner)
	})
	for _, m := range s.memberList() {
		o.Members = append(o.Members, api.MemberAtGlance{
			Name: m.Name, State: s.overlay.Liveness(m.Peer).String(), Contact: s.overlay.Contact(m.Peer).String(), Version: s.versionOf(m.Peer),
			Jobs: there[string(m.Peer)], OtherKey: s.overlay.OtherKey(m.Peer),
		})
	}
	for _, m := range s.passedOver() {
		o.Members = append(o.Members, api.MemberAtGlance{Name: m.Name, State: api.NotChosen, Version: s.versionOf(m.Peer), Jobs: there[string(m.Peer)]})
	}
	return o
}

// jobs are those that this broker is the home or the owner of, by state.
func (s *site) jobs() map[string]int {
	n := s.broker.Count(present)
	for state, k := range s.broker.Ended() {
		n[state] += k
	}
	return n
}

// present is the state of a job that this broker is the home or the owner of.
func present(r *grid.Record) string {
	if r.Removed || r.Role != grid.Owning && r.Role != grid.Watching {
		return ""
	}
	return r.State.String()
}

// journalSize is what the journal takes on the disk, with what is not yet merged into it.
func journalSize(folder string) (n int64) {
	for _, name := range []string{"journal.db", "journal.db-wal", "journal.db-shm"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// loadOf is what a snapshot shows the batch system to have to do.
func loadOf(shot plan.Snapshot) grid.Load {
	l := grid.Load{Waiting: min(len(shot.Waiting), grid.MaxProcesses)}
	for _, n := range shot.Nodes {
		if !n.Down {
			l.Cores += n.Cores
		}
	}
	for _, r := range shot.Running {
		for _, h := range r.Shares {
			l.Busy += h.Cores
		}
	}
	l.Cores, l.Busy = min(l.Cores, grid.MaxProcesses), min(l.Busy, grid.MaxProcesses)
	return l
}

// hearVersion keeps which program a peer runs, as its Hello names it.
func (s *site) hearVersion(p grid.PeerID, program string) {
	s.mu.Lock()
	s.versions[p] = strings.TrimPrefix(program, "gbroker ")
	s.mu.Unlock()
}

func (s *site) versionOf(p grid.PeerID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[p]
}
