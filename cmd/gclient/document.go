package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/jsdl/sweep"
)

// document is a JSDL file and what stands beside it.
type document struct {
	text     []byte
	parsed   *jsdl.Document
	sweep    *sweep.Sweep // if it stands for many jobs; parsed and outputs are those of the first
	folder   *os.Root
	files    []api.File // those beside it that are uploaded, each once
	uploads  []jsdl.Upload
	outputs  []grid.Output
	origin   *origin  // the batch script that it was made of; nil where there is none
	script   string   // the name of a batch script; "" of a document
	program  string   // the file that the job executes, where it stands beside the document
	warnings []string // what a script says that the job will not have
	// included are files that the document does not name, by their paths in the sandbox, and from where.
	included []api.File
	from     map[string]string
}

// openDocument reads a JSDL file, or a batch script, with what is said beside it, and finds the files that it names. The error for a
// bad document has one line FILE:LINE:COL: MESSAGE for each mistake.
func openDocument(file string, a additions) (*document, error) {
	text, err := readDocument(file)
	if err != nil {
		return nil, err
	}
	d, name := &document{text: text}, file
	switch {
	case len(bytes.TrimLeft(text, "\ufeff \t\r\n")) == 0 && filepath.Ext(file) != ".jsdl":
		return nil, cli.Exit(cli.No, fmt.Errorf("%s:1:1: the file is empty: a document starts with <JobDefinition>, a batch script with #! and its interpreter", file))
	case isScript(text):
		if err := d.translate(file, a.said); err != nil {
			return nil, err
		}
		d.origin, name = &origin{file, text}, file+", as JSDL"
	case !looksLikeDocument(text):
		return nil, cli.Exit(cli.No, fmt.Errorf("%s:1:1: this is no JSDL document, which begins with <, and no batch script: its first line names no interpreter, as #!/bin/sh, and it has neither #SBATCH nor #PBS lines", file))
	case a.said.any():
		return nil, cli.Exit(cli.No, fmt.Errorf("%s is no batch script: directives, arguments and --bring are for those alone; a document names what comes back by Target and gb:Bring", file))
	}
	if err := d.open(name, filepath.Dir(file), modes(a.lenient)...); err != nil {
		return nil, err
	}
	if err := d.add(a); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// add gives the job what is said beside a document: over how many sites it may lie, and its fee.
func (d *document) add(a additions) error {
	if a.said.fee == 0 || d.script != "" { // a script has its fee already
		return d.spread(a.spread)
	}
	if d.sweep != nil {
		return cli.BadUsage("--fee is for one job: write a Fee into the document of the sweep")
	}
	d.parsed.Job.Terms.Fee = int64(a.said.fee)
	d.text = jsdl.Print(&d.parsed.Job, d.parsed.Staging)
	return d.spread(a.spread)
}

// open parses the text, and finds the files beside it in a folder.
func (d *document) open(name, folder string, modes ...jsdl.Mode) (err error) {
	if sweep.Is(d.text) {
		if d.sweep, err = sweep.Read(name, d.text, 0); err != nil {
			return err
		}
	}
	if d.folder, err = os.OpenRoot(folder); err != nil {
		return fmt.Errorf("opening the folder of %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			d.folder.Close()
		}
	}()
	if err = d.read(name, modes); err != nil {
		return err
	}
	d.declare()
	return nil
}

// read reads the job of the document, or of a sweep those that are looked at before it is handed in.
func (d *document) read(file string, modes []jsdl.Mode) (err error) {
	if d.sweep == nil {
		if d.parsed, err = jsdl.Parse(file, d.text, modes...); err != nil {
			return d.origin.placed(err)
		}
		if len(modes) > 0 { // the broker gets what was understood
			d.text = jsdl.Print(&d.parsed.Job, d.parsed.Staging)
		}
		d.program = programOf(d.parsed)
		d.uploads, d.outputs, err = d.parsed.Resolve(d.stat)
		return d.origin.placed(err)
	}
	seen := map[jsdl.Upload]bool{}
	for _, n := range d.sweep.Checked() {
		one, err := jsdl.Parse(file, d.sweep.Document(n), modes...)
		if err != nil {
			return fmt.Errorf("job %d of the sweep: %w", n, d.origin.placed(err))
		}
		d.program = programOf(one)
		uploads, outputs, err := one.Resolve(d.stat)
		if err != nil {
			return fmt.Errorf("job %d of the sweep: %w", n, d.origin.placed(err))
		}
		if d.parsed == nil {
			d.parsed, d.outputs = one, outputs
		}
		for _, u := range uploads {
			if !seen[u] {
				seen[u] = true
				d.uploads = append(d.uploads, u)
			}
		}
	}
	return nil
}

// first is the document of the job, or of a sweep's first.
func (d *document) first() []byte {
	if d.sweep != nil {
		return d.sweep.Document(1)
	}
	return d.text
}

// spread lets the job lie over several sites; the broker gets what was understood.
func (d *document) spread(s spread) error {
	switch {
	case s.sites == 0 && s.reach:
		return cli.BadUsage("--reach is for a job over several sites: say --sites-at-most too, or write reach=\"true\" into its Coallocation")
	case s.sites == 0 && s.perSite > 1:
		return cli.BadUsage("--per-site is for a job over several sites: say --sites-at-most too")
	case s.sites == 0:
		return nil
	case d.sweep != nil:
		return cli.BadUsage("--sites-at-most is for one job: write a Coallocation into the document of the sweep")
	}
	if err := s.of(&d.parsed.Job); err != nil {
		return err
	}
	d.text = jsdl.Print(&d.parsed.Job, d.parsed.Staging)
	return nil
}

// declare lists what stands beside the document, as the broker wants to know it.
func (d *document) declare() {
	seen := make(map[string]bool)
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
func (d *document) stat(name string) (size int64, mode uint32, err error) {
	info, err := d.folder.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.dangling(name):
		return 0, 0, fmt.Errorf("%q beside the document is a link to a file that is not there", name)
	case errors.Is(err, fs.ErrNotExist):
		return 0, 0, grid.ErrNotFound
	case err != nil && strings.Contains(err.Error(), "escapes"):
		return 0, 0, fmt.Errorf("%q beside the document is a link that leads out of its folder: only what stands in the folder is sent; copy the file there", name)
	case err != nil:
		return 0, 0, fmt.Errorf("%q beside the document cannot be sent: %w", name, cause(err))
	case !info.Mode().IsRegular():
		return 0, 0, fmt.Errorf("%q beside the document is a %s: only regular files are sent", name, kindOf(info.Mode()))
	}
	f, err := d.folder.Open(filepath.FromSlash(name))
	if err != nil {
		return 0, 0, fmt.Errorf("%q beside the document cannot be read: %w", name, cause(err))
	}
	mode = uint32(info.Mode().Perm())
	if name == d.script || name == d.program && interpreted(f) {
		mode |= 0o500 // sbatch and qsub take what may not be executed
	}
	return info.Size(), mode, f.Close()
}

// programOf is the file beside a document that its job executes; "" where it executes none from there.
func programOf(d *jsdl.Document) string {
	p := &d.Job.Program
	for _, s := range d.Staging {
		if s.Path == path.Join(p.Directory, p.Executable) && s.Source != "" {
			return s.Source
		}
	}
	return p.Executable
}

// interpreted tells of a script: its first line names its interpreter.
func interpreted(f io.Reader) bool {
	var start [2]byte
	_, err := io.ReadFull(f, start[:])
	return err == nil && string(start[:]) == "#!"
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

// dangling tells that a name is there, and what it leads to is not.
func (d *document) dangling(path string) bool {
	info, err := d.folder.Lstat(filepath.FromSlash(path))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// cause is the last word of an error of the file system, without the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// windows names the scripts among the uploads whose first line ends as Windows ends lines:
// the kernel then looks for an interpreter whose name ends in a carriage return.
func (d *document) windows() []string {
	var found []string
	for _, u := range d.uploads {
		f, err := d.folder.Open(filepath.FromSlash(u.From))
		if err != nil {
			continue // sending it will say so
		}
		line := make([]byte, 256)
		n, _ := io.ReadFull(f, line)
		f.Close()
		first, _, whole := bytes.Cut(line[:n], []byte("\n"))
		if whole && bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(first, []byte("\r")) {
			found = append(found, u.From)
		}
	}
	return found
}

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
