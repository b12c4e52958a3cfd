package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Web is a web server over a folder. It takes files by PUT below /up and /private, and the latter are for who
// has its token.
type Web struct {
	Address   string // of http, HOST:PORT
	Secure    string // of https
	Dir       string
	Token     string
	Authority string // file with the certificate by which its own is believed
}

// StartWeb runs nginx.
func StartWeb(t testing.TB) Web {
	t.Helper()
	program := tool(t, "nginx", "nginx-light")
	conf := t.TempDir()
	w := Web{Address: address(t), Secure: address(t), Dir: t.TempDir(), Token: "token-" + word(t), Authority: filepath.Join(conf, "cert")}
	certify(t, w.Authority, filepath.Join(conf, "key"))
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := fmt.Sprintf(`%s daemon off; pid %[2]s/pid; error_log %[2]s/log;
events {}
http { log_format asked '$request_method $uri $status $http_range'; access_log %[2]s/asked asked;
client_max_body_size 0; client_body_temp_path %[2]s/tmp; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
server { listen %[3]s; listen %[4]s ssl; ssl_certificate %[2]s/cert; ssl_certificate_key %[2]s/key; root %[5]s;
location /up { dav_methods PUT; create_full_put_path on; }
location /private { if ($http_authorization != "Bearer %[6]s") { return 403; } dav_methods PUT; create_full_put_path on; } } }`,
		user, conf, w.Address, w.Secure, w.Dir, w.Token)
	must(t, errors.Join(os.WriteFile(filepath.Join(conf, "config"), []byte(config), 0o600),
		os.Mkdir(filepath.Join(w.Dir, "up"), 0o700), os.Mkdir(filepath.Join(w.Dir, "private"), 0o700)))
	daemon(t, w.Address, program, "-c", filepath.Join(conf, "config"), "-e", filepath.Join(conf, "log"))
	return w
}

// Asked lists the requests so far: method, path, status and range.
func (w Web) Asked() []string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.Authority), "asked"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// word is one that nobody guesses, and that is found where it is not meant to be.
func word(t testing.TB) string {
	t.Helper()
	return strings.ToLower(rand.Text())
}

// certify makes a certificate for the loopback, signed by itself, and its key.
func certify(t testing.TB, cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(k)
	must(t, err)
	must(t, errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)))
}
