package handover

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gbroker/internal/acl"
)

// Serve is the program: args are the words behind "sandbox".
func Serve(args []string, in io.Reader, out io.Writer) error {
	if _, err := io.WriteString(out, greeting); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	switch {
	case len(args) == 1 && args[0] == "hello":
		return nil
	case len(args) == 2 && args[0] == "send":
		return send(args[1], in, out, func(f *os.File) io.Reader { return f })
	case len(args) == 4 && args[0] == "part":
		offset, length, err := partOf(args[2], args[3])
		if err != nil {
			return err
		}
		return send(args[1], in, out, func(f *os.File) io.Reader { return io.NewSectionReader(f, offset, length) })
	case len(args) == 2 && args[0] == "list":
		return list(args[1], out)
	case len(args) == 4 && args[0] == "put":
		return put(args[1], args[2], args[3], in, out)
	case len(args) > 1 && args[0] == "clear":
		var all error
		for _, dir := range args[1:] {
			all = errors.Join(all, clearFolder(dir))
		}
		return all
	}
	return fmt.Errorf("%.200q: the words are hello, send FOLDER, part FOLDER OFFSET LENGTH, list FOLDER, put FOLDER FLAG SIZE, or clear FOLDER...", args)
}

// partOf reads the words that say which part of a file is wanted.
func partOf(offset, length string) (from, n int64, err error) {
	from, err1 := strconv.ParseInt(offset, 10, 64)
	n, err2 := strconv.ParseInt(length, 10, 64)
	if err1 != nil || err2 != nil || from < 0 || n < 0 || n > MaxPart {
		return 0, 0, fmt.Errorf("the part at %.30q of %.30q bytes: both are numbers, and a part has at most %d bytes", offset, length, MaxPart)
	}
	return from, n, nil
}

// send answers each name that it reads with what part says of the file.
func send(dir string, in io.Reader, out io.Writer, part func(*os.File) io.Reader) error {
	names, err := io.ReadAll(io.LimitReader(in, maxNames+1))
	if err != nil || len(names) > maxNames {
		return fmt.Errorf("reading at most %d bytes of names: %w", maxNames, errors.Join(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the sandbox: %w", err)
	}
	defer root.Close()
	w := bufio.NewWriterSize(out, chunk)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		if err := sendFile(root, string(name), w, part); err != nil {
			return fmt.Errorf("sending %.200q: %w", name, err)
		}
	}
	return w.Flush()
}

// sendFile answers one name; its error is that of the way out.
func sendFile(root *os.Root, name string, w *bufio.Writer, part func(*os.File) io.Reader) error {
	f, info, err := Open(root, name)
	switch {
	case Absent(err):
		return w.WriteByte(kindNone)
	case err != nil:
		return fail(w, err)
	}
	defer f.Close()
	mode := info.Mode().Perm()
	if _, listed, err := acl.Get(f, acl.Access); listed || err != nil {
		mode &= 0o700
	}
	w.WriteByte(kindFile) // a bufio.Writer keeps its error for the last call
	w.Write(binary.BigEndian.AppendUint32(nil, uint32(mode)))
	w.Write(binary.BigEndian.AppendUint64(nil, uint64(info.Size())))
	buf, content := make([]byte, chunk), part(f)
	for {
		n, err := content.Read(buf)
		if n > 0 {
			w.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			w.Write([]byte{0, 0, 0, 0})
			return w.WriteByte(kindDone)
		}
		if err != nil {
			w.Write([]byte{0, 0, 0, 0})
			return fail(w, err)
		}
	}
}

func fail(w *bufio.Writer, err error) error {
	text := err.Error()
	text = text[:min(len(text), maxText)]
	w.WriteByte(kindFailed)
	w.Write(binary.BigEndian.AppendUint16(nil, uint16(len(text))))
	_, err = w.WriteString(text)
	return err
}

// ErrIrregular tells that a name is there but no regular file.
var ErrIrregular = errors.New("is no regular file")

// Absent reports an error that means: there is no such file for anybody.
func Absent(err error) bool {
	var pe *fs.PathError
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.ENXIO) || errors.Is(err, ErrIrregular) ||
		errors.As(err, &pe) && pe.Err != nil && pe.Err.Error() == "path escapes from parent"
}

// Open opens a regular file of a tree; where that, or a folder on the way, is closed even to
// its owner, and that is us, it is opened first. Links are followed inside root, and a pipe does
// not block.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := openOnce(root, name)
	if errors.Is(err, fs.ErrPermission) {
		unlock(root, name)
		f, err = openOnce(root, name)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s %w", name, ErrIrregular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func openOnce(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}

// unlock opens folders on the way to a file, and the file, as far as they are ours.
func unlock(root *os.Root, name string) {
	at := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = path.Join(at, part)
		info, err := root.Lstat(at)
		if err != nil {
			return
		}
		switch {
		case info.IsDir():
			root.Chmod(at, info.Mode().Perm()|0o700) // what fails shows when it is opened
		case info.Mode().IsRegular():
			root.Chmod(at, info.Mode().Perm()|0o400)
		}
	}
}

// clearFolder removes what is in a folder, not the folder. Folders that are closed to us, their owner, are opened.
func clearFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the folder to be cleared: %w", err)
	}
	defer root.Close()
	names, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("listing the folder to be cleared: %w", err)
	}
	for _, n := range names {
		if root.RemoveAll(n.Name()) != nil && n.IsDir() {
			openAll(root, n.Name())
			root.RemoveAll(n.Name()) // what is left is not ours
		}
	}
	return nil
}

// openAll opens a folder and all below it to their owner. A pass opens one level more at least.
func openAll(root *os.Root, top string) {
	for opened := true; opened; {
		opened = false
		fs.WalkDir(root.FS(), top, func(p string, e fs.DirEntry, err error) error {
			if e == nil || !e.IsDir() {
				return nil
			}
			if info, ierr := e.Info(); ierr == nil && info.Mode().Perm()&0o700 != 0o700 && root.Chmod(p, 0o700) == nil {
				opened = true
			}
			if err != nil {
				return fs.SkipDir
			}
			return nil
		})
	}
}
