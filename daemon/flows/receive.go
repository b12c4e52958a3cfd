package flows

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gbroker/api"
	"gbroker/grid"
)

// UploadFlow takes one file of a workflow.
func (k *Keeper) UploadFlow(ctx context.Context, who api.Identity, id api.FlowID, path string, body io.Reader) error {
	f, err := k.flow(who, id)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(f.spec.Submission.Files, func(x api.File) bool { return x.Path == path })
	if n < 0 || f.status().State != coming {
		return fmt.Errorf("%w: the workflow %s was not to bring a file %q, or has all of its files", grid.ErrInvalid, id, path)
	}
	return f.receive(ctx, f.spec.Submission.Files[n], body)
}

// receive writes a file into the folder of the workflow, whole or not at all.
func (f *flow) receive(ctx context.Context, file api.File, body io.Reader) error {
	if err := f.keeper.roomFor(file.Size); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	part := "part-" + rand.Text() // of this request alone, and no name that a file may have
	out, err := root.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("taking the file %s: %w", file.Path, err)
	}
	n, is, err := f.keeper.store(ctx, out, body, file.Size)
	if err == nil && n != file.Size {
		err = fmt.Errorf("%w: it has %d bytes, not %d", grid.ErrInvalid, n, file.Size)
	}
	if err == nil {
		err = f.received(root, part, file, is)
	}
	if err != nil {
		root.Remove(part)
		return fmt.Errorf("taking the file %s: %w", file.Path, err)
	}
	return nil
}

// received gives a file that has come its name, while the workflow waits for it.
func (f *flow) received(root *os.Root, part string, file api.File, is string) error {
	name := filepath.Join("in", filepath.FromSlash(file.Path))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec.State != coming || f.retired {
		return fmt.Errorf("%w: the workflow %s waits for no files any more", grid.ErrInvalid, f.spec.ID)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := root.Rename(part, name); err != nil {
		return err
	}
	if err := f.keeper.settle(f.folder, name); err != nil {
		return err
	}
	f.rec.Files[file.Path] = is
	return f.save()
}
