package servers

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SFTP is a server of sftp that lets one user in by a key.
type SFTP struct {
	Address    string // HOST:PORT
	User       string
	PrivateKey string // of the user, in the form of OpenSSH
	HostKey    string // of the server, as in a file of authorized keys
}

// KnownHosts is the server's line in a file of known hosts, if it is reached at an address.
func (s SFTP) KnownHosts(address string) string {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(s.HostKey))
	if err != nil {
		return ""
	}
	return knownhosts.Line([]string{address}, key) + "\n"
}

// StartSFTP runs sshd. It serves the files of this machine.
func StartSFTP(t testing.TB) SFTP {
	t.Helper()
	program := tool(t, "sshd", "openssh-server")
	me, err := user.Current()
	must(t, err)
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd as root needs /run/sshd: %v", err)
		}
	}
	dir := t.TempDir()
	s := SFTP{Address: address(t), User: me.Username}
	var userKey string
	s.HostKey, _ = key(t, filepath.Join(dir, "host"))
	userKey, s.PrivateKey = key(t, filepath.Join(dir, "user"))
	_, port, _ := net.SplitHostPort(s.Address)
	config := fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n", port, dir, dir)
	must(t, errors.Join(os.WriteFile(filepath.Join(dir, "authorized"), []byte(userKey+"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600)))
	daemon(t, s.Address, program, "-D", "-e", "-f", filepath.Join(dir, "config"))
	return s
}

// key makes one, with its private half in a file.
func key(t testing.TB, file string) (public, private string) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	block, err := ssh.MarshalPrivateKey(priv, "")
	must(t, err)
	p, err := ssh.NewPublicKey(pub)
	must(t, err)
	text := pem.EncodeToMemory(block)
	must(t, os.WriteFile(file, text, 0o600))
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(p))), string(text)
}
