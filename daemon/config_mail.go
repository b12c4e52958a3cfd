package daemon

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/internal/mail"
)

// MailConfig says how users get mail of their jobs; without From they get none.
type MailConfig struct {
	// From is the sender. Answers go there, and what a server could not deliver later.
	From string
	// Host and Port are of the server; Security is how the connection to it is protected.
	Host     string
	Port     int // 0 is the usual one
	Security mail.Security
	// Authorities is a file of certificates (PEM) that the server's is believed of; "" is those of the machine.
	Authorities string
	// Credentials is a file of mode 0600 with the user and the password for the server; "" is none.
	Credentials string
	// Program is one that takes what sendmail takes, instead of a server.
	Program string
	// To are the domains to which mail goes; nil is any. Without a list users make this site send mail to
	// everybody, as far as PerHour lets them.
	To []string
	// PerHour is how many mails one user's jobs may send in an hour. What more of them has to be told is
	// gathered. A low number tells it late, a high one lets one user make the site a nuisance.
	PerHour int
}

// Limits of these.
const (
	maxPerHour     = 3600
	maxDomains     = 64
	maxCredentials = 4 << 10 // bytes of the file
)

func (d *document) mail(n ast.Node, c *Config) {
	m, served := &c.Mail, false
	word := func(what string, to *string, read func(string) (string, error)) func(ast.Node) {
		return func(n ast.Node) { parsed(d, n, "mail."+what, to, read) }
	}
	d.fields(n, "mail", []field{
		{name: "from", aka: "sender", required: "from: NAME@HOST", read: word("from", &m.From, mailAddress)},
		{name: "server", aka: "host smtp relay", read: func(n ast.Node) {
			var text string
			served = true
			if parsed(d, n, "mail.server", &text, mailServer); text != "" {
				host, port, _ := net.SplitHostPort(text)
				m.Host = host
				m.Port, _ = strconv.Atoi(port)
			}
		}},
		{name: "tls", aka: "security starttls ssl", read: func(n ast.Node) {
			parsed(d, n, "mail.tls", (*string)(&m.Security), oneOf(string(mail.StartTLS), string(mail.TLS), string(mail.Plain)))
		}},
		{name: "authorities", aka: "ca certificates certificate", read: word("authorities", &m.Authorities, c.path)},
		{name: "credentials", aka: "password secrets user", read: word("credentials", &m.Credentials, c.path)},
		{name: "program", aka: "sendmail command", read: word("program", &m.Program, c.path)},
		{name: "to", aka: "domains allow recipients", list: true, read: func(n ast.Node) {
			m.To = nil
			d.unique(n, "mail.to", maxDomains, mailDomain, func(s string) { m.To = append(m.To, s) })
		}},
		{name: "per_hour", aka: "rate limit each_user", read: func(n ast.Node) {
			parsed(d, n, "mail.per_hour", &m.PerHour, within(1, maxPerHour, strconv.Itoa, wholeNumber))
		}},
	})
	switch {
	case served == (m.Program != ""):
		d.note(n, "mail goes by a server or by a program: write one of them, as server: mail.example.org or program: /usr/sbin/sendmail")
	case m.Program != "" && m.Credentials+m.Authorities != "":
		d.note(n, "credentials and authorities are for a server: remove them, or the program")
	case m.Security == mail.Plain && m.Credentials != "":
		d.note(n, "a password is told only over TLS: write tls: starttls or tls: tls, or remove the credentials")
	}
}

func mailAddress(s string) (string, error) { return s, grid.CheckMailAddress(s) }

func mailDomain(s string) (string, error) { return strings.ToLower(s), grid.CheckDomain(s) }

// mailServer reads HOST[:PORT], and gives both; the port 0 is none.
func mailServer(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), "0"
	} else if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q is no port: write 1 to 65535, or leave it out", form.Clip(port))
	}
	if err := grid.CheckDomain(host); err != nil && net.ParseIP(host) == nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

// mail reaches what sends mail, if anything does.
func (d *doctor) mail() {
	sender, err := d.cfg.sender()
	switch {
	case err == nil && sender == nil:
		return
	case err == nil:
		err = sender.Try(d.ctx)
	}
	if err != nil {
		d.mend("mail", "%v", err)
		return
	}
	d.fine("mail", "what sends it answers; nothing was sent")
}

// sender is what sends mail; nil where none is sent.
func (c Config) sender() (mail.Sender, error) {
	m, name := c.Mail, "gbroker at "+string(c.Site)
	switch {
	case m.From == "":
		return nil, nil
	case m.Program != "":
		return mail.Program{From: m.From, Name: name, Path: m.Program}, nil
	}
	s := mail.Server{From: m.From, Name: name, Host: m.Host, Port: m.Port, Security: m.Security}
	if s.Port == 0 {
		s.Port = s.Security.Port()
	}
	if m.Authorities != "" {
		text, err := os.ReadFile(m.Authorities)
		if err != nil {
			return nil, fmt.Errorf("reading whom to believe the certificate of the mail server: %w", err)
		}
		s.Authorities = x509.NewCertPool()
		if !s.Authorities.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no certificate in PEM", grid.ErrInvalid, m.Authorities)
		}
	}
	if m.Credentials == "" {
		return s, nil
	}
	text, err := readSecret("mail server", m.Credentials, maxCredentials)
	if err != nil {
		return nil, err
	}
	var secret struct{ User, Password string }
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&secret); err != nil || secret.User == "" {
		return nil, fmt.Errorf("%w: %s says no user and password: write a line `user: NAME` and a line `password: WORD`", grid.ErrInvalid, m.Credentials)
	}
	s.User, s.Password = secret.User, secret.Password
	return s, nil
}
