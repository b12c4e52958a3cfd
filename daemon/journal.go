package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/store"
)

// firstStartName is a file in the folder of a site that has not started yet: the first start
// may make a journal. It lies beside the data folder and not in it, which may be a disk
// that is not mounted.
const firstStartName = "first-start"

const firstStartText = "This site has not started yet: its first start makes an empty journal, and removes this file.\n"

// openJournal opens the journal of a site. One that is missing is made at the first
// start alone, or where the administrator insists: an empty journal forgets all jobs.
func openJournal(ctx context.Context, cfg Config, log *zap.Logger) (*store.Journal, error) {
	there, err := store.Exists(cfg.Data)
	if err != nil {
		return nil, err
	}
	first := filepath.Join(cfg.Dir(), firstStartName)
	_, err = os.Lstat(first)
	fresh := err == nil
	switch {
	case there && cfg.EmptyJournal:
		return nil, fmt.Errorf("%w: there is a journal in %s: leave out --empty-journal, which begins with an empty one", grid.ErrInvalid, cfg.Data)
	case !there && !fresh && !cfg.EmptyJournal:
		return nil, missingJournal(cfg.Data)
	}
	journal, err := store.Open(ctx, cfg.Data)
	if err != nil {
		return nil, err
	}
	if fresh {
		if err := os.Remove(first); err != nil {
			log.Warn("remove this file: while it is there a missing journal is made anew in silence", zap.Error(err))
		}
	}
	return journal, nil
}

// HasJournal tells whether the site has ever begun.
func HasJournal(cfg Config) (bool, error) { return store.Exists(cfg.Data) }

// reopenJournal opens it again while the daemon runs.
func reopenJournal(ctx context.Context, cfg Config) (*store.Journal, error) {
	there, err := store.Exists(cfg.Data)
	if err == nil && !there {
		err = missingJournal(cfg.Data)
	}
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, cfg.Data)
}

func missingJournal(data string) error {
	what := "has no journal"
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		what = "is missing"
	}
	return fmt.Errorf("%w: the data folder %s %s, and this is not the first start of the site: mount its disk, correct data in gbroker.yaml, "+
		"or restore it (docs/operating.md); if all is lost, `gbroker run --empty-journal` begins with an empty one", grid.ErrNotFound, data, what)
}
