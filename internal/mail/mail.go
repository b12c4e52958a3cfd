// Package mail sends messages of plain text, by a server over SMTP or by a program that takes what
// sendmail takes. It tries once; when to try again is its caller's.
//
// What is in a message cannot become a header or a second recipient: an address is one of [grid.CheckMailAddress],
// everything else is encoded, and a program gets the recipient as an argument behind "--".
package mail

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"

	"gbroker/grid"
)

// ErrRefused is wrapped by an error that trying again does not mend: the recipient or the message
// is refused for good. Anything else may be the server's, or its administrator's.
var ErrRefused = errors.New("the mail is refused")

// Limit bounds the whole of one try.
const Limit = time.Minute

// maxSubject is how many characters of a subject are sent.
const maxSubject = 200

// Message is one to one recipient.
type Message struct {
	To      string
	Subject string // a line
	Text    string
}

// Sender sends a message once, within [Limit].
type Sender interface {
	Send(ctx context.Context, m Message) error
	// Try reaches what sends without sending anything.
	Try(ctx context.Context) error
}

// compose makes the message with its headers. Of equal ones the Message-ID is equal: one that is sent
// twice is shown once by many readers.
func compose(from, name string, m Message) (*mail.Msg, error) {
	out := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := out.FromFormat(name, from); err != nil {
		return nil, fmt.Errorf("the sender %q: %w", from, err)
	}
	if err := grid.CheckMailAddress(m.To); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := out.To(m.To); err != nil {
		return nil, fmt.Errorf("%w: the address %q: %w", ErrRefused, m.To, err)
	}
	out.Subject(line(m.Subject))
	out.SetDate()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", m.To, m.Subject, m.Text))
	out.SetMessageIDWithValue(fmt.Sprintf("%x@%s", sum[:16], from[strings.LastIndexByte(from, '@')+1:]))
	out.SetGenHeader("Auto-Submitted", "auto-generated") // nobody's absence answers it
	out.SetBodyString(mail.TypeTextPlain, m.Text)
	return out, nil
}

// line is s as one line of bounded length.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > maxSubject {
		return string(r[:maxSubject]) + "…"
	}
	return s
}

// bounded reads what one answers up to a limit, and fails behind it.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("it answers without end")
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
