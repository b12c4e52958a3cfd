package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
	"gbroker/internal/mail"
)

// post is a sender that keeps what it gets.
type post struct {
	mu    sync.Mutex
	mails []mail.Message
	err   error
}

func (p *post) Send(_ context.Context, m mail.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, m)
	return p.err
}

func (p *post) Try(context.Context) error { return nil }

func (p *post) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mails)
}

// told are n words of a user that are handed in together.
func told(t *testing.T, o *outbox, user, to string, n int) (errs []error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		group.Go(func() {
			err := o.send(t.Context(), to, word{User: user, Job: grid.JobID(fmt.Sprintf("a.%d", i)), Name: "n", Occasion: "end", State: "COMPLETED"})
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	group.Wait()
	return errs
}

// Many words of one user make few mails, within his rate, and none is lost; another user does not wait for them.
func TestWordsAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		o := newOutbox(p, "a", 60)
		for range 5 {
			told(t, o, "alice", "alice@x", 1)
		}
		if p.sent() != 5 {
			t.Fatalf("%d of five are sent at once", p.sent())
		}
		begun := time.Now()
		var other sync.WaitGroup
		other.Go(func() {
			told(t, o, "bob", "bob@x", 1)
			if took := time.Since(begun); took > time.Second {
				t.Errorf("bob waits for %v", took)
			}
		})
		if err := errors.Join(told(t, o, "alice", "alice@x", 500)...); err != nil {
			t.Error(err)
		}
		other.Wait()
		if took := time.Since(begun); p.sent() != 7 || took > 2*time.Minute {
			t.Fatalf("%d mails in %v", p.sent(), took)
		}
		last := p.mails[6]
		if !strings.HasPrefix(last.Subject, "500 words") || !strings.Contains(last.Text, "(a.0)") || !strings.Contains(last.Text, "(a.499)") {
			t.Errorf("told was %.200s", last.Text)
		}
		begun = time.Now()
		for range 60 {
			told(t, o, "alice", "alice@x", 1)
		}
		if took := time.Since(begun); took < 59*time.Minute {
			t.Errorf("60 more took %v", took)
		}
		time.Sleep(10 * time.Minute)
		told(t, o, "carol", "carol@x", 1)
		if len(o.users) != 1 {
			t.Errorf("%d users are remembered", len(o.users))
		}
	})
}

// What one user wants told is bounded, and all hear what became of their mail.
func TestTheOutboxIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{err: errors.New("it is down")}
		o := newOutbox(p, "a", 60)
		told(t, o, "alice", "alice@x", 1)
		for range 4 {
			told(t, o, "alice", "alice@x", 1)
		}
		busy, down := 0, 0
		for _, err := range told(t, o, "alice", "alice@x", maxWaiting+10) {
			switch {
			case errors.Is(err, errBusy):
				busy++
			case errors.Is(err, p.err):
				down++
			}
		}
		if busy != 10 || down != maxWaiting {
			t.Errorf("%d are refused for now, %d hear that the server is down", busy, down)
		}
		for i := range maxLetters {
			go o.send(t.Context(), fmt.Sprintf("a%d@x", i), word{User: "bob"})
		}
		synctest.Wait()
		for i := range atOnce { // as many have gone
			go o.send(t.Context(), fmt.Sprintf("b%d@x", i), word{User: "bob"})
		}
		synctest.Wait()
		if err := o.send(t.Context(), "one@more", word{User: "bob"}); !errors.Is(err, errBusy) {
			t.Errorf("an address too many: %v", err)
		}
	})
}

// Mail goes where the site lets it go, and a user is told before.
func TestUnsent(t *testing.T) {
	t.Parallel()
	terms := grid.Terms{Notify: []grid.Notice{{When: grid.OnEnd, To: "mailto:a@x.org"}, {When: grid.OnFail, To: "mailto:a@x.org"}, {When: grid.OnEnd, To: "mailto:a@sub.Y.org"}, {When: grid.OnEnd, To: "https://x.org"}}}
	n := &notifier{}
	if list := n.Unsent(&terms); len(list) != 2 || !strings.Contains(list[0], "no mail will go to a@x.org: this site sends no mail") {
		t.Errorf("without mail: %q", list)
	}
	p := &post{}
	n = &notifier{mail: newOutbox(p, "a", 60), to: []string{"y.org"}, name: func(grid.PeerID) string { return "a" }}
	if list := n.Unsent(&terms); len(list) != 1 || !strings.Contains(list[0], "only to y.org") {
		t.Errorf("with a list: %q", list)
	}
	err := n.Notify(t.Context(), &grid.Record{}, grid.Owed{Notice: terms.Notify[0]})
	if !errors.Is(err, grid.ErrInvalid) || p.sent() != 0 {
		t.Errorf("one that is not let: %v, %d sent", err, p.sent())
	}
	if err := n.Notify(t.Context(), &grid.Record{}, grid.Owed{Notice: terms.Notify[2]}); err != nil || p.sent() != 1 {
		t.Errorf("one that is let: %v, %d sent", err, p.sent())
	}
	p.err = mail.ErrRefused
	if err := n.Notify(t.Context(), &grid.Record{}, grid.Owed{Notice: terms.Notify[2]}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that is refused for good: %v", err)
	}
}

// Credentials are read from a file of mode 0600 alone.
func TestMailCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mail")
	c := Default(dir)
	c.Site, c.Mail.From, c.Mail.Host, c.Mail.Credentials = "a", "a@b", "m.org", file
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o640: false} {
		if err := errors.Join(os.WriteFile(file, []byte("user: u\npassword: p\n"), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		s, err := c.sender()
		if server, _ := s.(mail.Server); (err == nil) != good || good && (server.User != "u" || server.Password != "p" || server.Port != 587) {
			t.Errorf("mode %o: %+v, %v", mode, s, err)
		}
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("secret\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.sender(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("without fields: %v", err)
	}
}
