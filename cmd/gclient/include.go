package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// include adds files and folders that the document does not name. In the sandbox they have the paths
// by which they are given; what is given by an absolute path, or from above, has its last name.
func (d *document) include(paths []string) error {
	d.from = map[string]string{}
	for _, p := range paths {
		list := []string{p}
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?[") {
			found, err := filepath.Glob(p)
			if err != nil || len(found) == 0 {
				return cli.Exit(cli.No, fmt.Errorf("including %q: no file is called so", p))
			}
			list = found
		}
		for _, one := range list {
			if err := d.includeTree(filepath.Clean(one)); err != nil {
				return cli.Exit(cli.No, fmt.Errorf("including %s: %w", one, err))
			}
		}
	}
	slices.SortFunc(d.included, func(a, b api.File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (d *document) includeTree(top string) error {
	base := top
	if !filepath.IsLocal(top) {
		base = filepath.Base(top)
	}
	if base == "." || base == ".." || base == "/" {
		base = ""
	}
	return filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && name == top { // a link that was given by its name is followed
			info, err = os.Stat(name)
		}
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			if name == top && info.IsDir() {
				return fmt.Errorf("it is a link to a folder: write %s/.", name)
			}
			return fmt.Errorf("%s is no regular file (links inside of folders are not followed): only such are sent", name)
		}
		if err := readable(name); err != nil {
			return err
		}
		if len(d.included) == grid.MaxFiles {
			return fmt.Errorf("more than %d files: put them into an archive, and unpack it in the job", grid.MaxFiles)
		}
		path := filepath.ToSlash(filepath.Join(base, rest))
		if d.from[path] == "" {
			d.from[path] = name
			d.included = append(d.included, api.File{Path: path, Size: info.Size(), Mode: uint32(info.Mode().Perm())})
		}
		return nil
	})
}

// readable finds out before anything is handed in whether a file can be sent.
func readable(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("nothing was submitted: %w", err)
	}
	return f.Close()
}

// wanted opens a file that is to be sent.
func (d *document) wanted(w api.File) (f *os.File, name string, err error) {
	if name, is := d.from[w.Path]; is && w.From == "" {
		f, err = os.Open(name)
		return f, name, err
	}
	f, err = d.folder.Open(filepath.FromSlash(w.From))
	return f, w.From, err
}

// usesURIs tells of a document that names places by URI.
func (d *document) usesURIs() bool {
	return len(d.parsed.Job.Sources) > 0 || slices.ContainsFunc(d.outputs, func(o grid.Output) bool { return o.URI != "" })
}

// readCredentials reads the user's, if the document can need them: the named file, or the one in the user's
// configuration. Others must not be able to read it.
func readCredentials(file string, wanted bool) (string, error) {
	named := file != ""
	if !named {
		dir, err := os.UserConfigDir()
		if err != nil || !wanted {
			return "", nil
		}
		file = filepath.Join(dir, "gbroker", "credentials")
	}
	info, err := os.Stat(file)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", cli.Exit(cli.No, fmt.Errorf("reading credentials: %w", err))
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > api.MaxCredentials {
		return "", cli.Exit(cli.No, fmt.Errorf("the credentials in %s are for you alone, in a file of at most %d bytes: chmod 600 %s", file, api.MaxCredentials, file))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", cli.Exit(cli.No, fmt.Errorf("reading credentials: %w", err))
	}
	return string(text), nil
}
