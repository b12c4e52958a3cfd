package daemon

import (
	"log/slog"
	"path/filepath"

	"go.uber.org/zap/exp/zapslog"

	"gbroker/broker"
	"gbroker/daemon/flows"
	"gbroker/grid"
)

// newFlows are the workflows of this home.
func (s *site) newFlows() (*flows.Keeper, error) {
	return flows.New(flows.Config{
		Folder: filepath.Join(s.cfg.Data, "flows"), Jobs: service{s}, Site: s.facts.Name, Self: s.self, Sign: s.sign, Walltime: grid.Span(s.cfg.DefaultWalltime),
		Now: wall, NewID: newULID, Log: slog.New(zapslog.NewHandler(s.log.Named("flows").Core())), Most: s.cfg.Limits.Groups,
		Keep: grid.Tick(s.cfg.Retention.Days) * grid.Day, Documents: s.cfg.Limits.Documents, Bytes: s.cfg.Limits.Bytes,
		Watch: s.cfg.Files.Watch, Free: s.free, Changed: s.flowChanged,
	})
}

// free is what of the journal's disk, where the workflows lie too, is not kept back.
func (s *site) free() (int64, error) {
	journal, _, err := s.broker.Room()
	return journal - broker.Reserve, err
}
