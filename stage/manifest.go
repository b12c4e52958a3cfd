package stage

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"gbroker/grid"
)

// maxElement is the longest name of one file or folder, in bytes, that common file
// systems take.
const maxElement = 255

// CheckPath says why p cannot name a file of a sandbox: it must be relative, clean,
// slash-separated UTF-8 without control characters, and not leave the sandbox.
func CheckPath(p string) error {
	switch {
	case p == "" || p == ".":
		return fmt.Errorf("%w: a file's path is empty", grid.ErrInvalid)
	case len(p) > grid.MaxPath:
		return fmt.Errorf("%w: the path %.40q… has %d bytes: at most %d", grid.ErrInvalid, p, len(p), grid.MaxPath)
	case !fs.ValidPath(p):
		return fmt.Errorf("%w: the path %q must be relative and without . or .. or //", grid.ErrInvalid, p)
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: the path %q has a control character", grid.ErrInvalid, p)
	}
	for e := range strings.SplitSeq(p, "/") {
		if len(e) > maxElement {
			return fmt.Errorf("%w: the name %.40q… has %d bytes: at most %d", grid.ErrInvalid, e, len(e), maxElement)
		}
	}
	return nil
}

// checkManifest says what is wrong with a manifest from outside: too many files or
// more than maxBytes, a bad or double path, one that is also the folder of another,
// files out of order, a mode beyond 0777, or ranges that do not fit the size.
func checkManifest(m grid.Manifest, maxBytes int64) error {
	if len(m) > grid.MaxFiles {
		return fmt.Errorf("%w: %d files: at most %d", grid.ErrInvalid, len(m), grid.MaxFiles)
	}
	names := make(map[string]bool, len(m))
	left := maxBytes
	for i, f := range m {
		if err := checkFile(f); err != nil {
			return err
		}
		if i > 0 && m[i-1].Path >= f.Path {
			return fmt.Errorf("%w: the file %q comes twice or out of order", grid.ErrInvalid, f.Path)
		}
		if f.Size > left {
			return fmt.Errorf("%w: the files have more than %d bytes together, which is the limit here", grid.ErrInvalid, maxBytes)
		}
		left -= f.Size
		names[f.Path] = true
	}
	for _, f := range m {
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			if names[d] {
				return fmt.Errorf("%w: %q is a file and the folder of %q", grid.ErrInvalid, d, f.Path)
			}
		}
	}
	return nil
}

func checkFile(f grid.File) error {
	if err := CheckPath(f.Path); err != nil {
		return err
	}
	switch {
	case f.Size < 0:
		return fmt.Errorf("%w: the file %q has the size %d", grid.ErrInvalid, f.Path, f.Size)
	case f.Mode > 0o777:
		return fmt.Errorf("%w: the file %q has the mode %#o: at most 0777", grid.ErrInvalid, f.Path, f.Mode)
	case int64(len(f.Ranges)) != ranges(f.Size):
		return fmt.Errorf("%w: the file %q of %d bytes has %d ranges instead of %d", grid.ErrInvalid, f.Path, f.Size, len(f.Ranges), ranges(f.Size))
	}
	return nil
}

// ranges is how many ranges a file of size bytes has.
func ranges(size int64) int64 {
	n := size / grid.RangeSize
	if size%grid.RangeSize != 0 {
		n++
	}
	return n
}

// rangeLength is the length of range i of a file of size bytes.
func rangeLength(size int64, i int) int64 {
	return min(size-int64(i)*grid.RangeSize, grid.RangeSize)
}

// lookup finds a path in a manifest, which is ordered.
func lookup(m grid.Manifest, p string) (grid.File, bool) {
	i := sort.Search(len(m), func(i int) bool { return m[i].Path >= p })
	if i == len(m) || m[i].Path != p {
		return grid.File{}, false
	}
	return m[i], true
}

func sameFile(a, b grid.File) bool {
	return a.Path == b.Path && a.Size == b.Size && a.Mode == b.Mode && slices.Equal(a.Ranges, b.Ranges)
}
