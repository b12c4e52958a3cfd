package pool

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// assigned is the job of a tag that a computer has, told to start it or not.
func (s *System) assigned(name, tag string) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.computers[name]
	if c == nil || c.holding(tag) == nil {
		return nil, fmt.Errorf("%w: job %.20q is not this computer's", grid.ErrForbidden, tag)
	}
	return c.holding(tag), nil
}

// inputs lists what lies in the sandbox of a job.
func (s *System) inputs(name, tag string) (files line.Files, err error) {
	e, err := s.assigned(name, tag)
	if err != nil {
		return files, err
	}
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return files, fmt.Errorf("%w: the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	defer root.Close()
	s.mu.Lock()
	foreign := e.foreign()
	s.mu.Unlock()
	err = filepath.WalkDir(e.Work, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == e.Work {
			return err
		}
		inside, err := filepath.Rel(e.Work, at)
		if err != nil {
			return err
		}
		switch {
		case isIncoming(inside) && d.IsDir(): // put aside, and being removed
			return fs.SkipDir
		case isIncoming(inside), foreign && e.saves(inside):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := line.File{Path: []byte(inside), Mode: uint32(info.Mode().Perm())}
		switch {
		case d.IsDir():
			f.Folder = true
		case info.Mode().IsRegular():
			f.Size = info.Size()
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if to, err = line.Link(root, inside, to); errors.Is(err, line.ErrLimit) {
				return s.giveUp(e, fmt.Sprintf("%q leads out of the job's sandbox by a symbolic link", inside))
			}
			if err != nil {
				return err
			}
			f.Link = []byte(to)
		default:
			return nil // a pipe or a socket
		}
		if len(files.Files) >= grid.MaxFiles {
			return s.giveUp(e, fmt.Sprintf("its sandbox has more than %d files", grid.MaxFiles))
		}
		files.Files = append(files.Files, f)
		return nil
	})
	if err != nil && !errors.Is(err, grid.ErrForbidden) {
		err = fmt.Errorf("%w: reading the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	return files, err
}

// giveUp ends an attempt that cannot be started, and says so as an error.
func (s *System) giveUp(e *entry, why string) error {
	taken, held, err := control.Take(e.Control, e.id, control.Supervisor, control.Process{}) // no process stands behind it
	if err == nil && (taken || held.Holder == control.Supervisor) {
		err = s.finish(e, control.End{At: control.Now(), Cause: grid.NeverRan, Detail: why}, grid.Usage{})
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", grid.ErrForbidden, why)
}

// cannot takes a computer's word that no computer can start a job as it is.
func (s *System) cannot(c *computer, tag, why string) error {
	e, err := s.assigned(c.name, tag)
	if err != nil {
		return err
	}
	if err := s.giveUp(e, why); !errors.Is(err, grid.ErrForbidden) {
		return err
	}
	return nil
}

// pathOf is the file of a request about one.
func pathOf(r *http.Request) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("path"))
	if err != nil {
		return "", fmt.Errorf("%w: the path of a file is no base64", line.ErrLimit)
	}
	return string(raw), line.CheckPath(string(raw))
}

// sendFile sends one input.
func (s *System) sendFile(w http.ResponseWriter, r *http.Request) {
	if err := s.sendIt(w, r); err != nil {
		s.fail(w, r, err)
	}
}

func (s *System) sendIt(w http.ResponseWriter, r *http.Request) error {
	name := s.caller(r)
	if name == "" {
		return errStranger
	}
	e, err := s.assigned(name, r.PathValue("tag"))
	if err != nil {
		return err
	}
	inside, err := pathOf(r)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return fmt.Errorf("%w: the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	defer root.Close()
	f, err := root.Open(inside)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrNotFound, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %q is no regular file", grid.ErrNotFound, inside)
	}
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileLimit))
	io.CopyN(w, f, info.Size()) // who gets less than was announced knows it
	return nil
}

// incoming begins the names of files that are being brought back, and of what has made way for them.
const incoming = ".gbroker-incoming."

// isIncoming tells that something is of those, or was left of them.
func isIncoming(name string) bool { return strings.HasPrefix(path.Base(name), incoming) }
