package transfer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/crypto/ssh"

	"gbroker/grid"
)

// tool finds a daemon's program, which is not on every user's PATH.
func tool(t testing.TB, name, pkg string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skipf("there is no %s here: as root, apt-get install %s", name, pkg)
	return ""
}

// port is one that is free now.
func port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

// daemon runs a program until the test ends, and waits until it listens.
func daemon(t testing.TB, address, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	output := func() string {
		text, _ := os.ReadFile(said.Name())
		return string(text)
	}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("%s does not run here: %v: %s", program, err, output())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %s", program, output())
		}
	}
}

// sshd is a real server of sftp, and the credentials for it.
func sshd(t testing.TB) (address string, secret Secret) {
	t.Helper()
	program := tool(t, "sshd", "openssh-server")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd as root needs /run/sshd: %v", err)
		}
	}
	dir := t.TempDir()
	key := func(name string) (public string, private []byte) {
		pub, priv, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		block, err := ssh.MarshalPrivateKey(priv, "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := ssh.NewPublicKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		private = pem.EncodeToMemory(block)
		if err := os.WriteFile(filepath.Join(dir, name), private, 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(p))), private
	}
	hostKey, _ := key("host")
	userKey, private := key("user")
	p := port(t)
	config := fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n", p, dir, dir)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "authorized"), []byte(userKey+"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	address = net.JoinHostPort("127.0.0.1", p)
	daemon(t, address, program, "-D", "-e", "-f", filepath.Join(dir, "config"))
	return address, Secret{For: "sftp://" + address, User: me.Username, PrivateKey: string(private), HostKey: hostKey}
}

// s3 is a server of S3 in memory.
func s3(t *testing.T) (*s3mem.Backend, Secret) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return backend, Secret{For: "s3://bucket", AccessKey: "key", SecretKey: "hidden", Endpoint: server.URL, Region: "us-east-1"}
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
			address, dir := nginx(t)
			return "http://" + address + "/up", Secret{}, false, func() []string { return listed(t, filepath.Join(dir, "up")) }
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

// nginx is a real web server over a folder; PUT below /up.
func nginx(t *testing.T) (address, dir string) {
	t.Helper()
	program := tool(t, "nginx", "nginx-light")
	dir = t.TempDir()
	address = "127.0.0.1:" + port(t)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := fmt.Sprintf(`%s daemon off; pid %[2]s/pid; error_log %[2]s/log;
events {}
http { access_log off; client_max_body_size 0; client_body_temp_path %[2]s/tmp; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
server { listen %s; root %[2]s; location /up { dav_methods PUT; create_full_put_path on; } } }`, user, dir, address)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600), os.Mkdir(filepath.Join(dir, "up"), 0o700)); err != nil {
		t.Fatal(err)
	}
	daemon(t, address, program, "-c", filepath.Join(dir, "config"), "-e", filepath.Join(dir, "log"))
	return address, dir
}

// cutter passes connections on, and cuts each after some bytes of answers, as long as there are cuts.
func cutter(t *testing.T, to string, after int64, cuts int32) (address string, passed *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	passed = new(atomic.Int64)
	var left atomic.Int32
	left.Store(cuts)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer up.Close()
				go func() {
					io.Copy(up, c)
					up.Close()
				}()
				most := int64(1 << 50)
				if left.Add(-1) >= 0 {
					most = after
				}
				n, _ := io.Copy(c, io.LimitReader(up, most))
				passed.Add(n)
			}()
		}
	}()
	return l.Addr().String(), passed
}

// Connections to real servers that are cut are taken up where they broke.
func TestCutConnections(t *testing.T) {
	const size, after = 8 << 20, 2 << 20
	b := random(size)
	c := hasty(Config{Idle: 5 * time.Second, Patience: 5 * time.Second})
	for name, start := range map[string]func(t *testing.T) (uri string, secret Secret, passed *atomic.Int64){
		"nginx": func(t *testing.T) (string, Secret, *atomic.Int64) {
			address, dir := nginx(t)
			if err := os.WriteFile(filepath.Join(dir, "file"), b, 0o644); err != nil {
				t.Fatal(err)
			}
			cut, passed := cutter(t, address, after, 2)
			return "http://" + cut + "/file", Secret{}, passed
		},
		"sshd": func(t *testing.T) (string, Secret, *atomic.Int64) {
			address, secret := sshd(t)
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
			cut, passed := cutter(t, address, after, 2)
			secret.For = "sftp://" + cut
			return "sftp://" + cut + name, secret, passed
		},
		"s3": func(t *testing.T) (string, Secret, *atomic.Int64) {
			backend, secret := s3(t)
			if _, err := backend.PutObject("bucket", "f", map[string]string{"Last-Modified": "Mon, 2 Jan 2006 15:04:05 GMT"}, bytes.NewReader(b), size, nil); err != nil {
				t.Fatal(err)
			}
			cut, passed := cutter(t, strings.TrimPrefix(secret.Endpoint, "http://"), after, 2)
			secret.Endpoint = "http://" + cut
			return "s3://bucket/f", secret, passed
		},
	} {
		t.Run(name, func(t *testing.T) {
			uri, secret, passed := start(t)
			p := Place{URI: uri}
			if secret.For != "" {
				p.Secrets = Secrets{secret}
			}
			got, err := get(t, c, p)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%d bytes: %v", len(got), err)
			}
			if n := passed.Load(); n > size+size/2 {
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
