package house

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLines is how long a file may be, tests too: what is longer has more than one subject.
const maxLines = 400

// Lengths finds the files that are too long.
func Lengths(list []Package) ([]Breach, error) {
	var out []Breach
	for _, p := range list {
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles, p.SFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, fmt.Errorf("counting lines: %w", err)
			}
			if n := bytes.Count(text, []byte("\n")); n > maxLines {
				path := strings.TrimPrefix(p.inside()+"/"+name, "/")
				out = append(out, Breach{path, fmt.Sprintf("%d lines, and a file has at most %d: split it by subject", n, maxLines)})
			}
		}
	}
	return out, nil
}
