package transfer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"gbroker/grid"
	"gbroker/test/servers"
)

// sshd is a real server of sftp, and the credentials for it.
func sshd(t testing.TB) (address string, secret Secret) {
	t.Helper()
	s := servers.StartSFTP(t)
	return s.Address, Secret{For: "sftp://" + s.Address, User: s.User, PrivateKey: s.PrivateKey, HostKey: s.HostKey}
}

// s3 is a server of S3, and the credentials for it.
func s3(t *testing.T) (*s3mem.Backend, Secret) {
	t.Helper()
	s := servers.StartS3(t)
	return s.Objects, Secret{For: "s3://" + s.Bucket, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Endpoint: s.Endpoint, Region: s.Region}
}

// content is a file with these bytes.
func content(t *testing.T, b []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Every scheme that takes files: put, found, got, by every flag; nothing half is left.
func TestThereAndBack(t *testing.T) {
	folder := t.TempDir()
	c := hasty(Config{Idle: 10 * time.Second, Patience: time.Second, Read: []string{folder}, Write: []string{folder}})
	for name, start := range map[string]func(t *testing.T) (base string, secret Secret, appends bool, names func() []string){
		"file": func(t *testing.T) (string, Secret, bool, func() []string) {
			return "file://" + folder, Secret{}, true, func() []string { return listed(t, folder) }
		},
		"sftp": func(t *testing.T) (string, Secret, bool, func() []string) {
			address, secret := sshd(t)
			dir := t.TempDir()
			return "sftp://" + address + dir, secret, true, func() []string { return listed(t, dir) }
		},
		"s3": func(t *testing.T) (string, Secret, bool, func() []string) {
			backend, secret := s3(t)
			return "s3://bucket/deep", secret, false, func() (list []string) {
				l, err := backend.ListBucket("bucket", nil, gofakes3.ListBucketPage{})
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range l.Contents {
					list = append(list, o.Key)
				}
				return list
			}
		},
		"http": func(t *testing.T) (string, Secret, bool, func() []string) {
			w := servers.StartWeb(t)
			return "http://" + w.Address + "/up", Secret{}, false, func() []string { return listed(t, filepath.Join(w.Dir, "up")) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, secret, appends, names := start(t)
			p := Place{URI: base + "/f", Secrets: Secrets{secret}}
			if secret.For == "" {
				p.Secrets = nil
			}
			ctx := context.Background()
			if _, err := get(t, c, p); !errors.Is(err, grid.ErrNotFound) {
				t.Errorf("before it is there: %v", err)
			}
			for _, size := range []int{0, 10, 40 << 20} {
				b := random(size)
				if err := c.Put(ctx, p, content(t, b), int64(size), grid.Overwrite); err != nil {
					t.Fatal(err)
				}
				if f, err := c.Stat(ctx, p); err != nil || f.Size != int64(size) {
					t.Errorf("%+v %v", f, err)
				}
				if got, err := get(t, c, p); err != nil || !bytes.Equal(got, b) {
					t.Fatalf("%d of %d bytes: %v", len(got), size, err)
				}
			}
			if name != "http" { // which has no condition on nginx
				if err := c.Put(ctx, p, content(t, nil), 0, grid.DontOverwrite); !errors.Is(err, grid.ErrInvalid) {
					t.Errorf("what must not be overwritten is: %v", err)
				}
				kept := p
				kept.URI += "new"
				if err := c.Put(ctx, kept, content(t, []byte("new")), 3, grid.DontOverwrite); err != nil {
					t.Error(err)
				}
			}
			if err := c.Put(ctx, p, content(t, []byte("one")), 3, grid.Overwrite); err != nil {
				t.Fatal(err)
			}
			err := c.Put(ctx, p, content(t, []byte("two")), 3, grid.Append)
			got, _ := get(t, c, p)
			if appends && (err != nil || string(got) != "onetwo") || !appends && !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("appended: %q %v", got, err)
			}
			for _, n := range names() {
				if strings.Contains(n, "gbroker") {
					t.Errorf("left behind: %s", n)
				}
			}
		})
	}
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Connections to real servers that are cut are taken up where they broke.
func TestCutConnections(t *testing.T) {
	const size, after = 8 << 20, 2 << 20
	b := random(size)
	c := hasty(Config{Idle: 5 * time.Second, Patience: 5 * time.Second})
	before := func(t *testing.T, address string) *servers.Proxy {
		p := servers.StartProxy(t, address)
		p.Cut(2, after)
		return p
	}
	for name, start := range map[string]func(t *testing.T) (uri string, secret Secret, cut *servers.Proxy){
		"nginx": func(t *testing.T) (string, Secret, *servers.Proxy) {
			w := servers.StartWeb(t)
			if err := os.WriteFile(filepath.Join(w.Dir, "file"), b, 0o644); err != nil {
				t.Fatal(err)
			}
			cut := before(t, w.Address)
			return "http://" + cut.Address + "/file", Secret{}, cut
		},
		"sshd": func(t *testing.T) (string, Secret, *servers.Proxy) {
			address, secret := sshd(t)
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
			cut := before(t, address)
			secret.For = "sftp://" + cut.Address
			return "sftp://" + cut.Address + name, secret, cut
		},
		"s3": func(t *testing.T) (string, Secret, *servers.Proxy) {
			backend, secret := s3(t)
			if _, err := backend.PutObject("bucket", "f", map[string]string{"Last-Modified": "Mon, 2 Jan 2006 15:04:05 GMT"}, bytes.NewReader(b), size, nil); err != nil {
				t.Fatal(err)
			}
			cut := before(t, strings.TrimPrefix(secret.Endpoint, "http://"))
			secret.Endpoint = "http://" + cut.Address
			return "s3://bucket/f", secret, cut
		},
	} {
		t.Run(name, func(t *testing.T) {
			uri, secret, cut := start(t)
			p := Place{URI: uri}
			if secret.For != "" {
				p.Secrets = Secrets{secret}
			}
			got, err := get(t, c, p)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%d bytes: %v", len(got), err)
			}
			if n := cut.Passed.Load(); n > size+size/2 {
				t.Errorf("%d bytes came for a file of %d: it began anew", n, size)
			}
		})
	}
}

// A server of another key, and one that does not know us, are refused, and not asked again.
func TestSFTPRefusals(t *testing.T) {
	address, secret := sshd(t)
	other, stranger := secret, secret
	other.HostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0vDmBDc1dvkDz6wmvoVHM2S5hxQzUPpHRJXlQjJsOn"
	stranger.PrivateKey, stranger.Password = "", "hidden"
	unknown := secret
	unknown.HostKey = ""
	for name, s := range map[string]Secret{"key": other, "user": stranger, "unknown host": unknown} {
		if _, err := get(t, hasty(Config{Idle: 5 * time.Second}), Place{URI: "sftp://" + address + "/etc/hostname", Secrets: Secrets{s}}); !errors.Is(err, grid.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
