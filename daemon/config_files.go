package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/outbound"
	"gbroker/stage/transfer"
)

// FilesConfig says where inputs by URI may come from, and outputs go.
type FilesConfig struct {
	// Read and Write are folders below which file: may name files. Users read there what the daemon
	// can read; where they are mapped to accounts, what theirs can.
	Read, Write []string
	// Watch is the folder below which the workflows of users of this site may watch others, each user in Watch/USER; "" is none.
	Watch string
	// KnownHosts has the keys of sftp servers, as OpenSSH writes them; "" leaves those to the users.
	KnownHosts string
	// Credentials is a file of those that all users of this site may use, of mode 0600; "" is none.
	Credentials string
	// Patience is how long a place is tried before the site says that it cannot have the file. A
	// short one sends jobs elsewhere for every hiccup, a long one holds them where a place is down.
	Patience time.Duration
	// Cache bounds the inputs from other sites that are kept for other jobs of the same user, in bytes; 0 keeps none.
	Cache int64
}

const (
	maxFolders  = 64
	maxNetworks = 64
)

func filesFields(d *document, c *Config) []field {
	f := &c.Files
	folders := func(what string, to *[]string) func(ast.Node) {
		return func(n ast.Node) {
			*to = nil
			d.unique(n, what, maxFolders, c.path, func(s string) { *to = append(*to, s) })
		}
	}
	return []field{
		{name: "read", aka: "folders allow sources", list: true, read: folders("files.read", &f.Read)},
		{name: "write", aka: "targets writable", list: true, read: folders("files.write", &f.Write)},
		{name: "watch", aka: "incoming", read: func(n ast.Node) { parsed(d, n, "files.watch", &f.Watch, c.path) }},
		{name: "known_hosts", aka: "hosts keys", read: func(n ast.Node) { parsed(d, n, "files.known_hosts", &f.KnownHosts, c.path) }},
		{name: "credentials", aka: "secrets passwords", read: func(n ast.Node) { parsed(d, n, "files.credentials", &f.Credentials, c.path) }},
		{name: "cache", aka: "keep", read: func(n ast.Node) {
			parsed(d, n, "files.cache", &f.Cache, within(0, grid.MaxMemory, grid.FormatSize, grid.ParseSize))
		}},
		{name: "patience", aka: "retry timeout", read: func(n ast.Node) {
			parsed(d, n, "files.patience", &f.Patience, within(time.Second, 24*time.Hour, grid.FormatSpan, grid.ParseSpan))
		}},
	}
}

// outboundNetworks reads the networks that users may reach by this site although they are not public.
func (d *document) outboundNetworks(n ast.Node, to *[]netip.Prefix) {
	*to = nil
	d.list(n, "outbound", maxNetworks, true, func(n ast.Node) {
		var p netip.Prefix
		if parsed(d, n, "outbound", &p, outbound.ParseNetwork); p.IsValid() {
			*to = append(*to, p)
		}
	})
}

// places is what brings files by URI.
func (c Config) places() (*transfer.Client, error) {
	secrets, err := readCredentials(c.Files.Credentials)
	if err != nil {
		return nil, err
	}
	return transfer.New(transfer.Config{
		Policy: outbound.Policy{Allow: c.Outbound}, Read: c.Files.Read, Write: c.Files.Write, As: c.as(),
		KnownHosts: c.Files.KnownHosts, Secrets: secrets, Patience: c.Files.Patience,
	}), nil
}

// readCredentials reads the site's own, which nobody else may.
func readCredentials(file string) (transfer.Secrets, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readSecret("site", file, transfer.MaxSecrets)
	if err != nil {
		return nil, err
	}
	secrets, err := transfer.ParseSecrets(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return secrets, nil
}

// readSecret reads a file of credentials that nobody but the daemon's user may.
func readSecret(of, file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the %s: %w", of, err)
	}
	if info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%w: the credentials of the %s, %s, must be a file of mode 0600 and of at most %d bytes: chmod 600", grid.ErrInvalid, of, file, most)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("reading the credentials of the %s: they must belong to the user of the daemon: %w", of, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the %s: %w", of, err)
	}
	return text, nil
}
