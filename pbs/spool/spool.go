// Package spool keeps what a batch system of ours was given: one file for each attempt, TAG and a suffix, in one
// folder. A file appears whole. It is not synced: what a power cut takes away the broker submits again, as nobody has
// taken its start token. What cannot be read is moved aside, to NAME.corrupt.
package spool

import (
	"fmt"
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

// Load gives take every file. One that it refuses is moved aside.
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
			if err := take(file); err != nil {
				f.Log.Error("a spooled job cannot be read and is moved aside; the broker will submit it again",
					zap.String("file", file), zap.Error(err), zap.NamedError("moving", os.Rename(file, file+".corrupt")))
			}
		}
	}
	return nil
}
