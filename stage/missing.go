package stage

import (
	"errors"
	"io/fs"
	"os"

	"gbroker/grid"
)

// missing tells which required outputs were not collected, and what stands in their place.
func (s *Stager) missing(job grid.Job, m grid.Manifest) (list []grid.MissingOutput) {
	paths := grid.MissingOutputs(job.Outputs, m)
	if len(paths) == 0 {
		return nil
	}
	var work *os.Root // nil where it cannot be looked at: then nobody knows why
	if root, err := s.folder(job.ID); err == nil {
		defer root.Close()
		if work, err = root.OpenRoot(workDir); err == nil {
			defer work.Close()
		}
	}
	for _, p := range paths {
		list = append(list, grid.MissingOutput{Path: p, Why: instead(work, p)})
	}
	return list
}

// instead is what stands at a path where a regular file is looked for.
func instead(work *os.Root, path string) string {
	if work == nil {
		return ""
	}
	at, err := work.Lstat(path)
	if err != nil {
		return ""
	}
	info, err := work.Stat(path)
	switch link := at.Mode()&fs.ModeSymlink != 0; {
	case link && errors.Is(err, fs.ErrNotExist):
		return "it is a link to nothing"
	case link && err != nil:
		return "it is a link that leads out of the sandbox"
	case err != nil:
		return ""
	default:
		at = info
	}
	switch at.Mode().Type() {
	case fs.ModeDir:
		return "it is a folder"
	case fs.ModeNamedPipe:
		return "it is a pipe"
	case fs.ModeSocket:
		return "it is a socket"
	case 0:
		return ""
	}
	return "it is a device"
}
