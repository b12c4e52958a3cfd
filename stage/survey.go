package stage

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// incoming is one file on its way in.
type incoming struct {
	grid.File
	part  string
	begun bool // an earlier Fetch left its part file

	mu   sync.Mutex
	f    *os.File // while ranges come
	left int      // ranges that are not here
}

// partName is the same for the same file, whenever it is fetched.
func partName(set Set, f grid.File) string {
	h := blake3.New(16, nil)
	fmt.Fprintf(h, "%d %d %q", set, f.Size, f.Path)
	for _, r := range f.Ranges {
		h.Write(r[:])
	}
	return "get-" + hex.EncodeToString(h.Sum(nil))
}

// survey finds what is here already and puts the rest on the list.
func (p *pull) survey(ctx context.Context, m grid.Manifest) error {
	p.open = map[*incoming]bool{}
	fresh := empty(p.root, partDir) && empty(p.root, p.set.dir())
	for _, f := range m {
		in := &incoming{File: f, part: partName(p.set, f)}
		have := make([]bool, len(f.Ranges))
		if !fresh {
			whole, err := p.s.intact(ctx, p.root, path.Join(p.set.dir(), f.Path), f)
			if err != nil {
				return err
			}
			if whole {
				if err := p.root.Chmod(path.Join(p.set.dir(), f.Path), readable(f.Mode)); err != nil {
					return diskError(err)
				}
				continue
			}
			if have, err = p.surveyPart(ctx, in); err != nil {
				return err
			}
		}
		for i, ok := range have {
			if !ok {
				in.left++
				sp := &span{file: in, index: i}
				p.todo = append(p.todo, sp)
				p.missing += sp.length()
			}
		}
		if in.left == 0 {
			if err := p.finish(in); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// surveyPart tells which ranges an earlier Fetch left in a part file.
func (p *pull) surveyPart(ctx context.Context, in *incoming) ([]bool, error) {
	f, _, err := openRegular(p.root, path.Join(partDir, in.part))
	if errors.Is(err, fs.ErrNotExist) {
		return make([]bool, len(in.Ranges)), nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	in.begun = true
	have, err := p.s.goodRanges(ctx, f, in.File)
	if err != nil {
		return nil, diskError(err)
	}
	return have, nil
}

// empty reports that a folder has no entry.
func empty(root *os.Root, dir string) bool {
	d, err := root.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) == 0
}

// sink is the open part file.
func (p *pull) sink(in *incoming) (*os.File, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.f != nil {
		return in.f, nil
	}
	name := path.Join(partDir, in.part)
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) && p.root.Chmod(name, 0o600) == nil { // a crash left it with its final mode
		f, err = p.root.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	in.f = f
	p.mu.Lock()
	p.open[in] = true
	p.mu.Unlock()
	return f, nil
}

// count notes that one more range is here, and puts the whole file in its place.
func (p *pull) count(in *incoming) error {
	in.mu.Lock()
	in.left--
	last := in.left == 0
	in.mu.Unlock()
	if !last {
		return nil
	}
	if err := p.finish(in); err != nil {
		return finalError{err}
	}
	return nil
}

// finish gives a whole file its length, mode and name. Nobody else uses it any more.
func (p *pull) finish(in *incoming) error {
	f, err := p.sink(in)
	if err == nil {
		err = errors.Join(f.Truncate(in.Size), f.Chmod(readable(in.Mode)), f.Close())
		p.mu.Lock()
		delete(p.open, in)
		p.mu.Unlock()
	}
	if err == nil {
		name := path.Join(p.set.dir(), in.Path)
		if err = place(p.root, in.part, name); isTangle(err) {
			// Left of another set that was never whole.
			if err = clearWay(p.root, p.set.dir(), name); err == nil {
				err = place(p.root, in.part, name)
			}
		}
	}
	if err != nil {
		return diskError(fmt.Errorf("put %q in its place: %w", in.Path, err))
	}
	return nil
}

// clearWay removes what stands at name, and files that stand where its folders belong.
func clearWay(root *os.Root, top, name string) error {
	if err := root.RemoveAll(name); err != nil && !isTangle(err) {
		return err
	}
	for d := path.Dir(name); d != top && d != "."; d = path.Dir(d) {
		if info, err := root.Lstat(d); err == nil && !info.IsDir() {
			return root.Remove(d)
		}
	}
	return nil
}
