package line

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lifetime of certificates: computers are removed by name, not by time.
const lifetime = 20 * 366 * 24 * time.Hour

// Identity is a key with its certificate.
type Identity struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// files of an identity.
const (
	keyFile         = "key.pem"
	certificateFile = "certificate.pem"
)

// OpenPool reads the identity of a pool, and makes it where there is none.
func OpenPool(dir string) (*Identity, error) {
	id, err := LoadIdentity(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return id, err
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	form := form("gbroker pool")
	form.IsCA, form.BasicConstraintsValid = true, true
	form.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("making the pool's certificate: %w", err)
	}
	return SaveIdentity(dir, key, der)
}

// NewKey makes a key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func form(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // it reads no error
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(lifetime),
	}
}

// Request asks for a certificate for a key.
func Request(key *ecdsa.PrivateKey) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// readRequest reads a request that is signed with its own key.
func readRequest(request []byte) (*x509.CertificateRequest, error) {
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the request for a certificate: %w", ErrLimit, err)
	}
	return r, nil
}

// Proof is the same for every request with a secret and a key, and for no other.
func Proof(secret string, request []byte) (string, error) {
	r, err := readRequest(request)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(secret+"\n"), r.RawSubjectPublicKeyInfo...))
	return hex.EncodeToString(sum[:]), nil
}

// Certify makes the certificate of a computer for the key of its request.
func (id *Identity) Certify(name string, request []byte) (der []byte, err error) {
	r, err := readRequest(request)
	if err != nil {
		return nil, err
	}
	key, is := r.PublicKey.(*ecdsa.PublicKey)
	if !is || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key of the request is none of P-256", ErrLimit)
	}
	f := form(name)
	f.KeyUsage, f.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return x509.CreateCertificate(rand.Reader, f, id.certificate, key, id.key)
}

// LoadIdentity reads an identity; the error is os.ErrNotExist where there is none.
func LoadIdentity(dir string) (*Identity, error) {
	key, err := readPEM(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	cert, err := readPEM(filepath.Join(dir, certificateFile))
	if err != nil {
		return nil, err
	}
	k, err := x509.ParseECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("reading the key in %s: %w", dir, err)
	}
	c, err := x509.ParseCertificate(cert)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate in %s: %w", dir, err)
	}
	if public, is := c.PublicKey.(*ecdsa.PublicKey); !is || !public.Equal(&k.PublicKey) {
		return nil, fmt.Errorf("the key and the certificate in %s do not belong together", dir)
	}
	return &Identity{k, c}, nil
}

// KeepKey is the key in a folder; there is one afterwards. Who joins has it before it asks: an answer that is lost can be asked for again.
func KeepKey(dir string) (*ecdsa.PrivateKey, error) {
	name := filepath.Join(dir, keyFile)
	data, err := readPEM(name)
	if err == nil {
		return x509.ParseECPrivateKey(data)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	if data, err = x509.MarshalECPrivateKey(key); err != nil {
		return nil, err
	}
	return key, errors.Join(os.MkdirAll(dir, 0o700), WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: data})))
}

// SaveIdentity writes an identity, the key for this account alone.
func SaveIdentity(dir string, key *ecdsa.PrivateKey, certificate []byte) (*Identity, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name, kind string
		data       []byte
	}{{certificateFile, "CERTIFICATE", certificate}, {keyFile, "EC PRIVATE KEY", k}} {
		var b bytes.Buffer
		if err := pem.Encode(&b, &pem.Block{Type: f.kind, Bytes: f.data}); err != nil {
			return nil, err
		}
		if err := WriteFile(filepath.Join(dir, f.name), b.Bytes()); err != nil {
			return nil, fmt.Errorf("writing an identity: %w", err)
		}
	}
	return LoadIdentity(dir)
}

// WriteFile makes a file of this account appear whole and durably.
func WriteFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp.*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder makes the names in a folder durable, where that can be done: not every system syncs folders, and one that may be written
// need not be one that may be read.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	for _, cannot := range []error{fs.ErrPermission, errors.ErrUnsupported, syscall.EINVAL} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	return err
}

func readPEM(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s has no PEM block", name)
	}
	return block.Bytes, nil
}

// Fingerprint is by what the identity is known.
func (id *Identity) Fingerprint() Fingerprint { return fingerprint(id.certificate) }

// Name is whose it is.
func (id *Identity) Name() string { return id.certificate.Subject.CommonName }

// KeyOf is the fingerprint of the key that a certificate is for.
func KeyOf(c *x509.Certificate) Fingerprint { return fingerprint(c) }

func fingerprint(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

func (id *Identity) pair() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{id.certificate.Raw}, PrivateKey: id.key, Leaf: id.certificate}
}

// Server is how a pool takes connections: a computer shows its certificate, if it has one.
func (id *Identity) Server() *tls.Config {
	known := x509.NewCertPool()
	known.AddCert(id.certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.pair()},
		ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: known,
	}
}

// Client is how a computer reaches a pool that is known by a fingerprint; id is nil before it has joined.
func Client(pool Fingerprint, id *Identity) *tls.Config {
	c := &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // no authority is asked: the key itself is pinned
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || fingerprint(s.PeerCertificates[0]) != pool {
				return fmt.Errorf("whoever answers is not the pool that was joined: its fingerprint is not %s", pool)
			}
			return nil
		},
		ClientSessionCache: tls.NewLRUClientSessionCache(4),
	}
	if id != nil {
		c.Certificates = []tls.Certificate{id.pair()}
	}
	return c
}
