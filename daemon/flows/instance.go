package flows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// An instance is a workflow of one run in a folder of its own, with what its parent was handed in and the parent's files, which stand on disk
// once. Only one that its parent has noted as open is begun or counted: what else is found at a start was counted, or its making failed.

// instance begins the next one, of a copied file where a folder is watched. Where it cannot, its period is missed, or the file has not counted.
func (f *flow) instance(every *workflow.Periodic, sites [][]workflow.PlannedTask, file *copied) (*flow, error) {
	made, err := f.keeper.mayMake(f)
	defer made()
	n, reserved, err := f.noteOpen(file, err)
	if err == nil {
		var child *flow
		if child, err = f.make(n, every, sites, file, reserved); err == nil {
			return child, nil
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.rec.Periods
	if len(reserved) > 0 { // it is not needed
		p.Ahead[n] = reserved
	}
	if delete(p.Open, n); !p.again(n) {
		p.Missed++
	}
	f.keep()
	return nil, fmt.Errorf("instance %d: %w", n, err)
}

// noteOpen notes, on disk, that the next instance is open, unless there is a reason why it may not be. What is reserved for it is its own from then on.
func (f *flow) noteOpen(file *copied, crowded error) (n int, reserved []grid.ReservationID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.rec.Periods
	n = p.Next
	p.Next++
	reserved = p.takeReserved(n)
	if len(p.Open) >= maxOpen {
		return n, reserved, fmt.Errorf("%d instances are under way", len(p.Open))
	}
	if crowded != nil {
		return n, reserved, crowded
	}
	p.Open[n] = true
	if file != nil {
		p.Taken[file.file.key()] = taken{stamp: file.file.stamp, Number: n}
	}
	return n, reserved, f.save()
}

// make writes an instance and begins it. What is left of one that cannot be made is removed, now or at the next start.
func (f *flow) make(n int, every *workflow.Periodic, sites [][]workflow.PlannedTask, file *copied, reserved []grid.ReservationID) (*flow, error) {
	k := f.keeper
	child := newFlow(k, f.parts)
	if file != nil {
		child.spec = spec{ID: file.id, At: file.at, Came: file.came}
	} else {
		ulid, err := k.config.NewID()
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		child.spec = spec{ID: api.NewFlowID(k.config.Site, ulid), At: f.rec.Begun + grid.Tick(every.Instant(n).Milliseconds())}
		f.mu.Unlock()
	}
	child.spec.User, child.spec.Parent, child.spec.Number = f.spec.User, f.spec.ID, n
	f.mu.Lock()
	child.spec.Key = keyOf(f.spec.ID, f.rec.Run, n, file)
	f.mu.Unlock()
	child.rec = record{State: running, Run: 1, Begun: child.spec.At, Memo: map[string]grid.JobID{}}
	child.of(f)
	child.reset()
	child.identify()
	for i := range child.rec.Tasks {
		if i < len(reserved) {
			child.rec.Tasks[i].Reservation = reserved[i]
		}
		if len(sites) > 0 { // a pipeline that is sustained repeats itself: its later half is as good for all that follow
			like := &sites[row(n, len(sites))][i]
			child.rec.Tasks[i].Prefer, child.rec.Tasks[i].Way = like.Site, like.Way
		}
	}
	child.folder = k.folder(child.spec.ID)
	if err := child.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(child.folder))
	}
	k.mu.Lock()
	k.add(child)
	delete(k.making, f) // it counts itself
	k.begin(child)
	k.mu.Unlock()
	return child, nil
}

// of makes an instance that of a parent: what the parent was handed in is not written again.
func (f *flow) of(parent *flow) {
	f.parent, f.parts = parent, parent.parts
	f.spec.Submission = parent.spec.Submission
	f.spec.Submission.Periodic = nil
}

// create writes a new workflow into a folder of its own. What has a spec.json is whole.
func (f *flow) create() error {
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of a workflow: %w", err)
	}
	kept := f.spec
	if f.parent != nil {
		kept.Submission = api.FlowSubmission{}
	}
	if err := f.keeper.write(f.folder, "state.json", &f.rec); err != nil {
		return err
	}
	if err := f.keeper.write(f.folder, "spec.json", &kept); err != nil {
		return err
	}
	return f.keeper.config.Sync(f.keeper.config.Folder)
}

