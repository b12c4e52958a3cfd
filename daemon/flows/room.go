package flows

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// sizes are the bytes of the documents of a workflow, and of the files beside it.
func sizes(s *api.FlowSubmission) (documents, files int64) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		documents += int64(len(t.Document) + len(t.Name))
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
