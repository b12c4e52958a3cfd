package flows

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// maxWatches is how many folders a user may have watched at a time.
const maxWatches = 16

// oneMore says why a user may not have another workflow that has not ended. k.taking is held.
func (k *Keeper) oneMore(user string, s *api.FlowSubmission) error {
	open, watches := 0, 0
	for _, f := range k.all() {
		if f.spec.User != user || f.spec.Parent != "" || f.phase() == ended {
			continue
		}
		if open++; isWatch(&f.spec.Submission) {
			watches++
		}
	}
	switch {
	case open >= k.config.Most:
		return fmt.Errorf("%w: %s has %d workflows that have not ended: wait until some have, or cancel some", grid.ErrNotYet, user, open)
	case isWatch(s) && watches >= maxWatches:
		return fmt.Errorf("%w: %s has %d workflows that watch folders: wait until some have ended, or cancel some", grid.ErrNotYet, user, watches)
	}
	return nil
}

func isWatch(s *api.FlowSubmission) bool { return s.Periodic != nil && s.Periodic.Folder != "" }

// crowded says why a user may not have another instance under way now; nil if he may.
func (k *Keeper) crowded(f *flow) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.crowds(f)
}

// crowds is crowded; k.mu is held.
func (k *Keeper) crowds(f *flow) error {
	tasks := len(f.parts)
	for _, other := range k.flows {
		if other.spec.Parent != "" && other.spec.User == f.spec.User && other.phase() != ended {
			tasks += len(other.parts)
		}
	}
	for other := range k.making {
		if other != f && other.spec.User == f.spec.User {
			tasks += len(other.parts)
		}
	}
	if tasks <= k.config.Tasks || tasks == len(f.parts) {
		return nil
	}
	return fmt.Errorf("%w: the instances under way of %s have %d tasks with the next, of which %d are allowed", grid.ErrNotYet, f.spec.User, tasks, k.config.Tasks)
}

// mayMake lets a workflow make an instance, which counts from now on until made is called: then there is one, or none.
func (k *Keeper) mayMake(f *flow) (made func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.crowds(f); err != nil {
		return func() {}, err
	}
	k.making[f] = true
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.making, f)
	}, nil
}

// restart begins another run of a workflow that has ended; it counts as one more.
func (k *Keeper) restart(f *flow) (begun bool, err error) {
	k.taking.Lock()
	defer k.taking.Unlock()
	if f.phase() != ended {
		return false, nil
	}
	if err := k.oneMore(f.spec.User, &f.spec.Submission); err != nil {
		return false, err
	}
	return f.start(ended)
}

// claim lets a file be copied, where the files of the instances of its user have room for it within the bound; else it is how many bytes those have.
func (k *Keeper) claim(w *watcher, size int64) (held int64, may bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	user := w.f.spec.User
	for _, f := range k.flows {
		if f.spec.User == user && f.spec.Came != nil {
			held += f.spec.Came.Size
		}
	}
	for other, n := range k.copying {
		if other.f.spec.User == user {
			held += n
		}
	}
	if may = k.config.Bytes == 0 || held+size <= k.config.Bytes; may {
		k.copying[w] = size
	}
	return held, may
}

// release ends a claim: there is an instance, or nothing.
func (k *Keeper) release(w *watcher) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.copying, w)
}

// sizes are the bytes of the documents of a workflow, and of the files beside it.
func sizes(s *api.FlowSubmission) (documents, files int64) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		documents += int64(len(t.Document) + len(t.Name))
		for _, other := range t.Others {
			documents += int64(len(other.Document) + len(other.Name))
		}
		for _, name := range t.After {
			documents += int64(len(name))
		}
	}
	for _, f := range s.Files {
		documents += int64(len(f.Path))
		files = min(files+min(f.Size, 1<<60), 1<<60)
	}
	return documents, files
}

// room makes room for a workflow of a user within the bounds: his oldest that have ended go first. k.taking is held.
func (k *Keeper) room(user string, s api.FlowSubmission) (gone []*flow, err error) {
	documents, files := sizes(&s)
	var over []*flow // that have ended
	for _, f := range k.all() {
		if f.spec.User != user || f.spec.Parent != "" {
			continue
		}
		d, b := sizes(&f.spec.Submission)
		documents, files = documents+d, min(files+b, 1<<60)
		if f.phase() == ended && f.spec.ID != s.Resumes {
			over = append(over, f)
		}
	}
	fits := func() bool {
		return (k.config.Documents == 0 || documents <= k.config.Documents) && (k.config.Bytes == 0 || files <= k.config.Bytes)
	}
	slices.SortFunc(over, func(a, b *flow) int { return cmp.Compare(a.spec.At, b.spec.At) })
	for ; !fits() && len(over) > 0; over = over[1:] {
		if !over[0].retire(func() bool { return over[0].rec.State == ended }) {
			continue // resumed
		}
		if err := k.forget(over[0]); err != nil {
			return gone, fmt.Errorf("removing an old workflow: %w", err)
		}
		gone = append(gone, over[0])
		d, b := sizes(&over[0].spec.Submission)
		documents, files = documents-d, files-b
	}
	if !fits() {
		return gone, fmt.Errorf("%w: with this one the workflows of %s that have not ended have %d bytes of documents, of which %d are allowed, and %d bytes of files, of which %d are: wait until some have ended",
			grid.ErrNotYet, user, documents, k.config.Documents, files, k.config.Bytes)
	}
	return gone, nil
}

// roomFor says why so many bytes cannot be written.
func (k *Keeper) roomFor(size int64) error {
	if k.config.Free == nil {
		return nil
	}
	free, err := k.config.Free()
	if err != nil {
		return fmt.Errorf("asking for the room on the disk of the workflows: %w", err)
	}
	if free <= 0 || free < size {
		return fmt.Errorf("%w: the disk of the workflows at this site is full: there is room for %d MiB, and %d MiB are to be written; try again later, or tell its administrator",
			grid.ErrUnavailable, max(free, 0)>>20, (size+1<<20-1)>>20)
	}
	return nil
}
