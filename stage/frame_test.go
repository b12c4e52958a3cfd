package stage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

func answerOf(status byte, length int, text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{status}, uint32(length)), text...)
}

// A refusal is known by its kind, with its reason, which is cut; an answer beyond its limits, or cut, is neither that nor a length.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for status, kind := range reasons {
		if kind == nil {
			continue
		}
		_, err := readAnswer(bytes.NewReader(answerOf(byte(status), 3, "why")), 10)
		var no *refused
		if !errors.As(err, &no) || !errors.Is(err, kind) || no.text != "why" || no.final() != (status < 4) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	if n, err := readAnswer(bytes.NewReader(answerOf(statusDone, 10, "")), 10); n != 10 || err != nil {
		t.Errorf("as much as was asked: %d, %v", n, err)
	}
	long := strings.Repeat("x", maxReason)
	if _, err := readAnswer(bytes.NewReader(refusal(errors.New(long+"y"))), 10); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), long) || strings.Contains(err.Error(), "y\"") {
		t.Errorf("a long reason: %.50v", err)
	}
	for name, b := range map[string][]byte{
		"more than asked": answerOf(statusDone, 11, ""), "no such status": answerOf(byte(len(reasons)), 3, "why"), "too long a reason": answerOf(1, maxReason+1, long+"y"),
		"cut head": answerOf(statusDone, 3, "")[:4], "no head": nil, "cut reason": answerOf(1, 3, "wh"),
	} {
		var no *refused
		if n, err := readAnswer(bytes.NewReader(b), 10); err == nil || errors.As(err, &no) || err.Error() == "EOF" {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// answering is a network on which all who dial hear the same answers, whatever they ask.
func answering(n *network, answers ...[]byte) {
	n.between = func(c net.Conn) net.Conn {
		c.Close()
		near, far := net.Pipe()
		n.wg.Go(func() {
			defer far.Close()
			for _, a := range answers {
				if _, err := readRequest(far); err != nil {
					return
				}
				if _, err := far.Write(a); err != nil {
					return
				}
			}
		})
		return near
	}
}

// A peer that answers with fewer bytes than were asked for gives no file.
func TestAPeerThatGivesLess(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Patience, c.IdleTimeout = 20*time.Millisecond, time.Second })
	m := give(t, a, map[string][]byte{"x": random(10)})
	answering(n, refusal(grid.ErrInvalid), answerOf(statusDone, 9, "123456789"))
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("fetched: %v", err)
	}
	if _, _, _, err := b.Open(job, Inputs, "x"); err == nil {
		t.Error("it counts as fetched")
	}
}

// What a site lists of a running job is not believed beyond what a file may be.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"up": `[{"path":"../x"}]`, "size": `[{"path":"x","size":-1}]`, "mode": `[{"path":"x","mode":2048}]`, "no list": `{`, "many": "[" + strings.Repeat(`{"path":"x"},`, grid.MaxFiles) + `{"path":"x"}]`,
	} {
		n := newNetwork(t)
		n.site("a", nil)
		b := n.site("b", nil)
		answering(n, answerOf(statusDone, len(list), list))
		if m, err := b.LiveAt(t.Context(), "a", job); err == nil {
			t.Errorf("%s: %d files", name, len(m))
		}
	}
	n := newNetwork(t)
	n.site("a", nil)
	b := n.site("b", nil)
	good := `[{"path":"x","size":7,"mode":511}]`
	answering(n, answerOf(statusDone, len(good), good))
	if m, err := b.LiveAt(t.Context(), "a", job); err != nil || len(m) != 1 || m[0].Size != 7 || m[0].Mode != 0o777 {
		t.Errorf("%v, %v", m, err)
	}
	answering(n, answerOf(statusDone, len(good)+1, good))
	if m, err := b.LiveAt(t.Context(), "a", job); err == nil {
		t.Errorf("a list that is cut: %v", m)
	}
	if _, err := b.OpenLiveAt(t.Context(), "a", job, "../x", 1); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a path that leaves the folder is asked for: %v", err)
	}
	b.cfg.Dialer = nil
	if _, err := b.LiveAt(t.Context(), "a", job); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("without a way: %v", err)
	}
	if _, err := b.OpenLiveAt(t.Context(), "a", job, "x", 1); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("without a way: %v", err)
	}
	if _, err := b.ReadLiveAt(t.Context(), "a", job, "x", 0, 1); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("without a way: %v", err)
	}
}

