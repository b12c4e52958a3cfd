package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gbroker/api"
)

// cutter passes connections on to a socket, and cuts the first ones after some bytes to it.
func cutter(t *testing.T, socket string, cuts int32, after int64) (through string, passed *atomic.Int64) {
	t.Helper()
	through = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", through)
	if err != nil {
		t.Fatal(err)
	}
	passed = new(atomic.Int64)
	var left atomic.Int32
	left.Store(cuts)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				up, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				all.Go(func() {
					io.Copy(c, up)
					c.Close()
				})
				n, _ := io.Copy(up, &cutAfter{c, after, &left})
				passed.Add(n)
				up.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return through, passed
}

// cutAfter ends after some bytes, as often as there are cuts.
type cutAfter struct {
	r    io.Reader
	most int64
	left *atomic.Int32
}

func (c *cutAfter) Read(b []byte) (int, error) {
	if c.most <= 0 && c.left.Add(-1) >= 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(b)
	c.most -= int64(n)
	return n, err
}

// An upload whose connection is cut goes on where it broke, and what arrives is what was sent.
func TestBrokenUpload(t *testing.T) {
	const size = 8 << 20
	socket := filepath.Join(t.TempDir(), "s")
	service, _ := start(t, api.Config{SocketPath: socket})
	through, passed := cutter(t, socket, 3, 2<<20)
	c := client(t, api.ClientConfig{Address: "unix://" + through})
	content := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: withFile, Name: "x.jsdl", Files: []api.File{{Path: "data", Size: size, Mode: 0o640}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upload(t.Context(), a.ID, a.Wanted[0].Path, size, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if got := service.Uploads(a.ID)[a.Wanted[0].Path]; !bytes.Equal(got, content) {
		t.Errorf("%d bytes arrived, and they are others", len(got))
	}
	c.Close()
	if n := passed.Load(); n > size+size/2 { // anew each time: size+3*2 MiB
		t.Errorf("%d bytes were sent for a file of %d: it began anew", n, size)
	}
}

// What is included is wanted, unless the document speaks of it.
func TestInclude(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	start(t, api.Config{SocketPath: socket})
	c := client(t, api.ClientConfig{Address: "unix://" + socket})
	sub := api.Submission{Document: plain, Name: "x.jsdl"}
	for i, test := range []struct {
		include []string
		wrong   string
	}{{[]string{"a", "d/b"}, ""}, {[]string{"a", "a"}, "twice"}, {[]string{"stdout"}, "leaves"}, {[]string{"../x"}, "x"}} {
		sub.Key, sub.Include = fmt.Sprint(i), nil
		for _, name := range test.include {
			sub.Include = append(sub.Include, api.File{Path: name, Size: 1, Mode: 0o600})
		}
		a, err := c.Submit(t.Context(), sub)
		switch {
		case test.wrong == "" && (err != nil || len(a.Wanted) != len(test.include) || a.Wanted[1].Path != "d/b"):
			t.Errorf("%+v %v", a.Wanted, err)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%q: %v", test.include, err)
		}
	}
}
