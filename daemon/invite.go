package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gbroker/grid"
	"gbroker/internal/localfs"
	"gbroker/overlay"
)

// maxInvitations is how many stand at once.
const maxInvitations = 16

// invitationsFile holds the invitations that stand; each is taken out when somebody has joined by it.
func (c *Config) invitationsFile() string {
	return filepath.Join(filepath.Dir(c.Neighbours), "invitations.json")
}

// Invitations are those that stand.
func (c *Config) Invitations() (list []overlay.Invitation, err error) {
	text, err := readBounded(c.invitationsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the invitations: %w: remove %s", err, c.invitationsFile())
	}
	now := time.Now().Unix()
	return slices.DeleteFunc(list, func(i overlay.Invitation) bool { return i.Until < now }), nil
}

// editInvitations changes the list under the folder's lock.
func editInvitations(ctx context.Context, c *Config, edit func([]overlay.Invitation) ([]overlay.Invitation, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	unlock, err := localfs.Lock(ctx, filepath.Dir(c.Neighbours))
	if err != nil {
		return err
	}
	defer unlock()
	list, err := c.Invitations()
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return localfs.Replace(c.invitationsFile(), text, 0o600)
}

// Invite makes an invitation to this site.
func Invite(ctx context.Context, c Config, i overlay.Invitation) error {
	return editInvitations(ctx, &c, func(list []overlay.Invitation) ([]overlay.Invitation, error) {
		if len(list) >= maxInvitations {
			return nil, fmt.Errorf("%w: %d invitations stand: wait until one runs out, or remove %s", grid.ErrInvalid, len(list), c.invitationsFile())
		}
		return append(list, i), nil
	})
}

// invited is what the file of the invitations says. Every handshake asks for it, also those of strangers, so the file is read again
// only where it is another.
type invited struct {
	mu   sync.Mutex
	file fs.FileInfo // of what was read; nil where there was none
	list []overlay.Invitation
}

// secrets are those of the invitations that stand.
func (v *invited) secrets(c *Config) (list []overlay.GridKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	file, err := os.Stat(c.invitationsFile())
	if err != nil {
		v.file, v.list = nil, nil
		return nil
	}
	if v.file == nil || !os.SameFile(v.file, file) || !v.file.ModTime().Equal(file.ModTime()) || v.file.Size() != file.Size() {
		if v.list, err = c.Invitations(); err != nil {
			v.file, v.list = nil, nil // the command says so; it is read again
			return nil
		}
		v.file = file
	}
	now := time.Now().Unix()
	for _, i := range v.list {
		if i.Until >= now {
			list = append(list, i.Secret)
		}
	}
	return list
}

// admit takes in who has shown the secret of an invitation. That is used up once he is written down, so that a file that cannot be
// changed costs nobody his code; one joins at a time, so that two do not by the same.
func (s *site) admit(secret overlay.GridKey, m grid.Member) error {
	s.admitMu.Lock()
	defer s.admitMu.Unlock()
	if err := grid.CheckName(string(m.Name)); err != nil {
		return err
	}
	of := func(i overlay.Invitation) bool { return i.Secret == secret }
	open, err := s.cfg.Invitations()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(open, of) {
		return fmt.Errorf("%w: the code was used already", grid.ErrForbidden)
	}
	again, err := AddNeighbour(s.ctx, s.cfg, m)
	if err != nil {
		return err
	}
	err = editInvitations(s.ctx, &s.cfg, func(list []overlay.Invitation) ([]overlay.Invitation, error) {
		return slices.DeleteFunc(list, of), nil
	})
	if err != nil && !again {
		err = errors.Join(err, RemoveNeighbour(s.ctx, s.cfg, m.Name))
	}
	return err
}
