// Package spool keeps what a batch system of ours was given: one file for each attempt, TAG and a suffix, in one
// folder. A file appears whole. It is not synced: what a power cut takes away the broker submits again, as nobody has
// taken its start token. What makes no sense is moved aside, to NAME.corrupt; what could not be read at all is left, and refused.
package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"gbroker/grid"
)

const temporary = ".tmp"

// Folder is where the files are.
type Folder struct {
	Path, Suffix string
	Log          *zap.Logger
}

// File is the path of an attempt's file.
func (f Folder) File(at grid.AttemptID) string { return filepath.Join(f.Path, at.Tag()+f.Suffix) }

// Write makes the file of an attempt what it is to be.
func (f Folder) Write(at grid.AttemptID, data []byte) error {
	name := f.File(at)
	err := os.WriteFile(name+temporary, data, 0o600)
	if err == nil {
		err = os.Rename(name+temporary, name)
	}
	if err != nil {
		os.Remove(name + temporary) // the disk may be full: nothing is left of what was not written
		return fmt.Errorf("%w: spooling %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// Remove removes the file of an attempt.
func (f Folder) Remove(at grid.AttemptID) {
	if err := os.Remove(f.File(at)); err != nil && !os.IsNotExist(err) {
		f.Log.Warn("a spooled job cannot be removed", zap.Stringer("attempt", at), zap.Error(err))
	}
}

// Unread refuses a start for a file that could not be opened or read: that (too many open files, no memory, a disk that fails) tells nothing of
// what is in it, and its job may run. It is nil where err is of what a file says.
func Unread(err error) error {
	if path := (*fs.PathError)(nil); !errors.As(err, &path) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("a spooled file could not be read, and is left where it is: %w; mend that (the limit of open files, the memory, the disk, the file's owner) and start again;"+
		" move the file out of its folder only if it is lost: its job is then taken for one that was never handed over", err)
}

// ErrFolder tells that a folder has the name of a spooled file: nobody wrote that here, and no job is lost with it.
var ErrFolder = errors.New("it is a folder")

// Load gives take every file. One that it refuses is moved aside, but for one that could not be read.
func (f Folder) Load(take func(file string) error) error {
	names, err := os.ReadDir(f.Path)
	if err != nil {
		return fmt.Errorf("reading the spool: %w", err)
	}
	for _, n := range names {
		file := filepath.Join(f.Path, n.Name())
		switch {
		case strings.HasSuffix(n.Name(), temporary):
			os.Remove(file)
		case strings.HasSuffix(n.Name(), f.Suffix):
			err := ErrFolder
			if !n.IsDir() {
				err = take(file)
			}
			if unread := Unread(err); unread != nil {
				return unread
			}
			if err != nil {
				f.Log.Error("a spooled job cannot be read and is moved aside; the broker will submit it again",
					zap.String("file", file), zap.Error(err), zap.NamedError("moving", os.Rename(file, file+".corrupt")))
			}
		}
	}
	return nil
}
