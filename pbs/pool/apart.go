package pool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

// What the computers of a job with copies bring lies apart, in a folder of the sandbox for each of them, so that only what one of them has brought becomes
// the job's:
//
//	.gbroker-incoming.TAG.copy.STINT/
//	    pieces     a line of JSON for each piece, in the order in which they came
//	    NONCE      the content of a file
//
// The winner's pieces are put into their places in that order. What is in its place already is passed over, so that a pool which was killed meanwhile goes on.

// piecesFile lists the pieces of such a folder.
const piecesFile = "pieces"

// heldPiece is a line of it.
type heldPiece struct {
	Path   []byte      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Folder bool        `json:"folder,omitempty"`
	Link   []byte      `json:"link,omitempty"`
	File   string      `json:"file,omitempty"` // where its content lies
	Sum    string      `json:"sum,omitempty"`  // of it
}

// apart is the folder of what the computer of an entry brings; "" where that goes into the sandbox at once. s.mu is held.
func (e *entry) apart() string {
	if e.of == nil && !e.raced {
		return ""
	}
	return e.apartOf()
}

func (e *entry) apartOf() string { return incoming + e.tag + ".copy." + e.stint }

// wasRaced tells that the computer of an entry has brought something apart, to a pool that ended since.
func (e *entry) wasRaced() bool {
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Lstat(e.apartOf())
	return err == nil
}

// writeApart keeps a piece for the case that its computer wins.
func writeApart(root *os.Root, dir string, p piece, r *http.Request, may func(appear func() error) error) error {
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	h := heldPiece{Path: []byte(p.path), Mode: p.mode, Folder: p.folder, Link: []byte(p.link)}
	if !p.folder && p.link == "" {
		h.File, h.Sum = line.Nonce(), p.sum
		if err := receive(root, dir+"/"+h.File, p, r); err != nil {
			return errors.Join(err, root.Remove(dir+"/"+h.File))
		}
	}
	return may(func() error { return note(root, dir, h) })
}

// note adds a line. It begins on a new one: the last may be half.
func note(root *os.Root, dir string, h heldPiece) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(dir+"/"+piecesFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte("\n"), append(data, '\n')...))
	return errors.Join(err, f.Close())
}

// takeOver puts what the computer of a job has brought apart where it belongs.
func (s *System) takeOver(e *entry) error {
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return fmt.Errorf("%w: the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	defer root.Close()
	dir := e.apartOf()
	pieces, err := heldPieces(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: what was brought of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	for _, h := range pieces {
		if err := h.settle(root, dir, e.tag); err != nil {
			kind := grid.ErrInvalid
			if line.Passes(err) {
				kind = grid.ErrUnavailable
			}
			return fmt.Errorf("%w: taking %q of %s: %w", kind, h.Path, e.id, err)
		}
	}
	return nil
}

// heldPieces are those of a folder, in the order in which they came.
func heldPieces(root *os.Root, dir string) (list []heldPiece, err error) {
	f, err := root.Open(dir + "/" + piecesFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var h heldPiece
		if json.Unmarshal(lines.Bytes(), &h) == nil { // else half a line: its computer was not told that it came
			list = append(list, h)
		}
	}
	return list, lines.Err()
}

// settle puts a piece into its place.
func (h *heldPiece) settle(root *os.Root, dir, tag string) error {
	p := piece{path: string(h.Path), mode: h.Mode, folder: h.Folder, link: string(h.Link)}
	aside := incoming + tag + "." + line.Nonce()
	defer root.RemoveAll(aside)
	switch {
	case p.folder:
		return p.open(root, aside)
	case p.link != "":
		tmp := incoming + tag + "." + line.Nonce()
		defer root.Remove(tmp)
		if err := p.tie(root, tmp); err != nil {
			return err
		}
		return p.place(root, tmp, aside)
	}
	if _, err := root.Lstat(dir + "/" + h.File); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.place(root, dir+"/"+h.File, aside)
}

// sweep removes from the sandbox of a job that ends what others than the winner have brought of it.
func (s *System) sweep(e *entry) {
	root, err := os.OpenRoot(e.Work)
	if err != nil {
		return // there is no sandbox any more
	}
	defer root.Close()
	list, err := fs.ReadDir(root.FS(), ".")
	for _, d := range list {
		if strings.HasPrefix(d.Name(), incoming+e.tag+".") {
			err = errors.Join(err, root.RemoveAll(d.Name()))
		}
	}
	if err != nil {
		s.log.Warn("what is left of a job's copies is not removed", zap.Stringer("attempt", e.id), zap.Error(err))
	}
}
