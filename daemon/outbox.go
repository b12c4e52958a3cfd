package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gbroker/grid"
	"gbroker/internal/mail"
)

// outbox sends mail of jobs. A user has so many in an hour, a few of them at once; what is to be told to an
// address until the next one may go is told together, so that a sweep of many jobs makes few mails. Each word
// waits in [outbox.send] for the mail that it is in, and what is not sent is told so: it is on disk with its
// job, and its broker tries again.
//
//	word ─┐ same user and address, waits for its turn
//	word ─┼─► letter ─── rate ────► one mail ─► all of them hear what became of it
//	word ─┘
type outbox struct {
	sender mail.Sender
	site   grid.SiteName
	rate   rate.Limit

	mu    sync.Mutex
	users map[string]*correspondent
}

// correspondent is a user with what his jobs have to tell.
type correspondent struct {
	turns   *rate.Limiter
	waiting int                // words
	letters map[string]*letter // by address
}

// letter is a mail to be.
type letter struct {
	words []word
	sent  chan struct{} // closed when err is known
	err   error
}

// Limits for one user: what is more is refused for now.
const (
	maxWaiting = 1000 // words
	maxLetters = 64   // addresses
	atOnce     = 5    // mails
)

var errBusy = errors.New("too much is to be told already")

func newOutbox(s mail.Sender, site grid.SiteName, perHour int) *outbox {
	return &outbox{sender: s, site: site, rate: rate.Every(time.Hour / time.Duration(perHour)), users: map[string]*correspondent{}}
}

// send returns when the mail with w in it has gone, or has not.
func (o *outbox) send(ctx context.Context, to string, w word) error {
	u, b, first, err := o.join(to, w)
	if err != nil {
		return err
	}
	if first {
		o.deliver(ctx, u, to, b)
	}
	select {
	case <-b.sent:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join adds w to the mail that is to go to its address; first tells that it begins it, and is to send it.
func (o *outbox) join(to string, w word) (u *correspondent, b *letter, first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if u = o.users[w.User]; u == nil {
		u = &correspondent{turns: rate.NewLimiter(o.rate, atOnce), letters: map[string]*letter{}}
		o.users[w.User] = u
	}
	b = u.letters[to]
	if u.waiting == maxWaiting || b == nil && len(u.letters) == maxLetters {
		return u, nil, false, errBusy
	}
	if first = b == nil; first {
		b = &letter{sent: make(chan struct{})}
		u.letters[to] = b
	}
	b.words = append(b.words, w)
	u.waiting++
	return u, b, first, nil
}

func (o *outbox) deliver(ctx context.Context, u *correspondent, to string, b *letter) {
	defer close(b.sent)
	b.err = u.turns.Wait(ctx)
	o.mu.Lock()
	delete(u.letters, to)
	u.waiting -= len(b.words)
	o.forgetIdle()
	o.mu.Unlock()
	if b.err == nil {
		b.err = o.sender.Send(ctx, o.compose(to, b.words))
	}
}

// forgetIdle forgets users who have nothing to tell and all their turns.
func (o *outbox) forgetIdle() {
	for name, u := range o.users {
		if len(u.letters) == 0 && u.turns.Tokens() >= atOnce {
			delete(o.users, name)
		}
	}
}

// endings are what the occasions are in a mail.
var endings = map[string]string{string(grid.OnBegin): "has begun", string(grid.OnEnd): "has ended", string(grid.OnFail): "has failed"}

func (o *outbox) compose(to string, words []word) mail.Message {
	m := mail.Message{To: to, Subject: fmt.Sprintf("%d words of your jobs of %s", len(words), o.site)}
	var text strings.Builder
	if len(words) > 1 {
		for _, w := range words {
			fmt.Fprintf(&text, "%s  %s  %s\n", w.At, w.title(), w.state())
		}
		fmt.Fprintf(&text, "\nThey are told together, as the site sends each user only so much mail.\n")
	} else {
		w := words[0]
		m.Subject = w.title()
		for _, line := range [][2]string{{"job", string(w.Job)}, {"name", w.Name}, {"state", w.state()}, {"reason", w.Reason}, {"site", w.Site}, {"at", w.At.String()}} {
			if line[1] != "" {
				fmt.Fprintf(&text, "%-8s%s\n", line[0], line[1])
			}
		}
	}
	fmt.Fprintf(&text, "\n'gclient status ID' tells more, 'gclient output ID' fetches what a job left.\n")
	m.Text = text.String()
	return m
}

func (w *word) title() string {
	return strings.TrimSpace("job " + w.Name + " " + endings[w.Occasion] + " (" + string(w.Job) + ")")
}

func (w *word) state() string {
	if w.ExitCode == nil {
		return w.State
	}
	return fmt.Sprintf("%s, exit code %d", w.State, *w.ExitCode)
}
