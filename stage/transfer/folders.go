package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// folders is file: what lies below the folders that the site allows.
type folders struct{ cfg Config }

func newFolders(cfg Config) folders { return folders{cfg} }

func (folders) check(t target) error {
	switch {
	case t.Host != "" && t.Host != "localhost":
		return errors.New("file: names files of the site itself: write file:///PATH")
	case !path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path:
		return errors.New("the path must be absolute, and without . or .. or //")
	}
	return nil
}

// find is the folder among list that a file is below, the longest, and its name there.
func (f folders) find(t target, list []string, what string) (folder, name string, err error) {
	for _, d := range list {
		if rest, ok := strings.CutPrefix(t.Path, strings.TrimSuffix(filepath.Clean(d), "/")+"/"); ok && len(d) > len(folder) {
			folder, name = d, rest
		}
	}
	if folder == "" {
		return "", "", fmt.Errorf("%w: this site does not let its users %s that folder: its administrator names such folders by `files` in gbroker.yaml", grid.ErrForbidden, what)
	}
	return folder, name, nil
}

// kind is what a failed access to a file means.
func kind(err error) error {
	switch {
	case err == nil:
		return nil
	case handover.Absent(err):
		return fmt.Errorf("%w: there is no such file", grid.ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: it may not be read", grid.ErrForbidden)
	}
	return err
}

// reader opens a file in the name of the account.
func (f folders) reader(ctx context.Context, t target) (io.ReadCloser, Facts, error) {
	folder, name, err := f.find(t, f.cfg.Read, "read")
	if err != nil {
		return nil, Facts{}, err
	}
	if t.account != "" {
		return f.asAccount(ctx, t, folder, name)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, Facts{}, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, Facts{}, kind(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no regular file", grid.ErrInvalid)
	}
	if err != nil {
		file.Close()
		return nil, Facts{}, err
	}
	return file, Facts{Size: info.Size(), Version: info.ModTime().UTC().Format(time.RFC3339Nano)}, nil
}

// asAccount has the file sent by a process of the account.
func (f folders) asAccount(ctx context.Context, t target, folder, name string) (io.ReadCloser, Facts, error) {
	if f.cfg.As == nil {
		return nil, Facts{}, fmt.Errorf("%w: this broker acts for no accounts", grid.ErrForbidden)
	}
	ctx, cancel := context.WithCancel(ctx)
	sent, w := io.Pipe()
	go func() { w.CloseWithError(f.cfg.As(ctx, t.account, strings.NewReader(name+"\x00"), w, "send", folder)) }()
	type opened struct {
		size int64
		err  error
	}
	head := make(chan opened, 1)
	content, into := io.Pipe()
	go func() {
		defer cancel()
		from, err := handover.NewReceiver(sent)
		if err == nil {
			var found bool
			found, err = from.Next(func(_ fs.FileMode, size int64, r io.Reader) error {
				head <- opened{size: size}
				_, err := io.Copy(into, r)
				return err
			})
			if err == nil && !found {
				err = fmt.Errorf("%w: there is no such file for account %s", grid.ErrNotFound, t.account)
			}
			if errors.Is(err, handover.ErrHandedOver) {
				err = fmt.Errorf("%w: account %s: %w", grid.ErrForbidden, t.account, err)
			}
		}
		sent.CloseWithError(io.ErrClosedPipe)
		into.CloseWithError(err)
		select {
		case head <- opened{err: err}:
		default:
		}
	}()
	o := <-head
	if o.err != nil {
		return nil, Facts{}, o.err
	}
	return content, Facts{Size: o.size}, nil
}

func (f folders) stat(ctx context.Context, t target) (Facts, error) {
	r, facts, err := f.reader(ctx, t)
	if err != nil {
		return Facts{}, err
	}
	return facts, r.Close()
}

func (f folders) open(ctx context.Context, t target, offset int64, known Facts) (io.ReadCloser, Facts, int64, error) {
	r, facts, err := f.reader(ctx, t)
	if err != nil {
		return nil, facts, 0, err
	}
	file, ok := r.(*os.File)
	if ok && offset > 0 && facts.Version == known.Version && facts.Size == known.Size {
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			file.Close()
			return nil, facts, 0, err
		}
		return file, facts, offset, nil
	}
	return r, facts, 0, nil
}

func (f folders) store(ctx context.Context, t target, from *os.File, size int64, flag grid.CreationFlag) error {
	folder, name, err := f.find(t, f.cfg.Write, "write into")
	if err != nil {
		return err
	}
	content := io.NewSectionReader(from, 0, size)
	switch {
	case t.account != "":
		err = f.putAs(ctx, t.account, folder, name, size, flag, content)
	case f.cfg.As != nil:
		return fmt.Errorf("%w: this site writes files in the name of accounts alone, and the user has none", grid.ErrForbidden)
	default:
		err = put(folder, name, size, flag, content)
	}
	switch {
	case errors.Is(err, handover.ErrThere):
		return exists()
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such folder", grid.ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: it may not be written", grid.ErrForbidden)
	}
	return err
}

func put(folder, name string, size int64, flag grid.CreationFlag, content io.Reader) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return handover.Put(root, name, flag.String(), size, content)
}

// putAs has the file written by a process of the account.
func (f folders) putAs(ctx context.Context, account, folder, name string, size int64, flag grid.CreationFlag, content io.Reader) error {
	if f.cfg.As == nil {
		return fmt.Errorf("%w: this broker acts for no accounts", grid.ErrForbidden)
	}
	var said answer
	in := io.MultiReader(strings.NewReader(name+"\x00"), content)
	if err := f.cfg.As(ctx, account, in, &said, "put", folder, flag.String(), strconv.FormatInt(size, 10)); err != nil {
		return err
	}
	r, err := handover.NewReceiver(&said.Buffer)
	if err == nil {
		err = r.Answered()
	}
	return err
}

// answer keeps a short answer.
type answer struct{ bytes.Buffer }

func (a *answer) Write(p []byte) (int, error) {
	if a.Len()+len(p) > 64<<10 {
		return 0, errors.New("the program says too much")
	}
	return a.Buffer.Write(p)
}
