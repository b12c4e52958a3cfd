package stage

import (
	"fmt"
	"io"
	"path"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// small tells that a file comes in one piece and has left nothing in part/: it is put in its place at once, when its bytes are known to be
// right. What a crash leaves of it is found by its hash.
func (in *incoming) small() bool { return !in.begun && len(in.Ranges) == 1 && in.Size <= smallFile }

const smallFile = 64 << 10 // bytes

// takeRange reads a range into the file's part, and puts that in its place when it is whole.
func (p *pull) takeRange(from io.Reader, sp *span, h *blake3.Hasher, buf []byte) (bool, error) {
	f, err := p.sink(sp.file)
	if err != nil {
		return false, finalError{diskError(err)}
	}
	h.Reset()
	for at, n := sp.offset(), sp.length(); n > 0; {
		k, err := readFull(from, buf[:min(n, int64(len(buf)))])
		if err != nil {
			return false, err
		}
		h.Write(buf[:k])
		if _, err := f.WriteAt(buf[:k], at); err != nil {
			return false, finalError{diskError(err)}
		}
		at += int64(k)
		n -= int64(k)
	}
	var sum grid.Hash
	if h.Sum(sum[:0]); sum != sp.file.Ranges[sp.index] {
		return false, nil
	}
	startWriteback(f, sp.offset(), sp.length())
	return true, p.count(sp.file)
}

// takeSmall reads a whole small file and puts it in its place, unless its bytes are wrong.
func (p *pull) takeSmall(from io.Reader, sp *span, h *blake3.Hasher, at *shelf, buf []byte) (bool, error) {
	data := buf[:sp.length()]
	if _, err := readFull(from, data); err != nil {
		return false, err
	}
	var sum grid.Hash
	h.Reset()
	h.Write(data)
	if h.Sum(sum[:0]); sum != sp.file.Ranges[sp.index] {
		return false, nil
	}
	return true, p.shelve(at, sp.file, data)
}

// shelve puts a whole small file in its place.
func (p *pull) shelve(h *shelf, in *incoming, data []byte) error {
	name := path.Join(p.set.dir(), in.Path)
	err := h.put(p.root, name, readable(in.Mode), data)
	if isTangle(err) { // another set left something there that was never whole
		if err = clearWay(p.root, p.set.dir(), name); err == nil {
			h.close()
			err = h.put(p.root, name, readable(in.Mode), data)
		}
	}
	if err != nil {
		return finalError{diskError(fmt.Errorf("put %q in its place: %w", in.Path, err))}
	}
	return nil
}
