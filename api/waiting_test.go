package api_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
)

// A broker that takes requests and says nothing, or is gone after the first: nobody
// knows whether the job was made.
func TestSilence(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := client(t, api.ClientConfig{Address: "unix://" + path, Answer: 30 * time.Millisecond, Resend: time.Millisecond})
	if _, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain}); !api.Lost(err) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a silent broker: %v", err)
	}
	go func() {
		for range 2 { // the first is that of before
			if in, err := l.Accept(); err == nil {
				in.Close()
			}
		}
		l.Close()
	}()
	c = client(t, api.ClientConfig{Address: "unix://" + path, Resend: 200 * time.Millisecond})
	if _, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain}); !api.Lost(err) {
		t.Errorf("a broker that is gone after the submission: %v", err)
	}
}

func TestWaitAndCancel(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{Limits: api.Limits{LongPoll: 30 * time.Millisecond, Cancel: 30 * time.Millisecond}})
	ctx := t.Context()
	a, err := c.Submit(ctx, api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.Wait(ctx, a.ID, "SUBMITTED"); err != nil || s.State != "SUBMITTED" {
		t.Errorf("a long poll that is over: %+v, %v", s, err)
	}
	if _, err := c.Wait(ctx, a.ID, "NONSENSE"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an unknown state: %v", err)
	}
	if err := service.Change(a.ID, func(r *grid.Record) { r.State = grid.Moving }); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Wait(ctx, a.ID, "SUBMITTED"); err != nil || s.State != "MOVING" {
		t.Errorf("after a change: %+v, %v", s, err)
	}
	if r, err := c.Cancel(ctx, a.ID); err != nil || r.Confirmed || !r.Job.CancelRequested {
		t.Errorf("cancel, not confirmed: %+v, %v", r, err)
	}
	if err := service.Change(a.ID, func(r *grid.Record) { r.State = grid.Killed }); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Cancel(ctx, a.ID); err != nil || !r.Confirmed || r.Job.State != "KILLED" {
		t.Errorf("cancel, confirmed: %+v, %v", r, err)
	}
	if err := c.Remove(ctx, a.ID); err != nil {
		t.Error(err)
	}
}

// The end of the server answers long polls instead of waiting for them, and their number is bounded.
func TestLongPolls(t *testing.T) {
	t.Parallel()
	service := apitest.New()
	s, stop := apitest.Start(t, api.Config{Users: service, Admin: service, Hook: service, Limits: api.Limits{LongPoll: time.Hour, Waits: 1, Grace: time.Minute}})
	defer stop()
	c := client(t, api.ClientConfig{Address: s.Addresses()[0]})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		status api.Status
		err    error
	}
	first, second := make(chan answer, 1), make(chan answer, 1)
	for _, to := range []chan answer{first, second} {
		go func() {
			st, err := c.Wait(t.Context(), a.ID, "SUBMITTED")
			to <- answer{st, err}
		}()
	}
	// One of the two is refused, and only then the other is known to wait.
	var refused answer
	other := second
	select {
	case refused = <-first:
	case refused = <-second:
		other = first
	}
	if !errors.Is(refused.err, grid.ErrUnavailable) {
		t.Errorf("one long poll too many: %+v", refused)
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := <-other; got.err != nil || got.status.State != "SUBMITTED" {
		t.Errorf("the long poll at the end: %+v", got)
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{})
	for i := range 5 {
		if _, err := c.Submit(t.Context(), api.Submission{Key: fmt.Sprint(i), Document: plain}); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	var after grid.JobID
	for {
		p, err := c.Jobs(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(p.Jobs))
		if p.Next == nil {
			break
		}
		after = *p.Next
	}
	if fmt.Sprint(sizes) != "[2 2 1]" {
		t.Errorf("pages of %v", sizes)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "after=x"} {
		if status, _ := raw(t, s.Addresses()[0], nil, "GET", "/v1/jobs?"+q, ""); status != 400 {
			t.Errorf("%s: status %d", q, status)
		}
	}
}

// Where the answers to the first submissions are lost, sending again makes no second job.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	_, s, _ := serve(t, api.Config{})
	behind := strings.TrimPrefix(s.Addresses()[0], "unix://")
	front := filepath.Join(filepath.Dir(behind), "lossy")
	l, err := net.Listen("unix", front)
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	defer relays.Wait()
	defer l.Close()
	relays.Go(func() {
		for n := 0; ; n++ {
			in, err := l.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(in, behind, n < 2) })
		}
	})
	c := client(t, api.ClientConfig{Address: "unix://" + front})
	a, err := c.Submit(t.Context(), api.Submission{Key: "once", Document: plain})
	if err != nil || !a.Again || !strings.HasSuffix(string(a.ID), "1") {
		t.Errorf("after two lost answers: %+v, %v", a, err)
	}
	c.Close()
}

// relay copies between in and the socket behind; with lose it cuts both off when
// the answer comes.
func relay(in net.Conn, behind string, lose bool) {
	defer in.Close()
	out, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	defer out.Close()
	var up sync.WaitGroup
	defer up.Wait()
	defer in.Close()
	up.Go(func() { io.Copy(out, in); out.Close() })
	if lose {
		out.Read(make([]byte, 1))
		return
	}
	io.Copy(in, out)
}

func TestUnreachableIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c := client(t, api.ClientConfig{Address: "unix:///nonexistent/socket", Resend: time.Hour})
	_, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "no broker answers at unix:///nonexistent/socket") {
		t.Errorf("got %v", err)
	}
}
