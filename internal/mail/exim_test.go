package mail

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startExim runs exim, which takes mail for example.org but for nobody there, and puts it into the folder given.
func startExim(t *testing.T) (config, folder string, port int, authority []byte) {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/exim4")
	account, bad := user.Lookup("Debian-exim")
	if err != nil || bad != nil || os.Geteuid() != 0 {
		t.Skip("there is no exim4 here, or not for us: as root, apt-get install exim4-daemon-light")
	}
	dir, err := os.MkdirTemp("", "gb-exim") // which its account can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	certificate, key := borrowed(t)
	config, folder = filepath.Join(dir, "config"), filepath.Join(dir, "mail")
	text := fmt.Sprintf(`primary_hostname = mx.example.org
local_interfaces = 127.0.0.1
daemon_smtp_ports = %[2]d
spool_directory = %[1]s/spool
log_file_path = %[1]s/log-%%s
pid_file_path = %[1]s/pid
tls_certificate = %[1]s/cert
tls_privatekey = %[1]s/key
tls_advertise_hosts = *
deliver_drop_privilege
keep_environment =
acl_smtp_rcpt = check
begin acl
check:
  deny local_parts = nobody
       message = no such user
  deny !encrypted = *
       message = not in the open
  accept domains = example.org
  deny message = relay not permitted
begin routers
all:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  directory = %[1]s/mail
  maildir_format
  envelope_to_add
  user = Debian-exim
`, dir, port)
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	err = errors.Join(os.WriteFile(config, []byte(text), 0o644), os.WriteFile(dir+"/cert", certificate, 0o644), os.WriteFile(dir+"/key", key, 0o600),
		os.Mkdir(dir+"/spool", 0o700), os.Mkdir(folder, 0o700), os.Chmod(dir, 0o755))
	for _, name := range []string{dir, dir + "/key", dir + "/spool", folder} {
		err = errors.Join(err, os.Chown(name, uid, gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-C", config, "-bdf")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	eventually(t, "exim4 listens", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("exim4 does not run here: %v: %s", err, said.String())
		default:
		}
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return config, folder, port, certificate
}

// eventually waits for what comes true soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// borrowed is the certificate for the loopback of package httptest, and its key.
func borrowed(t *testing.T) (certificate, key []byte) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	of := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(of.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// A mail server as sites have them gets mail by SMTP over TLS, and by its sendmail; who is refused for good is told apart.
func TestExim(t *testing.T) {
	t.Parallel()
	config, folder, port, authority := startExim(t)
	sendmail := filepath.Join(filepath.Dir(config), "sendmail")
	if err := os.WriteFile(sendmail, fmt.Appendf(nil, "#!/bin/sh\nexec /usr/sbin/exim4 -C %s \"$@\"\n", config), 0o755); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	server := Server{From: "gbroker@site.example.org", Host: "127.0.0.1", Port: port, Security: StartTLS, Authorities: pool}
	for i, way := range []interface {
		Try(ctx context.Context) error
		Send(ctx context.Context, m Message) error
	}{server, Program{From: "gbroker@site.example.org", Path: sendmail}} {
		m := Message{To: "alice@example.org", Subject: fmt.Sprintf("job %d ends", i), Text: "well\n.\nand more\n"}
		if err := errors.Join(way.Try(t.Context()), way.Send(t.Context(), m)); err != nil {
			t.Fatal(err)
		}
	}
	refused := Message{To: "nobody@example.org", Subject: "x", Text: "x"}
	if err := server.Send(t.Context(), refused); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("nobody gets mail: %v", err)
	}
	refused.To = "eve@elsewhere.example"
	if err := server.Send(t.Context(), refused); !errors.Is(err, ErrRefused) {
		t.Errorf("a stranger gets mail: %v", err)
	}
	var came []string
	eventually(t, "two mails come", func() bool {
		came, _ = filepath.Glob(filepath.Join(folder, "new", "*"))
		return len(came) == 2
	})
	all := ""
	for _, name := range came {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	for _, want := range []string{"Subject: job 0 ends", "Subject: job 1 ends", "Envelope-to: alice@example.org", "Auto-Submitted: auto-generated", "TLS", "\n.\nand more"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in what came:\n%s", want, all)
		}
	}
}
