package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"gbroker/pbs/pool/line"
)

// stamp is by what a file is known not to have changed.
type stamp struct {
	size int64
	mode fs.FileMode
	at   time.Time
}

func stampOf(info fs.FileInfo) stamp {
	if info.IsDir() { // its other marks tell what was done in it
		return stamp{mode: info.Mode()}
	}
	return stamp{info.Size(), info.Mode(), info.ModTime()}
}

// fetch makes the sandbox of a job; all of it is there when it returns without an error.
func (j *job) fetch(ctx context.Context) error {
	files, err := j.agent.client.inputs(ctx, j.tag)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, f := range files.Files {
		total += f.Size
	}
	if most := j.agent.config.Disk; most > 0 && total > most {
		return fmt.Errorf("%w: its inputs have %d bytes, and the owner gives %d", errRefuse, total, most)
	}
	if err := os.RemoveAll(j.folder.work()); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(j.folder.work(), 0o755), os.MkdirAll(j.folder.ctl(), 0o755)); err != nil {
		return err
	}
	root, err := os.OpenRoot(j.folder.work())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files.Files {
		if err := j.fetchOne(ctx, root, f); err != nil {
			return fmt.Errorf("fetching %q: %w", f.Path, err)
		}
	}
	for _, f := range files.Files { // a folder may be one in which nothing can be made
		if f.Folder {
			if err := root.Chmod(string(f.Path), fs.FileMode(f.Mode)|0o700); err != nil {
				return err
			}
		}
	}
	return j.remember()
}

func (j *job) fetchOne(ctx context.Context, root *os.Root, f line.File) error {
	name := string(f.Path)
	if f.Folder {
		return root.MkdirAll(name, 0o755)
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if len(f.Link) > 0 {
		return root.Symlink(string(f.Link), name)
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if f.Size > 0 {
		err = j.agent.client.fetch(ctx, j.tag, f, file)
	}
	if err == nil {
		err = file.Chmod(fs.FileMode(f.Mode))
	}
	return errors.Join(err, file.Close())
}

// remember notes what the sandbox holds before the program begins.
func (j *job) remember() error {
	j.given = map[string]stamp{}
	return j.walk(func(inside string, info fs.FileInfo) error {
		j.given[inside] = stampOf(info)
		return nil
	})
}
