package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// Passes of a user are kept in $XDG_CONFIG_HOME/gbroker: key, the private key (0600), and passes/SITE.json, one for each
// site where jobs were handed in.

func passFolder() (string, error) {
	base, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("finding the folder for passes: %w", err)
	}
	return filepath.Join(base, "gbroker"), nil
}

// userKey reads the user's key; with create it makes one where there is none.
func userKey(folder string, create bool) (ed25519.PrivateKey, error) {
	file := filepath.Join(folder, "key")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err = makeKey(folder, file); err == nil {
			text, err = os.ReadFile(file)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key of your passes: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the key of your passes, %s, is damaged: remove it and run `gclient pass` again", file)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// makeKey makes a key, whole, unless there is one: that of another command, run at the same time, stays, as its pass names it.
func makeKey(folder, file string) error {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	mine := file + "." + rand.Text()
	if err := localfs.Create(mine, []byte(base64.StdEncoding.EncodeToString(seed)+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(mine)
	if err := os.Link(mine, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return localfs.Sync(folder)
}

// keepPass writes a pass beside the others. One that another broker has given is not replaced: a broker may call itself as it likes.
func keepPass(folder string, pass api.Pass) (file string, err error) {
	if err := grid.CheckName(string(pass.Site)); err != nil {
		return "", err
	}
	file = filepath.Join(folder, "passes", string(pass.Site)+".json")
	var old api.Pass
	switch text, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("keeping the pass: %w", err)
	case json.Unmarshal(text, &old) == nil && old.Home != pass.Home && time.Now().Unix() <= old.Until:
		return "", fmt.Errorf("%w: your pass of %s was given by the broker %s, and the one here, which calls itself so too, is %s: remove %s if that is the one you mean now",
			grid.ErrInvalid, pass.Site, old.Home, pass.Home, file)
	}
	text, err := json.MarshalIndent(pass, "", "  ")
	if err != nil {
		return "", err
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
		err = localfs.Replace(file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keeping the pass: %w", err)
	}
	return file, nil
}

// show makes the header for a request about a job or a group whose site has given a pass.
func show(method, uri string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(uri, "/v1/"), "/", 3)
	if len(parts) < 2 || parts[0] != "jobs" && parts[0] != "groups" {
		return "", nil
	}
	site, _, named := strings.Cut(parts[1], ".")
	folder, err := passFolder()
	if !named || err != nil || grid.CheckName(site) != nil {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "passes", site+".json"))
	if err != nil {
		return "", nil // no pass: the broker answers for what it knows
	}
	var p api.Pass
	if err := json.Unmarshal(text, &p); err != nil {
		return "", fmt.Errorf("the pass of %s is damaged (%w): get a new one with `gclient pass` there", site, err)
	}
	key, err := userKey(folder, false)
	if err != nil {
		return "", err
	}
	return p.Show(key, time.Now(), method, uri)
}

func (p *program) pass() *cobra.Command {
	return &cobra.Command{
		Use:   "pass",
		Short: "Get a pass, to ask for your jobs of this site from any site of the grid",
		Long: `Get a pass from this broker: its word, signed, that you are its user of that name. It is kept
in $XDG_CONFIG_HOME/gbroker/passes, beside the private key that it names. From then on status, wait, cancel,
output, logs, explain and history of jobs that were handed in here work at any broker of the grid; each request is signed with that
key, and answered by this site; while it is down, by one that has, or once had, the job, with a warning that it is
unconfirmed. A pass holds for 90 days; who has key and pass is
you: keep them.

The brokers must share a grid key (grid_key in neighbours.yaml).`,
		Example: "  gclient pass\n  gclient --broker unix:///elsewhere/gbroker.sock status xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := passFolder()
			if err != nil {
				return err
			}
			key, err := userKey(folder, true)
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			pass, err := c.Pass(cmd.Context(), key.Public().(ed25519.PublicKey))
			if err != nil {
				return err
			}
			file, err := keepPass(folder, pass)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: you are %s of %s, until %s\n", file, printable(pass.User), pass.Site, time.Unix(pass.Until, 0).Format(time.DateOnly))
			return nil
		},
	}
}
