package overlay

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"gbroker/grid"
)

// maxKeyFile bounds the key file, in bytes.
const maxKeyFile = 4096

// Key is a broker's identity: an Ed25519 private key, from which its peer ID follows.
type Key struct{ private crypto.PrivKey }

// PeerIDOf is the peer ID that belongs to the key; "" for the zero Key.
func PeerIDOf(k Key) grid.PeerID {
	if k.private == nil {
		return ""
	}
	id, err := peer.IDFromPrivateKey(k.private)
	if err != nil {
		return ""
	}
	return grid.PeerID(id.String())
}

// NewKey makes a key that no file holds.
func NewKey() (Key, error) {
	private, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("making an identity key: %w", err)
	}
	return Key{private}, nil
}

// CreateKey makes a key and writes it to path with mode 0600: one line, the base64
// of libp2p's key message. A file that exists is never overwritten: the error is
// then fs.ErrExist.
func CreateKey(path string) (Key, error) {
	k, err := NewKey()
	if err != nil {
		return Key{}, err
	}
	raw, err := crypto.MarshalPrivateKey(k.private)
	if err != nil {
		return Key{}, fmt.Errorf("encoding the identity key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("the identity key %s exists and is kept: move it away to get a new identity: %w", path, fs.ErrExist)
	}
	if err != nil {
		return Key{}, fmt.Errorf("creating the identity key: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return Key{}, errors.Join(fmt.Errorf("writing the identity key %s: %w", path, err), os.Remove(path))
	}
	return k, nil
}

// LoadKey reads the key that CreateKey wrote. A file that others may read is refused.
func LoadKey(path string) (Key, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return Key{}, fmt.Errorf("reading the identity key: %w: run this as the daemon's user", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, fmt.Errorf("reading the identity key: %w: restore it from a backup, or make a new site with `gbroker init`", err)
	}
	if err != nil {
		return Key{}, fmt.Errorf("reading the identity key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("reading the identity key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Key{}, fmt.Errorf("the identity key %s has mode %04o and can be read by others: chmod 600 it", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return Key{}, fmt.Errorf("reading the identity key %s: %w", path, err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return Key{}, fmt.Errorf("the identity key %s is damaged (%w): restore it from a backup", path, err)
	}
	private, err := crypto.UnmarshalPrivateKey(raw)
	if err != nil {
		return Key{}, fmt.Errorf("the identity key %s is damaged (%w): restore it from a backup", path, err)
	}
	if private.Type() != crypto.Ed25519 {
		return Key{}, fmt.Errorf("the identity key %s is of type %s: only Ed25519 is used", path, private.Type())
	}
	return Key{private}, nil
}

// Sign signs a text with the key; Verify is its counterpart.
func (k Key) Sign(text []byte) ([]byte, error) {
	if k.private == nil {
		return nil, errors.New("there is no identity key to sign with")
	}
	return k.private.Sign(text)
}

// Verify tells whether signature is by's of the text. The peer ID holds the public
// key, so nobody is asked.
func Verify(by grid.PeerID, text, signature []byte) bool {
	p, err := decodePeer(by)
	if err != nil {
		return false
	}
	key, err := p.ExtractPublicKey()
	if err != nil {
		return false
	}
	ok, err := key.Verify(text, signature)
	return ok && err == nil
}

// CheckPeerID says why id is no peer ID of a broker.
func CheckPeerID(id grid.PeerID) error {
	_, err := decodePeer(id)
	return err
}

// decodePeer parses a peer ID in its one written form.
func decodePeer(id grid.PeerID) (peer.ID, error) {
	if len(id) > 128 {
		return "", fmt.Errorf("the peer ID %.20q… has %d characters: it looks like 12D3KooW and 44 more", id, len(id))
	}
	p, err := peer.Decode(string(id))
	if err != nil || p.String() != string(id) {
		return "", fmt.Errorf("%q is no peer ID: copy the line that `gbroker id` prints at that site", id)
	}
	if key, err := p.ExtractPublicKey(); err != nil || key.Type() != crypto.Ed25519 {
		return "", fmt.Errorf("the peer ID %s does not hold an Ed25519 key: copy the line that `gbroker id` prints at that site", id)
	}
	return p, nil
}
