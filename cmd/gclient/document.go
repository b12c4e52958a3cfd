package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
)

// document is a JSDL file and what stands beside it.
type document struct {
	text    []byte
	parsed  *jsdl.Document
	folder  *os.Root
	files   []api.File // those beside it that are uploaded, each once
	uploads []jsdl.Upload
	outputs []grid.Output
}

// openDocument reads a JSDL file and finds the files that it names. The error for a
// bad document has one line FILE:LINE:COL: MESSAGE for each mistake.
func openDocument(file string) (_ *document, err error) {
	d := &document{}
	if d.text, err = readDocument(file); err != nil {
		return nil, err
	}
	if d.parsed, err = jsdl.Parse(file, d.text); err != nil {
		return nil, err
	}
	if d.folder, err = os.OpenRoot(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("opening the folder of %s: %w", file, err)
	}
	defer func() {
		if err != nil {
			d.folder.Close()
		}
	}()
	var refused []string
	d.uploads, d.outputs, err = d.parsed.Resolve(func(path string) (int64, uint32, bool) {
		size, mode, err := d.stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			refused = append(refused, fmt.Sprintf("%s:1:1: %v", file, err))
		}
		return size, mode, err == nil
	})
	switch {
	case len(refused) > 0 && err != nil:
		return nil, fmt.Errorf("%w\n%s", err, strings.Join(refused, "\n"))
	case len(refused) > 0:
		return nil, fmt.Errorf("%w", invalid(strings.Join(refused, "\n")))
	case err != nil:
		return nil, err
	}
	d.declare()
	return d, nil
}

// declare lists what stands beside the document, as the broker wants to know it.
func (d *document) declare() {
	seen := make(map[string]bool, len(d.uploads))
	for _, u := range d.uploads {
		if !seen[u.From] {
			seen[u.From] = true
			d.files = append(d.files, api.File{Path: u.From, Size: u.Size, Mode: u.Mode})
		}
	}
}

func (d *document) close() { d.folder.Close() }

// stat tells of a regular file beside the document. Symbolic links are followed
// while they stay in the document's folder; others are refused, so that a document
// from elsewhere cannot make its user send away other files.
func (d *document) stat(path string) (size int64, mode uint32, err error) {
	info, err := d.folder.Stat(filepath.FromSlash(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, 0, err
	case err != nil:
		return 0, 0, fmt.Errorf("%s beside the document cannot be sent: %w", path, err)
	case !info.Mode().IsRegular():
		return 0, 0, fmt.Errorf("%s beside the document is a %s: only regular files are sent", path, kindOf(info.Mode()))
	}
	f, err := d.folder.Open(filepath.FromSlash(path))
	if err != nil {
		return 0, 0, fmt.Errorf("%s beside the document cannot be read: %w", path, err)
	}
	return info.Size(), uint32(info.Mode().Perm()), f.Close()
}

func kindOf(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "folder"
	case fs.ModeNamedPipe:
		return "pipe"
	case fs.ModeSocket:
		return "socket"
	}
	return "device"
}

// invalid is a text of the kind grid.ErrInvalid.
type invalid string

func (e invalid) Error() string        { return string(e) }
func (e invalid) Is(target error) bool { return target == grid.ErrInvalid }

// readDocument reads a file of at most api.MaxDocument bytes.
func readDocument(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, cli.Exit(cli.No, fmt.Errorf("reading the document: %w", err))
	}
	if !info.Mode().IsRegular() {
		return nil, cli.Exit(cli.No, fmt.Errorf("reading the document: %s is a %s, not a file", file, kindOf(info.Mode())))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, api.MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	if len(text) > api.MaxDocument {
		return nil, fmt.Errorf("%s:1:1: the document is larger than %d bytes: %w", file, api.MaxDocument, grid.ErrInvalid)
	}
	return text, nil
}
