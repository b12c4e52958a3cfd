package mail

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// conversation is one connection to a server, which ends with its context whatever the server does, and
// on which it can say only so much.
type conversation struct {
	ctx      context.Context
	security Security
	tls      *tls.Config
	client   *mail.Client
	with     *smtp.Client
	raw      net.Conn
	stop     func() bool
}

// heard is a connection of which only so much is read.
type heard struct {
	net.Conn
	from bounded
}

func (h *heard) Read(b []byte) (int, error) { return h.from.Read(b) }

func (c *conversation) dial(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.raw = raw
	c.stop = context.AfterFunc(c.ctx, func() { raw.Close() })
	conn := &heard{Conn: raw, from: bounded{raw, answerLimit}}
	if c.security != TLS {
		return conn, nil
	}
	secure := tls.Client(conn, c.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, nil
}

func (c *conversation) close() {
	if c.raw != nil {
		c.stop()
		c.raw.Close()
	}
}
