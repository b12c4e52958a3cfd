package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"gbroker/internal/mail/mailtest"
)

func client(s *mailtest.Server, security Security) Server {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Authority)
	return Server{From: "gbroker@site.example.org", Name: "gbroker at alpha", Host: s.Host, Port: s.Port, Security: security, Authorities: pool, User: s.User, Password: s.Password}
}

// A mail goes over TLS, either kind, with its user logged in; what the texts hold makes no header.
func TestServersGetMail(t *testing.T) {
	t.Parallel()
	for _, security := range []Security{StartTLS, TLS} {
		s := mailtest.Start(t, security == TLS, func(s *mailtest.Server) { s.User, s.Password = "alpha", "secret" })
		m := Message{To: "alice@example.org", Subject: "job ends\r\nBcc: mallory@example.org\u2028é", Text: "first\r\n.\r\nBcc: mallory@example.org\né\n"}
		c := client(s, security)
		if err := errors.Join(c.Try(t.Context()), c.Send(t.Context(), m)); err != nil {
			t.Fatalf("%s: %v", security, err)
		}
		got := s.Wait(t, 1)[0]
		head, body, _ := strings.Cut(got.Text, "\r\n\r\n")
		if !got.Secure || got.User != "alpha" || got.To != m.To || got.From != c.From || len(s.Mails()) != 1 {
			t.Errorf("%s: it took %+v", security, s.Mails())
		}
		for _, field := range strings.Split(head, "\r\n") {
			if strings.HasPrefix(strings.ToLower(field), "bcc") {
				t.Errorf("%s: there is a header %q", security, field)
			}
		}
		if !strings.Contains(body, "first\r\n.\r\nBcc: mallory@example.org") || !strings.Contains(head, "Auto-Submitted: auto-generated") {
			t.Errorf("%s: it came as %s", security, got.Text)
		}
		c.Password = "wrong"
		if err := c.Send(t.Context(), m); err == nil || errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: with a wrong password it is %v", security, err)
		}
	}
}

// A server without TLS, or with a certificate that nobody vouches for, is told nothing.
func TestNothingIsToldInTheOpen(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, false, nil)
	c := client(s, StartTLS)
	c.Authorities = x509.NewCertPool()
	if err := c.Send(t.Context(), Message{To: "alice@example.org"}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", err)
	}
	bare := raw(t, func(c net.Conn) {
		answers(c, "220 hello\r\n", "250 hello\r\n", "250 ok\r\n", "250 ok\r\n")
	})
	if err := bare.Send(t.Context(), Message{To: "alice@example.org"}); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("a server without TLS: %v", err)
	}
	if len(s.Mails()) != 0 {
		t.Errorf("told was %+v", s.Mails())
	}
}

// Only a refusal of the recipient for good is one that is not tried again.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, false, func(s *mailtest.Server) {
		s.Refuse = func(to string) error {
			switch {
			case strings.HasPrefix(to, "full"):
				return &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 2, 2}, Message: "the mailbox is full"}
			case strings.HasPrefix(to, "nobody"):
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
			}
			return nil
		}
	})
	c := client(s, StartTLS)
	if err := c.Send(t.Context(), Message{To: "full@example.org"}); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a full mailbox: %v", err)
	}
	if err := c.Send(t.Context(), Message{To: "nobody@example.org"}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("nobody: %v", err)
	}
	if err := c.Send(t.Context(), Message{To: "alice@example.org>\r\nRCPT TO:<bob@example.org"}); !errors.Is(err, ErrRefused) {
		t.Errorf("no address: %v", err)
	}
	c.Port = 1
	if err := c.Send(t.Context(), Message{To: "alice@example.org"}); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("no server: %v", err)
	}
}

// A server that talks without end is left, one that says nothing when the time is up.
func TestEndlessAndSilentServers(t *testing.T) {
	t.Parallel()
	endless := raw(t, func(c net.Conn) {
		answers(c, "220 hello\r\n")
		for line := strings.Repeat("250-x\r\n", 1000); ; {
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	})
	begun := time.Now()
	if err := endless.Send(t.Context(), Message{To: "alice@example.org"}); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("an endless server: %v", err)
	}
	silent := raw(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := silent.Send(ctx, Message{To: "alice@example.org"}); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a silent server: %v", err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// raw is a server that does with each connection what it likes.
func raw(t *testing.T, serve func(net.Conn)) Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return Server{From: "gbroker@site.example.org", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Security: StartTLS}
}

// answers gives each answer to one line.
func answers(c net.Conn, list ...string) {
	heard := make([]byte, 1<<10)
	for i, text := range list {
		if i > 0 {
			if _, err := c.Read(heard); err != nil {
				return
			}
		}
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

// A program gets the message, and the recipient behind --; its status says whether it is tried again.
func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "sendmail")
	write := func(script string) Program {
		if err := os.WriteFile(file+".new", []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
		return Program{From: "gbroker@site.example.org", Path: file}
	}
	m := Message{To: "alice@example.org", Subject: "ends", Text: "well\n"}
	p := write(`echo "$@" > ` + dir + `/arguments; cat > ` + dir + `/mail`)
	if err := errors.Join(p.Try(t.Context()), p.Send(t.Context(), m)); err != nil {
		t.Fatal(err)
	}
	arguments, _ := os.ReadFile(dir + "/arguments")
	text, _ := os.ReadFile(dir + "/mail")
	if string(arguments) != "-i -f gbroker@site.example.org -- alice@example.org\n" || !strings.Contains(string(text), "To: <alice@example.org>") || !strings.Contains(string(text), "well") {
		t.Errorf("it got %q and %q", arguments, text)
	}
	for script, refused := range map[string]bool{"exit 67": true, "echo later >&2; exit 75": false, "exit 1": false} {
		if err := write(script).Send(t.Context(), m); err == nil || errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", script, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := write("sleep 300 & sleep 300").Send(ctx, m); err == nil || time.Since(begun) > 20*time.Second {
		t.Errorf("a slow one: %v after %v", err, time.Since(begun))
	}
	p.Path = dir + "/none"
	if p.Try(t.Context()) == nil || p.Send(t.Context(), m) == nil {
		t.Error("one that is not there is taken")
	}
}
