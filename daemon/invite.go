package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
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

// secrets are those of the invitations that stand.
func (s *site) secrets() (list []overlay.GridKey) {
	invitations, err := s.cfg.Invitations()
	if err != nil {
		return nil // the command says so
	}
	for _, i := range invitations {
		list = append(list, i.Secret)
	}
	return list
}

// admit takes in who has shown the secret of an invitation, which is used up by that.
func (s *site) admit(secret overlay.GridKey, m grid.Member) error {
	if err := grid.CheckName(string(m.Name)); err != nil {
		return err
	}
	err := editInvitations(s.ctx, &s.cfg, func(list []overlay.Invitation) ([]overlay.Invitation, error) {
		k := slices.IndexFunc(list, func(i overlay.Invitation) bool { return i.Secret == secret })
		if k < 0 {
			return nil, fmt.Errorf("%w: the code was used already", grid.ErrForbidden)
		}
		return slices.Delete(list, k, k+1), nil
	})
	if err != nil {
		return err
	}
	_, err = AddNeighbour(s.ctx, s.cfg, m)
	return err
}
