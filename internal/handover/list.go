package handover

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"syscall"
	"time"
)

// Found is a regular file of a tree.
type Found struct {
	Path    string
	Size    int64
	Changed time.Time
	Info    fs.FileInfo // nil of one that another process has found
}

// maxFound bounds the entries of a tree that are looked at.
const maxFound = 200_000

// ErrTooMany tells that a tree has more entries than are looked at.
var ErrTooMany = fmt.Errorf("there are more than %d files and folders", maxFound)

// Walk tells see of the regular files of a tree, and of links to such inside of it, in no order. Links to folders
// are not followed. Folders that are closed to us, their owner, are opened.
func Walk(root *os.Root, see func(Found) error) error {
	left := maxFound
	return walk(root, ".", &left, see)
}

func walk(root *os.Root, dir string, left *int, see func(Found) error) error {
	f, err := openFolder(root, dir)
	if err != nil {
		return nil // gone, or closed to us: nobody could bring what is in it
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(256)
		for _, e := range list {
			if *left--; *left < 0 {
				return ErrTooMany
			}
			if err := visit(root, path.Join(dir, e.Name()), e, left, see); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %q: %w", dir, err)
		}
	}
}

func visit(root *os.Root, name string, e fs.DirEntry, left *int, see func(Found) error) error {
	switch e.Type() {
	case fs.ModeDir:
		return walk(root, name, left, see)
	case 0, fs.ModeSymlink:
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		return see(Found{name, info.Size(), info.ModTime(), info})
	}
	return nil
}

func openFolder(root *os.Root, dir string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	f, err := root.OpenFile(dir, flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		unlock(root, dir)
		f, err = root.OpenFile(dir, flags, 0)
	}
	return f, err
}

// list sends what is in a folder.
func list(dir string, out io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the sandbox: %w", err)
	}
	defer root.Close()
	w := bufio.NewWriterSize(out, chunk)
	err = Walk(root, func(f Found) error {
		if len(f.Path) > math.MaxUint16 {
			return nil
		}
		w.WriteByte(kindListed) // a bufio.Writer keeps its error for the last call
		w.Write(binary.BigEndian.AppendUint64(nil, uint64(f.Changed.UnixNano())))
		w.Write(binary.BigEndian.AppendUint64(nil, uint64(f.Size)))
		w.Write(binary.BigEndian.AppendUint16(nil, uint16(len(f.Path))))
		_, err := w.WriteString(f.Path)
		return err
	})
	if err != nil {
		fail(w, err)
	} else {
		w.WriteByte(kindDone)
	}
	return w.Flush()
}

// Listed tells see of the files that list sends. What the other side could not list wraps ErrHandedOver.
func (r *Receiver) Listed(see func(Found) error) error {
	for n := 0; ; n++ {
		kind, err := r.r.ReadByte()
		switch {
		case err != nil:
			return torn(err)
		case kind == kindDone:
			return nil
		case kind == kindFailed:
			return r.failed()
		case kind != kindListed || n == maxFound:
			return fmt.Errorf("the program lists with %q after %d files", kind, n)
		}
		var head [18]byte
		if _, err := io.ReadFull(r.r, head[:]); err != nil {
			return torn(err)
		}
		name := make([]byte, binary.BigEndian.Uint16(head[16:]))
		if _, err := io.ReadFull(r.r, name); err != nil {
			return torn(err)
		}
		f := Found{Path: string(name), Size: int64(binary.BigEndian.Uint64(head[8:])), Changed: time.Unix(0, int64(binary.BigEndian.Uint64(head[:])))}
		if f.Size < 0 {
			return fmt.Errorf("the program lists a file of %d bytes", f.Size)
		}
		if err := see(f); err != nil {
			return err
		}
	}
}
