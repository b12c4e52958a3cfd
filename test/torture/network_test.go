package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const far = "127.0.0.1:4999"

// pair is two networks with a relay from a to b, where an echo answers.
func pair(t *testing.T) (w *way, a *network) {
	t.Helper()
	if !isolated {
		t.Skip("the kernel lets this user make no namespaces; run it as root")
	}
	a, b := must(t)(newNetwork()), must(t)(newNetwork())
	var echo net.Listener
	if err := b.in(func() (err error) {
		echo, err = net.Listen("tcp", far)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	w = newWay("a", "b")
	r, err := newRelay(w, "a", "b", a, b, far)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { r.run(ctx) })
	all.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				io.Copy(c, c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		echo.Close()
		all.Wait()
		a.close()
		b.close()
	})
	return w, a
}

func must(t *testing.T) func(*network, error) *network {
	return func(n *network, err error) *network {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func dial(t *testing.T, n *network) net.Conn {
	t.Helper()
	var c net.Conn
	if err := n.in(func() (err error) {
		c, err = net.Dial("tcp", far)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask says a word and waits for its echo, for as long as patience.
func ask(c net.Conn, word string, patience time.Duration) error {
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(word)); err != nil {
		return err
	}
	answer := make([]byte, len(word))
	_, err := io.ReadFull(c, answer)
	if err == nil && string(answer) != word {
		err = errors.New("another answer: " + string(answer))
	}
	return err
}

const (
	soon = 10 * time.Second
	ever = 100 * time.Millisecond
)

// A way carries; cut, it carries nothing, as it was cut; healed, what was said meanwhile arrives.
func TestWay(t *testing.T) {
	t.Parallel()
	w, a := pair(t)
	c := dial(t, a)
	if err := ask(c, "one", soon); err != nil {
		t.Fatalf("a whole way: %v", err)
	}
	for _, s := range []severity{silent, oneWay} {
		w.set(s)
		if err := ask(c, "two", ever); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a %s way: %v", s, err)
		}
		w.set(whole)
		c.SetDeadline(time.Now().Add(soon))
		if _, err := io.ReadFull(c, make([]byte, 3)); err != nil {
			t.Errorf("after a %s way the answer does not come: %v", s, err)
		}
	}
	w.set(silent)
	late := dial(t, a)
	if err := ask(late, "three", ever); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection over a silent way: %v", err)
	}
	w.set(broken)
	for _, c := range []net.Conn{c, late, dial(t, a)} {
		if err := ask(c, "four", soon); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection over a broken way: %v", err)
		}
	}
	w.set(whole)
	if err := ask(dial(t, a), "five", soon); err != nil {
		t.Errorf("a healed way: %v", err)
	}
}

// A network has no way out but through a relay.
func TestNetworkIsAlone(t *testing.T) {
	t.Parallel()
	_, _ = pair(t)
	n := must(t)(newNetwork())
	defer n.close()
	if err := n.in(func() error {
		c, err := net.Dial("tcp", far)
		if err == nil {
			c.Close()
		}
		return err
	}); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("dialling the port of another network: %v", err)
	}
}

// A disk that is filled takes no more, and emptied takes again.
func TestDisk(t *testing.T) {
	t.Parallel()
	if !isolated {
		t.Skip("the kernel lets this user make no namespaces; run it as root")
	}
	dir := t.TempDir()
	d, err := newDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.remove()
	write := func() error { return os.WriteFile(dir+"/file", make([]byte, 1<<20), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if err := d.fill(0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/more", []byte("x"), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("writing to a full disk: %v", err)
	}
	if err := d.empty(); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("writing to the emptied disk: %v", err)
	}
}
