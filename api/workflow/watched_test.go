package workflow

import (
	"strings"
	"testing"
)

// A folder that is watched, and what its files are known as, are names that a file system takes.
func TestWatchedNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 256)
	for _, name := range []string{"", ".." + "/a", "/a", "a\x00b", "a\nb", long, "a/" + long, strings.Repeat("a/", 600)} {
		for _, p := range []Periodic{{Folder: name, As: "picture"}, {Folder: "incoming", As: name}} {
			if err := p.Check(); err == nil {
				t.Errorf("the folder %.20q with files known as %.20q is taken", p.Folder, p.As)
			}
		}
	}
	good := Periodic{Folder: "in/" + long[1:], As: "Müller's/" + long[1:]}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}
