package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"gbroker/grid"
)

// What was written is found again, what was half written is gone, and what is refused lies aside.
func TestAFolderIsTakenUp(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir(), Suffix: ".job", Log: zap.NewNop()}
	good := grid.AttemptID{Job: "here.00000000000000000000000100", Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	bad, gone := good, good
	bad.Attempt, gone.Attempt = 2, 3
	folder := filepath.Join(f.Path, "folder.job")
	if err := os.MkdirAll(filepath.Join(folder, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range []grid.AttemptID{good, bad, gone} {
		for _, text := range []string{"first", "then"} {
			if err := f.Write(at, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Remove(gone)
	f.Remove(gone) // again is no fault
	half := f.File(gone) + temporary
	if err := errors.Join(os.WriteFile(half, nil, 0o600), os.WriteFile(filepath.Join(f.Path, "note"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var taken []string
	err := f.Load(func(file string) error {
		if file == f.File(bad) {
			return errors.New("it is damaged")
		}
		text, err := os.ReadFile(file)
		taken = append(taken, string(text))
		return err
	})
	if err != nil || len(taken) != 1 || taken[0] != "then" {
		t.Errorf("taken %q, %v", taken, err)
	}
	for file, stays := range map[string]bool{half: false, folder: false, folder + ".corrupt": true, f.File(bad): false, f.File(bad) + ".corrupt": true, f.File(good): true, filepath.Join(f.Path, "note"): true} {
		if _, err := os.Stat(file); (err == nil) != stays {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// What could not be read is not damaged: the start is refused, and the file stays.
func TestWhatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, syscall.EACCES} {
		f := Folder{Path: t.TempDir(), Suffix: ".job", Log: zap.NewNop()}
		at := grid.AttemptID{Job: "here.00000000000000000000000100", Epoch: grid.Epoch{Term: 1}, Attempt: 1}
		if err := f.Write(at, []byte("text")); err != nil {
			t.Fatal(err)
		}
		err := f.Load(func(file string) error { return &fs.PathError{Op: "open", Path: file, Err: errno} })
		if !errors.Is(err, errno) || !strings.Contains(err.Error(), "start again") {
			t.Errorf("%v: %v", errno, err)
		}
		if _, err := os.Stat(f.File(at)); err != nil {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	f := Folder{Path: filepath.Join(t.TempDir(), "none"), Suffix: ".job", Log: zap.NewNop()}
	if err := f.Write(grid.AttemptID{Job: "a.00000000000000000000000100"}, nil); !errors.Is(err, grid.ErrUnavailable) {
		t.Error(err)
	}
	if err := f.Load(nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What could not be written leaves nothing: a disk may be full for hours, and the folder is swept at a start alone.
func TestWhatIsNotWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir(), Suffix: ".job", Log: zap.NewNop()}
	at := grid.AttemptID{Job: "here.00000000000000000000000100", Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	if err := os.MkdirAll(filepath.Join(f.File(at), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(at, []byte("text")); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("written over a folder: %v", err)
	}
	if _, err := os.Lstat(f.File(at) + temporary); !os.IsNotExist(err) {
		t.Errorf("what was half written is left: %v", err)
	}
}