// row is which of some planned instances another one is like.
func row(n, planned int) int {
	if n < planned {
		return n
	}
	half := max(planned/2, 1)
	return planned - half + (n-planned)%half
}

// count takes what an instance came to; it is removed once that is on disk. Its age is by the schedule as it is now, as its end is by the clock of now.
func (f *flow) count(child *flow, every *workflow.Periodic) {
	child.mu.Lock()
	tasks, end := slices.Clone(child.rec.Tasks), child.rec.Ended
	child.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	p, n := f.rec.Periods, child.spec.Number
	f.counted = append(f.counted, child)
	if !p.Open[n] {
		return
	}
	begun := child.spec.At
	if every.Folder == "" {
		f.since(every)
		begun = f.rec.Begun + grid.Span(every.Instant(n))
	}
	age := max(end-begun, 0)
	delete(p.Open, n)
	f.rec.Tasks = tasks
	if slices.ContainsFunc(tasks, func(t enact.Task) bool { return !t.Well() }) {
		p.failed(n)
	} else {
		p.Done++
		p.Ages = append(p.Ages, age)
		p.Ages = p.Ages[max(0, len(p.Ages)-maxAges):]
	}
	if every.Deadline > 0 && spanOf(age) > every.Deadline {
		p.Late++
		f.keeper.config.Log.Warn("an instance of a workflow missed its deadline", "workflow", f.spec.ID, "number", n, "age", spanOf(age))
	}
}

// forget removes the instances that were counted, once that is on disk: one whose folder is gone before would count as missed after a restart.
func (f *flow) forget() {
	if len(f.counted) == 0 {
		return
	}
	f.mu.Lock()
	err := f.save()
	f.mu.Unlock()
	if err != nil {
		f.keeper.config.Log.Error("what instances of a periodic workflow came to cannot be written, and is tried again", "workflow", f.spec.ID, "error", err)
		return
	}
	for _, child := range f.counted {
		f.keeper.drop(child)
	}
	f.counted = nil
}

// cancelInstances ends those of a workflow that was cancelled.
func (f *flow) cancelInstances() {
	f.mu.Lock()
	cancelled := f.rec.Cancelled
	f.mu.Unlock()
	if !cancelled {
		return
	}
	for _, child := range f.keeper.all() {
		if child.spec.Parent == f.spec.ID {
			if err := child.cancel(); err != nil {
				f.keeper.config.Log.Error("an instance of a cancelled workflow is not cancelled", "workflow", child.spec.ID, "error", err)
			}
		}
	}
}

// finished waits for the end of an instance; false if ctx is done before.
func (f *flow) finished(ctx context.Context) bool {
	f.mu.Lock()
	over := f.over
	if f.rec.State == ended {
		over = nil
	}
	f.mu.Unlock()
	if over == nil {
		return true
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// reopen finds the instances that were open when the process ended. What was noted and never made is missed, or its file counts again; what
// cannot be read any more has failed.
func (f *flow) reopen() (list []*flow) {
	made := map[int]bool{}
	for _, child := range f.keeper.all() {
		if child.parent == f {
			made[child.spec.Number] = true
			list = append(list, child)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.rec.Periods
	for n := range p.Open {
		if made[n] {
			continue
		}
		delete(p.Open, n)
		switch _, file := p.fileOf(n); {
		case slices.Contains(f.lost, n), file && n != p.Next-1:
			p.failed(n)
		case !p.again(n):
			p.Missed++
		}
	}
	return list
}

// drop removes an instance that was counted.
func (k *Keeper) drop(child *flow) {
	child.retire(func() bool { return true })
	if err := errors.Join(k.forget(child), remains(child)); err != nil {
		k.config.Log.Error("an instance of a periodic workflow is not removed", "workflow", child.spec.ID, "error", err)
	}
}

// inputsFolder has a file of the workflow.
func (f *flow) inputsFolder(name string) string {
	if f.parent != nil && !f.spec.Came.is(name) {
		return f.parent.inputsFolder(name)
	}
	return filepath.Join(f.folder, "in")
}

// hash is that of a file of the workflow.
func (f *flow) hash(name string) string {
	if f.spec.Came.is(name) {
		return f.spec.Came.Contents
	}
	if f.parent != nil {
		return f.parent.hash(name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec.Files[name]
}
