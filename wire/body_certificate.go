package wire

import "gbroker/grid"

type certificateBody struct {
	Epoch     epochBody `msgpack:"e,omitempty"`
	To        string    `msgpack:"c,omitempty"`
	Signature []byte    `msgpack:"s,omitempty"`
}

func fromCertificate(d grid.Certificate) certificateBody {
	return certificateBody{fromEpoch(d.Epoch), string(d.To), d.Signature}
}

func (b certificateBody) certificate(c *check) grid.Certificate {
	if n := len(b.Signature); n == 0 || n > grid.MaxSignature {
		c.fail("signature", "%d bytes: it has 1 to %d", n, grid.MaxSignature)
	}
	return grid.Certificate{
		Epoch:     nested(c, "epoch", b.Epoch.epoch),
		To:        c.peer("to", b.To),
		Signature: b.Signature,
	}
}

// fromOptionalCertificate leaves out a certificate that is not there.
func fromOptionalCertificate(d grid.Certificate) *certificateBody {
	if d.To == "" {
		return nil
	}
	b := fromCertificate(d)
	return &b
}

func optionalCertificate(c *check, name string, b *certificateBody) grid.Certificate {
	if b == nil {
		return grid.Certificate{}
	}
	return nested(c, name, b.certificate)
}

type movedBody struct {
	Job          string            `msgpack:"j,omitempty"`
	Certificates []certificateBody `msgpack:"o,omitempty"`
	Version      []byte            `msgpack:"d,omitempty"`
}

func (b *movedBody) message(c *check) Message {
	if len(b.Certificates) == 0 {
		c.fail("certificates", "there is none")
	}
	return Moved{c.jobID("job", b.Job), list(c, "certificates", b.Certificates, grid.MaxCertificates, certificateBody.certificate), c.optionalHash("version", b.Version)}
}

type movedAckBody struct {
	Job   string    `msgpack:"j,omitempty"`
	Epoch epochBody `msgpack:"e,omitempty"`
}

func (b *movedAckBody) message(c *check) Message {
	return MovedAck{c.jobID("job", b.Job), nested(c, "epoch", b.Epoch.epoch)}
}
