package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/wneessen/go-mail"
)

// Security is how the connection to a server is protected.
type Security string

// Kinds of it.
const (
	StartTLS Security = "starttls" // TLS before anything else is said, or nothing is
	TLS      Security = "tls"      // from the first byte
	Plain    Security = "none"
)

// policies are what the client does about STARTTLS; on a connection that has TLS it sees that there is some.
var policies = map[Security]mail.TLSPolicy{StartTLS: mail.TLSMandatory, TLS: mail.TLSOpportunistic, Plain: mail.NoTLS}

// Port is that of a server for which none is said.
func (s Security) Port() int {
	switch s {
	case TLS:
		return 465
	case Plain:
		return 25
	}
	return 587
}

// Server sends by SMTP.
type Server struct {
	From, Name string // the sender, and how he is shown
	Host       string
	Port       int
	Security   Security
	// Authorities are those that the server's certificate is believed of; nil is the machine's.
	Authorities *x509.CertPool
	// User and Password are told to the server, never over a connection that is not protected; "" tells none.
	User, Password string
}

// answerLimit bounds what a server says in one connection, in bytes.
const answerLimit = 64 << 10

// Send ends with an error that wraps [ErrRefused] if the server refuses the recipient or the message for good.
func (s Server) Send(ctx context.Context, m Message) error {
	message, err := compose(s.From, s.Name, m)
	if err != nil {
		return err
	}
	return s.with(ctx, func(c *conversation) error {
		err := c.client.SendWithSMTPClient(c.with, message)
		var said *mail.SendError
		if errors.As(err, &said) && !said.IsTemp() && said.ErrorCode() >= 500 && slices.Contains(final, said.Reason) {
			return fmt.Errorf("%w by %s: %w", ErrRefused, s.Host, err)
		}
		if err != nil {
			return fmt.Errorf("sending by %s: %w", s.Host, err)
		}
		return nil
	})
}

// final are steps of which a refusal is about this recipient or this message.
var final = []mail.SendErrReason{mail.ErrSMTPRcptTo, mail.ErrSMTPData, mail.ErrSMTPDataClose}

// Try connects and logs in.
func (s Server) Try(ctx context.Context) error {
	return s.with(ctx, func(*conversation) error { return nil })
}

// with does something with a connection on which all was said that comes before a message.
func (s Server) with(ctx context.Context, do func(*conversation) error) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	c := &conversation{ctx: ctx, security: s.Security, tls: &tls.Config{ServerName: s.Host, RootCAs: s.Authorities, MinVersion: tls.VersionTLS12}}
	defer c.close()
	options := []mail.Option{
		mail.WithPort(s.Port), mail.WithTimeout(Limit), mail.WithTLSConfig(c.tls), mail.WithDialContextFunc(c.dial),
		mail.WithTLSPolicy(policies[s.Security]), mail.WithoutNoop(),
	}
	if s.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.User), mail.WithPassword(s.Password))
	}
	client, err := mail.NewClient(s.Host, options...)
	if err != nil {
		return fmt.Errorf("the mail server %s: %w", s.Host, err)
	}
	c.client = client
	if c.with, err = client.DialToSMTPClientWithContext(ctx); err != nil {
		return fmt.Errorf("reaching the mail server %s:%d: %w", s.Host, s.Port, err)
	}
	err = do(c)
	if err == nil {
		_ = c.with.Quit() // it has the message already
	}
	return err
}
