package jsdl

import (
	"errors"
	"math"
	"path"

	"gbroker/grid"
)

// Upload is a file that goes from beside the document into the sandbox.
type Upload struct {
	Path string // in the sandbox
	From string // beside the document: relative to its folder
	Size int64  // bytes
	Mode uint32 // permission bits, 0 to 0777
}

// Beside tells of a regular file by its path relative to the document's folder. The
// error wraps grid.ErrNotFound if there is none; any other is why what stands there
// cannot be sent, and is told at the element that names it.
type Beside func(path string) (size int64, mode uint32, err error)

// Resolve decides, given what stands beside the document, what is uploaded and
// what comes back. With the same answers it gives the same lists, in the same
// order: the submitter asks its disk, the broker the list of what will be sent.
// The error is an [Errors].
//
// Uploaded are the Sources, the files named without Source or Target that are
// there, and then the relative Executable and the Input if no entry brings them.
// What comes back are standard output and error, the Targets, and the files named
// without Source or Target that are not there.
func (d *Document) Resolve(beside Beside) ([]Upload, []grid.Output, error) {
	v := &resolution{reporter: reporter{file: d.File}, beside: beside, uploaded: map[string]bool{}}
	output, errors := d.streams()
	for _, s := range d.Staging {
		switch {
		case s.Source != "":
			if !v.upload(s.Path, s.Source, s.at()) {
				v.at(s.at(), "Source %s does not stand beside the document: put it there or correct the URI", quote(s.Source))
			}
		case !s.brought() && !s.goes() && s.Path != output.path && s.Path != errors.path:
			v.upload(s.Path, s.Name, s.at())
		}
	}
	d.resolveProgram(v)
	list := d.outputs(v.uploaded)
	d.clashes(&v.reporter, list)
	if len(v.uploads) > grid.MaxFiles || len(list) > grid.MaxFiles {
		v.at(position{1, 1}, "the job brings %d files and leaves %d: at most %d each", len(v.uploads), len(list), grid.MaxFiles)
	}
	if err := v.err(); err != nil {
		return nil, nil, err
	}
	outputs := make([]grid.Output, len(list))
	for i, b := range list {
		outputs[i] = b.Output
	}
	return v.uploads, outputs, nil
}

// resolution is the state of one Resolve.
type resolution struct {
	reporter
	beside   Beside
	uploads  []Upload
	uploaded map[string]bool // by path in the sandbox
	size     int64
}

// upload takes the file if it stands beside the document; false tells that nothing does.
func (v *resolution) upload(to, from string, at position) bool {
	size, mode, err := v.beside(from)
	switch {
	case errors.Is(err, grid.ErrNotFound):
		return false
	case err != nil:
		v.uploaded[to] = true // said once is enough
		v.at(at, "%v", err)
		return true
	}
	if size < 0 || size > math.MaxInt64-v.size {
		v.at(at, "the size of %s is %d bytes, which cannot be", quote(from), size)
		return true
	}
	v.size += size
	v.uploads = append(v.uploads, Upload{Path: to, From: from, Size: size, Mode: mode & 0o777})
	v.uploaded[to] = true
	return true
}

// resolveProgram brings the Executable and the Input that no entry brought.
func (d *Document) resolveProgram(v *resolution) {
	pr := d.Job.Program
	if pr.Executable[0] != '/' {
		to := path.Join(pr.Directory, pr.Executable)
		if !v.uploaded[to] && !d.sourced(to) && !v.upload(to, pr.Executable, d.program.executable) {
			v.at(d.program.executable, "Executable %s is brought by no DataStaging and does not stand beside the document: give an absolute path such as /bin/date, or put the file beside the document",
				quote(pr.Executable))
		}
		for _, u := range v.uploads {
			if u.Path == to && u.Mode&0o111 == 0 {
				v.at(d.program.executable, "Executable %s may not be executed (mode %04o): chmod +x it", quote(u.From), u.Mode)
			}
		}
	}
	if pr.Input != "" {
		to := path.Join(pr.Directory, pr.Input)
		if !v.uploaded[to] && !d.sourced(to) && !v.upload(to, pr.Input, d.program.input) {
			v.at(d.program.input, "Input %s is brought by no DataStaging and does not stand beside the document: put the file there",
				quote(pr.Input))
		}
	}
}

// sourced tells whether a Source brings the path.
func (d *Document) sourced(path string) bool {
	for _, s := range d.Staging {
		if s.Path == path && s.brought() {
			return true
		}
	}
	return false
}