// A peer has so many streams and no more, all together have so many, and one that ends makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	m := give(t, a, map[string][]byte{"x": random(10)})
	for i := range maxServedPeer {
		if !a.enter("b") {
			t.Fatalf("of %d streams it has %d", maxServedPeer, i)
		}
	}
	c, err := port{n, "b"}.Open(t.Context(), "a", Protocol)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := readAnswer(c, 10); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "too many streams") {
		t.Errorf("one more: %v", err)
	}
	a.leave("b")
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Errorf("when one has ended: %v", err)
	}
	n.wg.Wait()
	others := 0
	for _, p := range []grid.PeerID{"c", "d", "e"} {
		for a.enter(p) {
			others++
		}
	}
	if others != maxServed-maxServedPeer+1 {
		t.Errorf("all together have %d streams", others+maxServedPeer-1)
	}
	for range maxServedPeer - 1 {
		a.leave("b")
	}
	if _, counted := a.serving["b"]; counted || len(a.serving) != 2 {
		t.Errorf("counted are %v", a.serving)
	}
}

// Of the streams to a peer a second fetch gets as many as the first, which gives up what is more; who waits for one ends with his patience.
func TestSeatsAreGivenUp(t *testing.T) {
	t.Parallel()
	var s seats
	first, second := &pull{from: "a", todo: []*span{{}}}, &pull{from: "a", todo: []*span{{}}}
	leave := s.join(first)
	for i := range maxStreamsOf {
		if sits, err := s.sit(t.Context(), first); !sits || err != nil {
			t.Fatalf("the only fetch has %d streams: %v", i, err)
		}
	}
	ctx, cancel := cancelled(t)
	defer cancel()
	if sits, err := s.sit(ctx, first); sits || err == nil {
		t.Errorf("one more than all: %v, %v", sits, err)
	}
	leaveToo := s.join(second)
	given := 0
	for s.give(first) {
		given++
	}
	if given != maxStreamsOf/2 || s.give(second) {
		t.Errorf("it gives up %d of %d", given, maxStreamsOf)
	}
	if sits, _ := s.sit(ctx, second); sits {
		t.Error("the second has one before the first has let go")
	}
	for range given {
		s.rise(first, true)
		if sits, err := s.sit(t.Context(), second); !sits || err != nil {
			t.Errorf("the second does not get what the first gave up: %v", err)
		}
	}
	if sits, _ := s.sit(ctx, first); sits {
		t.Error("the first has more than its part")
	}
	leaveToo()
	if s.most(first) != maxStreamsOf {
		t.Errorf("alone again it may have %d", s.most(first))
	}
	leave()
	if len(s.of) > 0 {
		t.Error("who has no more fetches is remembered")
	}
}

// A request that is cut anywhere is none.
func TestCutRequests(t *testing.T) {
	t.Parallel()
	q := request{kind: kindRead, set: Inputs, job: job, path: "d/x", offset: 7, length: 9}
	whole := q.append(nil)
	if got, err := readRequest(bytes.NewReader(whole)); err != nil || got != q {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range whole {
		if got, err := readRequest(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("cut to %d of %d bytes it is %+v", n, len(whole), got)
		}
	}
}

// Who asks what a job writes that is not here is told so.
func TestListOfAJobThatIsNotHere(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	n.site("a", func(c *Config) {
		c.Authorize = func(grid.PeerID, grid.JobID, Set) (Grant, error) {
			return Grant{Outputs: []grid.Output{{Path: "x", Target: "x"}}}, nil
		}
	})
	if m, err := n.site("b", nil).LiveAt(t.Context(), "a", job); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("%v, %v", m, err)
	}
}

// A peer that hangs up ends what is sent to it.
func TestAPeerThatHangsUp(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	near.Close()
	p := pacer{c: far, idle: time.Second, size: 10}
	if err := p.write(make([]byte, 100)); err == nil {
		t.Error("a hundred bytes went to who has hung up")
	}
}
