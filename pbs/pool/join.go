package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"

	"go.uber.org/zap"
)

const (
	codesFolder     = "codes"
	computersFolder = "computers"
	revokedFolder   = "identity/revoked" // names that are good for nobody any more
	leftFolder      = "identity/left"    // by name: the keys of computers that have left by themselves
	namesFolder     = "identity/names"   // of all certificates that were given
)

// invitation is what is kept of a join code, under the hash of its secret.
type invitation struct {
	Until time.Time
	Name  string // of the computer that uses it, and what that proves; "" is nobody yet
	Proof string
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
		if code.Address, err = called(config.Listen); err != nil {
			return line.Code{}, fmt.Errorf("finding the address at which computers call: %w: write batch.address", err)
		}
	}
	data, err := json.Marshal(invitation{Until: until})
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

// called is where who listens at an address can be called: all interfaces are none, and this machine's own name for
// itself is of use to nobody else.
func called(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listen, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("listing this machine's addresses: %w", err)
	}
	best := "127.0.0.1"
	for _, one := range all {
		if n, is := one.(*net.IPNet); is && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || best == "127.0.0.1") {
			best = n.IP.String()
			if n.IP.To4() != nil {
				break
			}
		}
	}
	return net.JoinHostPort(best, port), nil
}

// join gives a certificate for a secret that is good, once; to who had it already with the same key and name, and did not hear of that, again.
func (s *System) join(j line.Join) (line.Joined, error) {
	if err := line.CheckNonce(j.Secret); err != nil {
		return line.Joined{}, err
	}
	if err := grid.CheckName(j.Name); err != nil {
		return line.Joined{}, fmt.Errorf("%w: the computer: %w", grid.ErrInvalid, err)
	}
	proof, err := line.Proof(j.Secret, j.Request)
	if err != nil {
		return line.Joined{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isProven(j.Name, proof) {
		if err := s.admit(j, proof); err != nil {
			return line.Joined{}, err
		}
	}
	if err := os.Remove(codeFile(s.config.Spool, j.Secret)); err != nil && !errors.Is(err, os.ErrNotExist) { // it is of no use to others
		s.log.Warn("a join code that was used cannot be removed", zap.Error(err))
	}
	der, err := s.identity.Certify(j.Name, j.Request)
	if err != nil {
		return line.Joined{}, err
	}
	s.computerOf(j.Name)
	return line.Joined{Certificate: der}, nil
}

// admit gives a computer its name, for a code that nobody else has used. The code is its from before it has the name; s.mu is held.
func (s *System) admit(j line.Join, proof string) error {
	file := codeFile(s.config.Spool, j.Secret)
	data, err := os.ReadFile(file)
	var i invitation
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	if err != nil || time.Now().After(i.Until) || i.Name != "" && (i.Name != j.Name || i.Proof != proof) {
		return fmt.Errorf("%w: the join code is not good, or was used, or is too old: ask the operator for another", grid.ErrForbidden)
	}
	if s.revoked(j.Name) {
		return fmt.Errorf("%w: a computer called %s was removed from the pool by its operator, for good: choose another name with --name", grid.ErrInvalid, j.Name)
	}
	if s.computers[j.Name] != nil || s.isTaken(j.Name) {
		return fmt.Errorf("%w: there is a computer called %s in the pool: choose another name with --name", grid.ErrInvalid, j.Name)
	}
	if _, err := s.identity.Certify(j.Name, j.Request); err != nil { // the code is still good for a request that is
		return err
	}
	i.Name, i.Proof = j.Name, proof
	if data, err = json.Marshal(i); err == nil {
		err = line.WriteFile(file, data)
	}
	if err == nil {
		err = line.WriteFile(s.nameFile(j.Name), []byte(proof))
	}
	if err != nil {
		return fmt.Errorf("%w: keeping the name of computer %s: %w", grid.ErrUnavailable, j.Name, err)
	}
	return nil
}

func (s *System) nameFile(name string) string {
	return filepath.Join(s.config.Spool, namesFolder, name)
}

// isProven tells that a name was given for a proof, and not taken away since.
func (s *System) isProven(name, proof string) bool {
	data, err := os.ReadFile(s.nameFile(name))
	return err == nil && string(data) == proof && !s.revoked(name)
}

// isTaken tells that a name was given, also by a pool that ended before its computer has registered; a file that a kill left empty gives none.
func (s *System) isTaken(name string) bool {
	data, err := os.ReadFile(s.nameFile(name))
	return err == nil && len(data) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

// allRevoked are the computers that were removed.
func (s *System) allRevoked() map[string]bool {
	out := map[string]bool{}
	list, err := os.ReadDir(filepath.Join(s.config.Spool, revokedFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("the computers that were removed cannot be listed", zap.Error(err))
	}
	for _, e := range list {
		out[e.Name()] = true
	}
	return out
}

func (s *System) revoked(name string) bool { return isRevoked(s.config.Spool, name) }

func isRevoked(spool, name string) bool {
	_, err := os.Stat(filepath.Join(spool, revokedFolder, name))
	return !errors.Is(err, os.ErrNotExist)
}

// hasLeft tells that a computer of that name and key has left by itself. The name may be another's now.
func (s *System) hasLeft(name string, key line.Fingerprint) bool {
	data, err := os.ReadFile(s.leftFile(name))
	return err != nil && !errors.Is(err, os.ErrNotExist) || slices.Contains(strings.Fields(string(data)), key.String())
}

// noteLeft writes down that the key is good no more.
func (s *System) noteLeft(name string, key line.Fingerprint) error {
	file := s.leftFile(name)
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = line.WriteFile(file, append(data, (key.String()+"\n")...))
	}
	if err != nil {
		return fmt.Errorf("%w: noting that computer %s has left: %w", grid.ErrUnavailable, name, err)
	}
	return nil
}

func (s *System) leftFile(name string) string { return filepath.Join(s.config.Spool, leftFolder, name) }

// Revoke removes a computer for good: its certificate is worth nothing from now on. It may be called while
// the pool runs. A name that no computer of the pool has is [grid.ErrNotFound].
func Revoke(spool, name string) error {
	if err := grid.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	names, err := joined(spool)
	switch {
	case err != nil:
		return err
	case isRevoked(spool, name):
		return fmt.Errorf("%w: computer %s was removed from the pool before", grid.ErrNotFound, name)
	case !slices.Contains(names, name):
		return fmt.Errorf("%w: no computer %s has joined the pool; there are: %s", grid.ErrNotFound, name, cmp.Or(strings.Join(names, ", "), "none"))
	}
	folder := filepath.Join(spool, revokedFolder)
	if err = os.MkdirAll(folder, 0o700); err == nil {
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
	for _, e := range c.held() {
		if e.of != nil {
			s.uncopy(e)
			continue
		}
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
