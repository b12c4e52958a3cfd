package flows

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/api"
	"gbroker/grid"
)

// retain removes workflows that were kept long enough, until ctx is done.
func (k *Keeper) retain(ctx context.Context) {
	hourly := time.NewTicker(time.Hour)
	defer hourly.Stop()
	for {
		k.removeOld()
		select {
		case <-hourly.C:
		case <-ctx.Done():
			return
		}
	}
}

func (k *Keeper) removeOld() {
	for _, f := range k.all() {
		if err := k.removeIfOld(f); err != nil {
			k.config.Log.Error("a workflow that was kept long enough is not removed", "workflow", f.spec.ID, "error", err)
		}
	}
}

func (k *Keeper) removeIfOld(f *flow) error {
	old := func() bool { return f.old(k.config.Now(), k.config.Keep) }
	if f.parent != nil || !f.mu.TryLock() {
		return nil // one that is being written is not old, and others are not to wait for that
	}
	seems := f.retired || old()
	f.mu.Unlock()
	if !seems {
		return nil
	}
	return k.remove(f, old)
}

// remove removes a workflow that may, by then, still go.
func (k *Keeper) remove(f *flow, may func() bool) error {
	k.taking.Lock()
	old := f.retire(may)
	err := error(nil)
	if old {
		err = k.forget(f)
	}
	k.taking.Unlock()
	if old && err == nil {
		err = remains(f)
	}
	return err
}

// RemoveFlow forgets a workflow that has ended, or waits for its files. The jobs of its tasks stay as long as jobs do.
func (k *Keeper) RemoveFlow(_ context.Context, who api.Identity, id api.FlowID) error {
	f, err := k.flow(who, id)
	if err != nil {
		return err
	}
	if f.parent != nil {
		return fmt.Errorf("%w: %s is an instance of the workflow %s: remove that", grid.ErrInvalid, id, f.parent.spec.ID)
	}
	over := false
	if err := k.remove(f, func() bool {
		over = f.rec.State == ended || f.rec.State == coming
		return over
	}); err != nil {
		return fmt.Errorf("removing the workflow %s: %w", id, err)
	}
	if !over {
		return fmt.Errorf("%w: the workflow %s has not ended: 'gclient flow cancel %s' ends it", grid.ErrNotYet, id, id)
	}
	return nil
}

// all are the workflows that there are.
func (k *Keeper) all() []*flow {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.flows))
}

// forget has no workflow any more that was retired, also after a restart: without a spec.json a folder is none.
func (k *Keeper) forget(f *flow) error {
	k.mu.Lock()
	delete(k.flows, f.spec.ID)
	k.mu.Unlock()
	if err := os.Remove(filepath.Join(f.folder, "spec.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.tell(true)
	return nil
}

// remains removes what is left of a workflow that is forgotten; what cannot be removed now is at the next start. A file that
// has begun to come is not there when it is looked for, and then is.
func remains(f *flow) (err error) {
	for range 3 {
		if err = os.RemoveAll(f.folder); !errors.Is(err, unix.ENOTEMPTY) {
			break
		}
	}
	return err
}

// retire ends all use of a workflow, if may says so.
func (f *flow) retire(may func() bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retired = may() || f.retired
	return f.retired
}

// comingLimit is how long a workflow may wait for its files.
const comingLimit = grid.Day

// old: it has ended and was kept long enough, or waits for files that do not come. f.mu is held.
func (f *flow) old(now, keep grid.Tick) bool {
	switch f.rec.State {
	case coming:
		return now-f.spec.At > comingLimit
	case ended:
		return keep > 0 && now-f.rec.Ended > keep
	}
	return false
}
