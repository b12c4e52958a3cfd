package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

const (
	codesFolder   = "codes"
	revokedFolder = "identity/revoked"
	namesFolder   = "identity/names" // of all certificates that were given
)

// invitation is what is kept of a join code, under the hash of its secret.
type invitation struct {
	Until time.Time
}

func codeFile(spool, secret string) string {
	h := sha256.Sum256([]byte(secret))
	return filepath.Join(spool, codesFolder, hex.EncodeToString(h[:]))
}

// Invite makes a join code, good once and until an instant. It may be called while the pool runs.
func Invite(config Config, until time.Time) (line.Code, error) {
	id, err := line.OpenPool(filepath.Join(config.Spool, "identity"))
	if err != nil {
		return line.Code{}, fmt.Errorf("opening the identity of the pool: %w", err)
	}
	code := line.Code{Address: config.Address, Fingerprint: id.Fingerprint(), Secret: line.Nonce()}
	if code.Address == "" {
		code.Address = config.Listen
	}
	data, err := json.Marshal(invitation{until})
	if err == nil {
		err = os.MkdirAll(filepath.Join(config.Spool, codesFolder), 0o700)
	}
	if err == nil {
		err = line.WriteFile(codeFile(config.Spool, code.Secret), data)
	}
	if err != nil {
		return code, fmt.Errorf("keeping a join code: %w", err)
	}
	return code, nil
}

// join gives a certificate for a secret that is good, once.
func (s *System) join(j line.Join) (line.Joined, error) {
	if err := line.CheckNonce(j.Secret); err != nil {
		return line.Joined{}, err
	}
	if err := grid.CheckName(j.Name); err != nil {
		return line.Joined{}, fmt.Errorf("%w: the computer: %w", grid.ErrInvalid, err)
	}
	name := codeFile(s.config.Spool, j.Secret)
	data, err := os.ReadFile(name)
	var i invitation
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	if err != nil || time.Now().After(i.Until) {
		return line.Joined{}, fmt.Errorf("%w: the join code is not good, or was used, or is too old: ask the operator for another", grid.ErrForbidden)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.computers[j.Name]; c != nil {
		return line.Joined{}, taken(j.Name)
	}
	if s.revoked(j.Name) {
		return line.Joined{}, fmt.Errorf("%w: a computer called %s was removed from the pool: choose another name with --name", grid.ErrInvalid, j.Name)
	}
	der, err := s.identity.Certify(j.Name, j.Request)
	if err != nil {
		return line.Joined{}, err
	}
	if err := s.nameFor(j.Name); err != nil {
		return line.Joined{}, err
	}
	if err := os.Remove(name); err != nil { // who removes it has used it
		os.Remove(s.nameFile(j.Name))
		return line.Joined{}, fmt.Errorf("%w: the join code was used", grid.ErrForbidden)
	}
	s.computerOf(j.Name)
	return line.Joined{Certificate: der}, nil
}

func (s *System) nameFile(name string) string {
	return filepath.Join(s.config.Spool, namesFolder, name)
}

// nameFor keeps a name for one computer, also of a pool that ends before that has registered.
func (s *System) nameFor(name string) error {
	f, err := os.OpenFile(s.nameFile(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return taken(name)
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: keeping the name of computer %s: %w", grid.ErrUnavailable, name, err)
	}
	return nil
}

func taken(name string) error {
	return fmt.Errorf("%w: there is a computer called %s in the pool: choose another name with --name", grid.ErrInvalid, name)
}

func (s *System) revoked(name string) bool { return isRevoked(s.config.Spool, name) }

func isRevoked(spool, name string) bool {
	_, err := os.Stat(filepath.Join(spool, revokedFolder, name))
	return !errors.Is(err, os.ErrNotExist)
}

// Revoke removes a computer for good: its certificate is worth nothing from now on. It may be called while
// the pool runs.
func Revoke(spool, name string) error {
	if err := grid.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	folder := filepath.Join(spool, revokedFolder)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = line.WriteFile(filepath.Join(folder, name), nil)
	}
	if err != nil {
		return fmt.Errorf("removing computer %s from the pool: %w", name, err)
	}
	return nil
}

// remove forgets a computer and what it had.
func (s *System) remove(c *computer, why string) {
	s.mu.Lock()
	var had []*entry
	for _, e := range c.jobs {
		if e.stint == "" {
			s.again(e)
			continue
		}
		had = append(had, e)
	}
	c.registered = false
	s.mu.Unlock()
	for _, e := range had {
		s.cutOff(e, why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.computers, c.name)
	os.Remove(s.computerFile(c.name))
}
