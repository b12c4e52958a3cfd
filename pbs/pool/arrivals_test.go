package pool

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// Where many arrive, no more are let in until one has spoken, or for a moment: strangers who say nothing hold up nobody for longer.
func TestArrivals(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := newArrivals(l)
	accept := func() (net.Conn, time.Duration) {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		begun := time.Now()
		c, err := a.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		a.note(c, http.StateNew)
		return c, time.Since(begun)
	}
	var all []net.Conn
	for range maxArriving {
		c, _ := accept()
		all = append(all, c)
	}
	if _, took := accept(); took < arrivalPause {
		t.Errorf("one more is let in after %v", took)
	}
	for _, c := range all[:2] {
		a.note(c, http.StateActive)
		a.note(c, http.StateIdle)
		a.note(c, http.StateActive)
	}
	if a.crowded() || len(a.at) != maxArriving-1 {
		t.Errorf("of %d that arrived two have spoken, and %d have not", maxArriving+1, len(a.at))
	}
	a.note(all[2], http.StateClosed)
	if len(a.at) != maxArriving-2 {
		t.Error("who has gone counts as one who arrives")
	}
}
