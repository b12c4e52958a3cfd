package agent

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// known is what is kept of the pool.
type known struct {
	Address     string
	Fingerprint string
}

func poolFile(dir string) string { return filepath.Join(dir, "pool.json") }

// hasJoined tells that the folder is that of a computer of some pool.
func hasJoined(dir string) bool {
	_, err := os.Stat(poolFile(dir))
	return !errors.Is(err, fs.ErrNotExist)
}

func identityFolder(dir string) string { return filepath.Join(dir, "identity") }

// Joined is nil where the folder is that of a computer of some pool.
func Joined(dir string) error {
	if hasJoined(dir) {
		return nil
	}
	return fmt.Errorf("%w: %s has joined no pool: gbroker-agent join --dir %s CODE, with a code of the pool's operator", grid.ErrNotFound, dir, dir)
}

// Join makes this computer one of a pool, by a code that is good once.
func Join(ctx context.Context, dir, name, code string) error {
	c, err := line.ParseCode(code)
	if err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if _, err := os.Stat(poolFile(dir)); err == nil {
		return fmt.Errorf("%w: %s has joined a pool already: `gbroker-agent leave` ends that", grid.ErrInvalid, dir)
	}
	key, err := line.KeepKey(identityFolder(dir))
	if err != nil {
		return err
	}
	request, err := line.Request(key)
	if err != nil {
		return err
	}
	var joined line.Joined
	err = newClient(c.Address, c.Fingerprint, nil).ask(ctx, talkLimit, line.JoinPath,
		line.Join{Version: line.Version, Secret: c.Secret, Name: name, Request: request}, &joined)
	if err != nil {
		return fmt.Errorf("joining the pool at %s: %w", c.Address, err)
	}
	return keep(dir, key, joined, known{c.Address, c.Fingerprint.String()})
}

func keep(dir string, key *ecdsa.PrivateKey, joined line.Joined, k known) error {
	if _, err := line.SaveIdentity(identityFolder(dir), key, joined.Certificate); err != nil {
		return err
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := line.WriteFile(poolFile(dir), data); err != nil {
		return fmt.Errorf("keeping where the pool is: %w", err)
	}
	return nil
}

// open reads who this computer is, and where its pool.
func open(dir string) (*client, *line.Identity, error) {
	data, err := os.ReadFile(poolFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, Joined(dir)
	}
	var k known
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading where the pool is: %w", err)
	}
	f, err := line.ParseFingerprint(k.Fingerprint)
	if err != nil {
		return nil, nil, err
	}
	id, err := line.LoadIdentity(identityFolder(dir))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the identity of this computer: %w", err)
	}
	return newClient(k.Address, f, id), id, nil
}

// Leave takes this computer out of its pool for good. What it ran there counts as cut off.
func Leave(ctx context.Context, dir string) error {
	c, _, err := open(dir)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, talkLimit, line.UnregisterPath, line.Ask{}, &struct{}{}); err != nil {
		return fmt.Errorf("leaving the pool: %w", err)
	}
	return errors.Join(os.Remove(poolFile(dir)), os.RemoveAll(identityFolder(dir)))
}
