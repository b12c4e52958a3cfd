package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

const speedSize = 256 << 20

// tcp dials one Stager over loopback.
type tcp struct{ address string }

func (d tcp) Open(ctx context.Context, _ grid.PeerID, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", d.address)
}

// listen accepts connections until the benchmark's end.
func listen(b *testing.B, serve func(net.Conn)) (address string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// BenchmarkFetch pulls one file of 256 MiB over loopback TCP; compare it with
// BenchmarkCopy (bytes alone) and BenchmarkCopyHashSync (what a careful program
// would do over one connection).
func BenchmarkFetch(b *testing.B) {
	n := newNetwork(b)
	server := n.site("a", nil)
	if _, err := server.Receive(b.Context(), job, "big", speedSize, 0o600, 0, io.LimitReader(rand.NewChaCha8([32]byte{}), speedSize)); err != nil {
		b.Fatal(err)
	}
	m, err := server.Received(job)
	if err != nil {
		b.Fatal(err)
	}
	address := listen(b, func(c net.Conn) { server.Serve("b", c) })
	client := n.site("b", func(c *Config) { c.Dialer = tcp{address} })
	b.SetBytes(speedSize)
	for b.Loop() {
		if err := client.Fetch(b.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := client.Discard(job); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkCopy(b *testing.B) {
	copyOver(b, func(c net.Conn, f *os.File) error {
		_, err := io.Copy(c, f)
		return err
	}, func(f *os.File, c net.Conn) error {
		_, err := io.Copy(f, c)
		return err
	})
}

func BenchmarkCopyHashSync(b *testing.B) {
	hashed := func(to io.Writer, from io.Reader) error {
		h := blake3.New(32, nil)
		_, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(h, to)}, struct{ io.Reader }{from}, make([]byte, 1<<20))
		return err
	}
	copyOver(b, func(c net.Conn, f *os.File) error {
		if err := f.Sync(); err != nil {
			return err
		}
		return hashed(c, f)
	}, func(f *os.File, c net.Conn) error {
		if err := hashed(f, c); err != nil {
			return err
		}
		return f.Sync()
	})
}

// copyOver copies one file over one TCP connection.
func copyOver(b *testing.B, send func(net.Conn, *os.File) error, receive func(*os.File, net.Conn) error) {
	dir := b.TempDir()
	source := filepath.Join(dir, "source")
	f, err := os.Create(source)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{}), speedSize); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	address := listen(b, func(c net.Conn) {
		defer c.Close()
		f, err := os.Open(source)
		if err != nil {
			b.Error(err)
			return
		}
		defer f.Close()
		if err := send(c, f); err != nil {
			b.Error(err)
		}
	})
	b.SetBytes(speedSize)
	for b.Loop() {
		c, err := tcp{address}.Open(b.Context(), "", "")
		if err != nil {
			b.Fatal(err)
		}
		to, err := os.Create(filepath.Join(dir, "copy"))
		if err != nil {
			b.Fatal(err)
		}
		if err := receive(to, c); err != nil {
			b.Fatal(err)
		}
		to.Close()
		c.Close()
		b.StopTimer()
		if err := os.Remove(filepath.Join(dir, "copy")); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkFetchSmall pulls 10,000 files of 1 KiB over loopback TCP, with one sync for all.
func BenchmarkFetchSmall(b *testing.B) {
	const files, size = 10_000, 1 << 10
	n := newNetwork(b)
	var granted Grant // a broker has it at hand
	server := n.site("a", func(c *Config) {
		c.Authorize = func(grid.PeerID, grid.JobID, Set) (Grant, error) { return granted, nil }
	})
	from := rand.NewChaCha8([32]byte{})
	for i := range files {
		if _, err := server.Receive(b.Context(), job, fmt.Sprintf("d%d/f%d", i%10, i), size, 0o600, 0, io.LimitReader(from, size)); err != nil {
			b.Fatal(err)
		}
	}
	m, err := server.Received(job)
	if err != nil {
		b.Fatal(err)
	}
	granted.Files = m
	address := listen(b, func(c net.Conn) { server.Serve("b", c) })
	for b.Loop() {
		b.StopTimer() // nothing is removed in between: for a minute ext4 looks at each inode that was, before it gives another
		client := n.site("b", func(c *Config) { c.Dialer = tcp{address} })
		b.StartTimer()
		if err := client.Fetch(b.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(files*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkCreateSmall makes as many files as BenchmarkFetchSmall brings, with the same names and bytes, and one sync for all: what the
// file system takes of it.
func BenchmarkCreateSmall(b *testing.B) {
	const files, size = 10_000, 1 << 10
	data := make([]byte, size)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		b.StartTimer()
		for i := range files {
			if i < 10 {
				if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%d", i)), 0o700); err != nil {
					b.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%d/f%d", i%10, i)), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(syncAll(root), root.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(files*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
