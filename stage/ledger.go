package stage

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"

	"gbroker/grid"
)

// maxLedger bounds what is read of a ledger, in bytes.
const maxLedger = 256 << 20

// ledger is what a ledger file says.
type ledger struct {
	files  map[string]grid.File
	sealed map[string]bool // paths that a seal covers
	whole  bool            // the last line is a seal
	end    int64           // length of the good part of the file
}

// entry is one line.
type entry struct {
	Path   string   `json:"path,omitempty"`
	Size   int64    `json:"size,omitempty"`
	Mode   uint32   `json:"mode,omitempty"`
	Ranges []string `json:"ranges,omitempty"`
	Sealed bool     `json:"sealed,omitempty"`
}

func (s Set) ledger() string { return s.dir() + ".log" }

// readLedger reads the ledger of a set; none is an empty one.
func readLedger(root *os.Root, set Set) (*ledger, error) {
	l := &ledger{files: map[string]grid.File{}, sealed: map[string]bool{}}
	f, _, err := openRegular(root, set.ledger())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLedger))
	if err != nil {
		return nil, diskError(fmt.Errorf("read %s: %w", set.ledger(), err))
	}
	for {
		line, rest, ok := bytes.Cut(data, []byte{'\n'})
		if !ok || !l.take(line) {
			return l, nil
		}
		l.end += int64(len(line)) + 1
		data = rest
	}
}

// take reads one line and reports that it is a good one.
func (l *ledger) take(line []byte) bool {
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return false
	}
	l.whole = e.Sealed
	if e.Sealed {
		for p := range l.files {
			l.sealed[p] = true
		}
		return true
	}
	f := grid.File{Path: e.Path, Size: e.Size, Mode: e.Mode}
	for _, h := range e.Ranges {
		b, err := hex.DecodeString(h)
		if err != nil || len(b) != len(grid.Hash{}) {
			return false
		}
		f.Ranges = append(f.Ranges, grid.Hash(b))
	}
	if checkFile(f) != nil {
		return false
	}
	l.files[f.Path] = f
	delete(l.sealed, f.Path)
	return true
}

// manifest is all files in order.
func (l *ledger) manifest() grid.Manifest {
	m := make(grid.Manifest, 0, len(l.files))
	for _, f := range l.files {
		m = append(m, f)
	}
	sort.Slice(m, func(i, k int) bool { return m[i].Path < m[k].Path })
	return m
}

// is reports that the ledger is sealed over exactly m.
func (l *ledger) is(m grid.Manifest) bool {
	return l.whole && slices.EqualFunc(l.manifest(), m, sameFile)
}

var sealLine = []byte("{\"sealed\":true}\n")

func appendEntry(b []byte, f grid.File) []byte {
	e := entry{Path: f.Path, Size: f.Size, Mode: f.Mode, Ranges: make([]string, len(f.Ranges))}
	for i, h := range f.Ranges {
		e.Ranges[i] = hex.EncodeToString(h[:])
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(append(b, line...), '\n')
}

// seal replaces the ledger of a set by one sealed over m, durably.
func seal(root *os.Root, set Set, m grid.Manifest) error {
	var b []byte
	for _, f := range m {
		b = appendEntry(b, f)
	}
	if err := writeAtomic(root, set.ledger(), append(b, sealLine...)); err != nil {
		return diskError(fmt.Errorf("write %s: %w", set.ledger(), err))
	}
	return nil
}
