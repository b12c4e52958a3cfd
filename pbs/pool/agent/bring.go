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
	"path/filepath"
	"strings"
	"syscall"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// errUnreadable tells of output that this computer cannot read: trying again is of no use.
var errUnreadable = errors.New("its output cannot be read")

// walk visits the files, folders and links of the sandbox. Other things, such as pipes, are not a job's output.
func (j *job) walk(visit func(inside string, info fs.FileInfo) error) error {
	top := j.folder.work()
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (name == top || d.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0) {
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

// bring brings back what the program made or changed, below the top or of one name. Of a program that has ended it
// opens what that has closed to itself.
func (j *job) bring(ctx context.Context, below string, ended bool) error {
	root, err := os.OpenRoot(j.folder.work())
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer root.Close()
	count, total := 0, int64(0)
	err = j.walk(func(inside string, info fs.FileInfo) error {
		if closed := info.Mode().Perm()|closedTo(info) != info.Mode().Perm(); ended && closed && info.Mode()&fs.ModeSymlink == 0 {
			if err := root.Chmod(inside, info.Mode().Perm()|closedTo(info)); err != nil {
				return err
			}
		}
		if below != "" && inside != below && !strings.HasPrefix(inside, below+"/") || j.given[inside] == stampOf(info) {
			return nil
		}
		if count, total = count+1, total+info.Size(); count > grid.MaxFiles || total > grid.MaxSandbox {
			return fmt.Errorf("%w: it leaves more than a sandbox holds: %d files, %d bytes", errForbidden, count, total)
		}
		if err := j.bringOne(ctx, root, inside, info); err != nil {
			return fmt.Errorf("bringing %q: %w", inside, err)
		}
		j.given[inside] = stampOf(info)
		return nil
	})
	if path := (*fs.PathError)(nil); errors.As(err, &path) && !line.Passes(err) {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return err
}

// closedTo are the permissions without which its owner cannot bring something.
func closedTo(info fs.FileInfo) fs.FileMode {
	if info.IsDir() {
		return 0o500
	}
	return 0o400
}

func (j *job) bringOne(ctx context.Context, root *os.Root, inside string, info fs.FileInfo) error {
	p := piece{path: inside, mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
		p.folder = true
		return j.agent.client.bring(ctx, j.tag, j.Stint, p, nil)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(inside)
		if err != nil { // gone
			return nil
		}
		if p.link, err = line.Link(root, inside, to); errors.Is(err, line.ErrLimit) {
			j.agent.log.Warn("a symbolic link is not brought back", zap.String("tag", j.tag), zap.Error(err))
			return nil
		}
		if err != nil {
			return err
		}
		return j.agent.client.bring(ctx, j.tag, j.Stint, p, nil)
	}
	f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return err
	}
	h := sha256.New()
	if p.size, err = io.Copy(h, while{ctx, f}); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.sum = hex.EncodeToString(h.Sum(nil))
	return j.agent.client.bring(ctx, j.tag, j.Stint, p, f)
}

// while reads until a context ends.
type while struct {
	ctx  context.Context
	from io.Reader
}

func (w while) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.from.Read(p)
}
