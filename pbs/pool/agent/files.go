package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// stamp is by what a file is known not to have changed.
type stamp struct {
	size int64
	mode fs.FileMode
	at   time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.Mode(), info.ModTime()} }

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

// walk visits the regular files of the sandbox.
func (j *job) walk(visit func(inside string, info fs.FileInfo) error) error {
	top := j.folder.work()
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // the program may still run
			return nil
		}
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(inside), info)
	})
}

// bring brings back what the program made or changed, below the top or of one name.
func (j *job) bring(ctx context.Context, below string) error {
	root, err := os.OpenRoot(j.folder.work())
	if err != nil {
		return err
	}
	defer root.Close()
	count, total := 0, int64(0)
	return j.walk(func(inside string, info fs.FileInfo) error {
		if below != "" && inside != below && !strings.HasPrefix(inside, below+"/") || j.given[inside] == stampOf(info) {
			return nil
		}
		if count, total = count+1, total+info.Size(); count > grid.MaxFiles || total > grid.MaxSandbox {
			return fmt.Errorf("%w: it leaves more than a sandbox holds: %d files, %d bytes", errForbidden, count, total)
		}
		if err := j.bringOne(ctx, root, inside); err != nil {
			return fmt.Errorf("bringing %q: %w", inside, err)
		}
		j.given[inside] = stampOf(info)
		return nil
	})
}

func (j *job) bringOne(ctx context.Context, root *os.Root, inside string) error {
	f, err := root.Open(inside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return j.agent.client.bring(ctx, j.tag, j.Stint, line.File{Path: []byte(inside), Size: size, Mode: uint32(info.Mode().Perm())}, hex.EncodeToString(h.Sum(nil)), f)
}
