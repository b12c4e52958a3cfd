package house

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Modules finds what would be built with the module at dir, and is not seen by go list ./...: a module inside it, a copy of somebody
// else's, and what stands in for a module that is required.
func Modules(dir string) ([]Breach, error) {
	var out []Breach
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("looking for modules: %w", err)
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return fmt.Errorf("looking for modules: %w", err)
		}
		switch {
		case d.IsDir() && inside != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return fs.SkipDir // the go command does not look there
		case d.IsDir() && d.Name() == "vendor":
			out = append(out, Breach{inside, "a copy of what others wrote: go.mod says where it comes from"})
			return fs.SkipDir
		case d.Name() == "go.work" || d.Name() == "go.mod" && inside != "go.mod":
			out = append(out, Breach{inside, "a module of its own: what is in it is not looked at"})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if bytes.Contains(line, []byte("=>")) {
			out = append(out, Breach{fmt.Sprintf("go.mod:%d", n), "something stands in for what is required: it is not what its name says"})
		}
	}
	return out, nil
}
