package line

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"gbroker/grid"
)

// isInside tells that a symbolic link leads to something in the sandbox in which it lies, whatever other such links it passes: it goes up at its beginning
// alone, for what is above the end of a link is not what is above the link.
func isInside(at, to string) bool {
	above, down := strings.Count(at, "/"), false
	for part := range strings.SplitSeq(to, "/") {
		switch {
		case part == "." || part == "":
		case part != "..":
			down = true
		case down || above == 0:
			return false
		default:
			above--
		}
	}
	end := path.Join(path.Dir(at), to)
	return to != "" && !path.IsAbs(to) && (end == "." || CheckPath(end) == nil)
}

// Link is the text of a symbolic link that lies at a path of a sandbox and leads where to does, written so that isInside takes it: what goes up from behind
// a folder or another link is resolved. It refuses with ErrLimit what leads out of the sandbox.
func Link(root *os.Root, at, to string) (string, error) {
	if isInside(at, to) {
		return to, nil
	}
	own := parts(path.Dir(at))
	end, err := resolve(root, own, to)
	if Passes(err) {
		return "", fmt.Errorf("following the symbolic link %.80q: %w", at, err)
	}
	if err != nil {
		return "", fmt.Errorf("%w: the symbolic link %.80q to %.80q: %w", ErrLimit, at, to, err)
	}
	same := 0
	for same < len(own) && same < len(end) && own[same] == end[same] {
		same++
	}
	straight := path.Join(strings.Repeat("../", len(own)-same), path.Join(end[same:]...), ".")
	if len(straight) > grid.MaxPath || !isInside(at, straight) {
		return "", fmt.Errorf("%w: the symbolic link %.80q to %.80q leads to no path inside the sandbox", ErrLimit, at, to)
	}
	return straight, nil
}

// errOut tells of a link that leads out of its sandbox.
var errOut = errors.New("it leads out of the sandbox")

const maxLinks = 40 // that are followed, as Linux does

// resolve is where a link leads from a folder. What is not there counts as a folder, and a link that nothing goes up from stays.
func resolve(root *os.Root, folder []string, to string) ([]string, error) {
	here, next := append([]string(nil), folder...), strings.Split(to, "/")
	if to == "" || path.IsAbs(to) {
		return nil, errOut
	}
	for followed := 0; len(next) > 0; {
		part := next[0]
		next = next[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part != "..":
			here = append(here, part)
			continue
		case len(here) == 0:
			return nil, errOut
		}
		link, err := readLink(root, path.Join(here...))
		if err != nil {
			return nil, err
		}
		here = here[:len(here)-1]
		if link == "" {
			continue
		}
		if followed++; followed > maxLinks || path.IsAbs(link) {
			return nil, errOut
		}
		next = append(append(strings.Split(link, "/"), ".."), next...)
	}
	return here, nil
}

// readLink is the text of a link; "" of what is none, or is not there.
func readLink(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return root.Readlink(name)
}

// parts are the names of a path; none of ".".
func parts(p string) []string {
	if p == "." {
		return nil
	}
	return strings.Split(p, "/")
}
