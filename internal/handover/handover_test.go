package handover

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder has files that are whole, closed and longer than a chunk, and things that are none.
func folder(t *testing.T) (dir string, long string) {
	t.Helper()
	dir, long = t.TempDir(), strings.Repeat("long ", chunk)
	for name, text := range map[string]string{"a": "a", "empty": "", "d/long": long, "closed": "closed"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "closed"), 0), os.Chmod(filepath.Join(dir, "d"), 0), os.Symlink("/etc/passwd", filepath.Join(dir, "out")), os.Symlink("a", filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	return dir, long
}

var names = []string{"a", "empty", "d/long", "closed", "out", "in", "d", "gone", "a/b"}

func sent(t *testing.T) (stream []byte, want map[string]string) {
	t.Helper()
	dir, long := folder(t)
	var out bytes.Buffer
	if err := Serve([]string{"send", dir}, strings.NewReader(strings.Join(names, "\x00")+"\x00"), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), map[string]string{"a": "a", "empty": "", "d/long": long, "closed": "closed", "in": "a"}
}

// received reads a stream as far as it goes; what is in it was told to be whole.
func received(stream []byte) (whole map[string]string, err error) {
	whole = map[string]string{}
	r, err := NewReceiver(bytes.NewReader(stream))
	if err != nil {
		return whole, err
	}
	for _, name := range names {
		text := ""
		there, err := r.Next(func(_ fs.FileMode, _ int64, content io.Reader) error {
			b, err := io.ReadAll(content)
			if err == nil {
				text = string(b)
				whole[name] = text
			}
			return err
		})
		if err != nil {
			return whole, err
		}
		if _, got := whole[name]; got != there {
			return whole, errors.New("there and not there: " + name)
		}
	}
	return whole, nil
}

func TestSend(t *testing.T) {
	t.Parallel()
	stream, want := sent(t)
	got, err := received(stream)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d files of %d, %v", len(got), len(want), err)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s has %d bytes of %d", name, len(got[name]), len(text))
		}
	}
}

// A stream that is cut anywhere gives no file that is not whole, and an error.
func TestCut(t *testing.T) {
	t.Parallel()
	stream, want := sent(t)
	for n := 0; n < len(stream); n += 1 + n/7 {
		got, err := received(stream[:n])
		if err == nil {
			t.Errorf("cut to %d of %d bytes there is no error", n, len(stream))
		}
		for name, text := range got {
			if want[name] != text {
				t.Errorf("cut to %d of %d bytes %s has %d bytes of %d", n, len(stream), name, len(text), len(want[name]))
			}
		}
	}
}

// A file of which the account could not read all is no file, and the others are good.
func TestTornFile(t *testing.T) {
	t.Parallel()
	head := "F\x00\x00\x01\xff\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x02ab\x00\x00\x00\x00"
	r, err := NewReceiver(strings.NewReader(greeting + head + "E\x00\x03why" + head + "D"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{ErrHandedOver, nil} {
		_, err := r.Next(func(_ fs.FileMode, _ int64, content io.Reader) error {
			_, err := io.ReadAll(content)
			return err
		})
		if !errors.Is(err, want) {
			t.Errorf("file %d: %v", i, err)
		}
	}
}

// Whatever comes is an error or files, never a panic or without end.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(greeting + "N"))
	f.Add([]byte(greeting + "E\x00\x03why"))
	f.Add([]byte(greeting + "F\x00\x00\x01\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x02ab\x00\x00\x00\x00D"))
	f.Add([]byte(greeting + "F\x00\x00\x01\xff\xff\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x02ab\x00\x00\x00\x00E\xff\xff"))
	f.Add([]byte("sudo: a password is required\n"))
	f.Add([]byte(greeting + "L\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01aD"))
	f.Fuzz(func(_ *testing.T, stream []byte) {
		received(stream)
		listed(stream)
	})
}

// listed reads a list as far as it goes.
func listed(stream []byte) (sizes map[string]int64, err error) {
	sizes = map[string]int64{}
	r, err := NewReceiver(bytes.NewReader(stream))
	if err == nil {
		err = r.Listed(func(f Found) error {
			sizes[f.Path] = f.Size
			return nil
		})
	}
	return sizes, err
}

// A list has what is closed to its owner too, and nothing that leads out; one that is cut has an error.
func TestList(t *testing.T) {
	t.Parallel()
	dir, long := folder(t)
	var out bytes.Buffer
	if err := errors.Join(os.Symlink("d", filepath.Join(dir, "into")), Serve([]string{"list", dir}, nil, &out)); err != nil {
		t.Fatal(err)
	}
	got, err := listed(out.Bytes())
	if want := map[string]int64{"a": 1, "empty": 0, "d/long": int64(len(long)), "closed": 6, "in": 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("listed %v, %v", got, err)
	}
	for n := range out.Len() {
		if _, err := listed(out.Bytes()[:n]); err == nil {
			t.Errorf("cut to %d of %d bytes there is no error", n, out.Len())
		}
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	dir, _ := folder(t)
	if err := Serve([]string{"clear", dir, filepath.Join(dir, "gone")}, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWrongWords(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{nil, {"send"}, {"send", "/nonexistent"}, {"clear"}, {"send", "/", "/"}, {"become"}} {
		if err := Serve(words, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q is taken", words)
		}
	}
}
