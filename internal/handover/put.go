package handover

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrThere tells that a file is there that must not be replaced.
var ErrThere = errors.New("there is a file already")

// Put makes a file of size bytes appear in root, whole or not at all, and on the disk. flag says what becomes of one
// that is there: overwrite, append or dontOverwrite, as in JSDL.
func Put(root *os.Root, name, flag string, size int64, content io.Reader) error {
	part := path.Join(path.Dir(name), PartName(name))
	to, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer root.Remove(part) // gone already if all went well
	if flag == "append" {
		err = AppendOld(to, func() (io.ReadCloser, error) { f, _, err := Open(root, name); return f, err })
	}
	if err == nil {
		_, err = io.CopyN(to, content, size)
	}
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	if flag != "dontOverwrite" {
		err = root.Rename(part, name)
	} else if err = root.Link(part, name); errors.Is(err, fs.ErrExist) {
		return ErrThere
	}
	if err != nil {
		return err
	}
	return syncFolder(root, path.Dir(name))
}

// syncFolder makes the names in a folder durable, where that can be done: not every file system syncs folders, and one that may
// be written need not be one that may be read.
func syncFolder(root *os.Root, name string) error {
	d, err := root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// PartName is the name of a file that is not whole yet.
func PartName(name string) string { return "." + path.Base(name) + ".gbroker-" + rand.Text()[:12] }

// AppendOld begins a file with what it is appended to.
func AppendOld(to io.Writer, open func() (io.ReadCloser, error)) error {
	old, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer old.Close()
	_, err = io.Copy(to, old)
	return err
}

// put reads a name and a file, and makes that appear in a folder.
func put(dir, flag, length string, in io.Reader, out io.Writer) error {
	size, err := strconv.ParseInt(length, 10, 64)
	if err != nil || size < 0 || flag != "overwrite" && flag != "append" && flag != "dontOverwrite" {
		return fmt.Errorf("put %.30q of %.30q bytes: the words are overwrite, append or dontOverwrite, and a number", flag, length)
	}
	content := bufio.NewReaderSize(in, chunk)
	name := make([]byte, 0, 256)
	for {
		c, err := content.ReadByte()
		if err != nil {
			return fmt.Errorf("reading the name: %w", err)
		}
		if c == 0 {
			break
		}
		if name = append(name, c); len(name) > maxText {
			return fmt.Errorf("the name has more than %d bytes", maxText)
		}
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		err = Put(root, string(name), flag, size, content)
	}
	w := bufio.NewWriter(out)
	switch {
	case err == nil:
		w.WriteByte(kindDone)
	case errors.Is(err, ErrThere):
		w.WriteByte(kindThere)
	case Absent(err):
		w.WriteByte(kindNone)
	case errors.Is(err, fs.ErrPermission):
		w.WriteByte(kindClosed)
	default:
		fail(w, err)
	}
	return w.Flush()
}

// Answered is the answer to put. The error wraps ErrThere, fs.ErrNotExist (of the folder), fs.ErrPermission or
// ErrHandedOver.
func (r *Receiver) Answered() error {
	kind, err := r.r.ReadByte()
	switch {
	case err != nil:
		return torn(err)
	case kind == kindDone:
		return nil
	case kind == kindThere:
		return ErrThere
	case kind == kindNone:
		return fmt.Errorf("%w for the account", fs.ErrNotExist)
	case kind == kindClosed:
		return fmt.Errorf("%w for the account", fs.ErrPermission)
	case kind == kindFailed:
		return r.failed()
	}
	return fmt.Errorf("the program answers with %q", kind)
}
