package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
)

// answerFile is a file that gets an answer when there is one. It is opened before the
// work, which may be long, and keeps what it held until the answer is there.
type answerFile struct {
	f    *os.File // nil where no file was asked for
	made bool     // there was none before, and no answer yet
}

// openAnswer opens the file that a flag names, if it was given.
func openAnswer(cmd *cobra.Command, flag string) (*answerFile, error) {
	if !cmd.Flags().Changed(flag) {
		return &answerFile{}, nil
	}
	path := cmd.Flag(flag).Value.String()
	if path == "" {
		return nil, cli.BadUsage("--%s: name a file", flag)
	}
	_, err := os.Lstat(path)
	made := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("opening the file for --%s: %w", flag, err)
	}
	return &answerFile{f, made}, nil
}

// write puts the answer in place of what the file held.
func (a *answerFile) write(answer func(io.Writer) error) error {
	if a.f == nil {
		return nil
	}
	info, err := a.f.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe or a device cannot be cut
		err = a.f.Truncate(0)
	}
	if err == nil {
		a.made = false
		err = answer(a.f)
	}
	if e := a.f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", a.f.Name(), err)
	}
	return nil
}

// close leaves no file where there was none and no answer came.
func (a *answerFile) close() {
	if a.f == nil {
		return
	}
	a.f.Close() // already closed if the answer was written
	if a.made {
		os.Remove(a.f.Name())
	}
}
