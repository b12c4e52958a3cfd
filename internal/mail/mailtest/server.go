// Package mailtest has a real mail server (github.com/emersion/go-smtp) on the loopback, for tests.
package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mail is one that the server took.
type Mail struct {
	From, To, Text string
	Secure         bool // it came over TLS
	User           string
}

// Server is one that runs.
type Server struct {
	Host string
	Port int
	// Authority is the certificate to believe, as PEM.
	Authority []byte
	// Refuse says what becomes of a recipient; nil takes all.
	Refuse func(to string) error
	// User and Password are asked for if they are set, before any mail.
	User, Password string

	mu    sync.Mutex
	mails []Mail
	came  chan struct{}
}

// Start runs a server until the test ends; implicit has TLS from the first byte, else STARTTLS is offered. set
// may change it before.
func Start(t testing.TB, implicit bool, set func(*Server)) *Server {
	t.Helper()
	certificate, authority := certify(t)
	s := &Server{Host: "localhost", Authority: authority, came: make(chan struct{}, 1)}
	if set != nil {
		set(s)
	}
	of := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{of: s, with: c}, nil }))
	of.Domain, of.ReadTimeout, of.WriteTimeout = "localhost", 10*time.Second, 10*time.Second
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	if implicit {
		l = tls.NewListener(l, settings)
	} else {
		of.TLSConfig = settings
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = of.Serve(l)
	}()
	t.Cleanup(func() { of.Close(); <-done })
	return s
}

// Mails are those that came until now.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Wait returns when n have come.
func (s *Server) Wait(t testing.TB, n int) []Mail {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		if all := s.Mails(); len(all) >= n {
			return all
		}
		select {
		case <-s.came:
		case <-late:
			t.Fatalf("%d mails came, not %d: %+v", len(s.Mails()), n, s.Mails())
		}
	}
}

type session struct {
	of   *Server
	with *smtp.Conn
	mail Mail
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.of.User || password != s.of.Password {
			return smtp.ErrAuthFailed
		}
		s.mail.User = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.of.User != "" && s.mail.User == "" {
		return smtp.ErrAuthRequired
	}
	s.mail.From = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.of.Refuse != nil {
		if err := s.of.Refuse(to); err != nil {
			return err
		}
	}
	s.mail.To = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m := s.mail
	_, m.Secure = s.with.TLSConnectionState()
	m.Text = string(text)
	s.of.mu.Lock()
	s.of.mails = append(s.of.mails, m)
	s.of.mu.Unlock()
	select {
	case s.of.came <- struct{}{}:
	default:
	}
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// certify makes a certificate for localhost that vouches for itself.
func certify(t testing.TB) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
