package outbound

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	refused := strings.Fields(`127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254
		100.64.0.1 192.0.0.8 198.18.0.1 224.0.0.1 255.255.255.255 240.0.0.1 fe80::1 fc00::1 fd12::1 ff02::1 ::ffff:127.0.0.1
		::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1 ::127.0.0.1 fec0::1 2001:0:7f00:1::1 fe80::1%eth0`)
	for _, a := range refused {
		if err := (Policy{}).Check(netip.MustParseAddr(a)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{"8.8.8.8", "93.184.216.34", "2606:4700::1111", "172.15.0.1", "172.32.0.1", "::ffff:8.8.8.8"} {
		if err := (Policy{}).Check(netip.MustParseAddr(a)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	if err := (Policy{}).Check(netip.Addr{}); err == nil {
		t.Error("no address passes")
	}
	some := Policy{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	if err := some.Check(netip.MustParseAddr("::ffff:10.1.2.3")); err != nil {
		t.Error(err)
	}
	if err := some.Check(netip.MustParseAddr("10.2.0.1")); err == nil {
		t.Error("what is beside an allowed network passes")
	}
}

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]string{"10.0.0.0/8": "10.0.0.0/8", "127.0.0.1": "127.0.0.1/32", "::1": "::1/128", "fd00::/8": "fd00::/8"} {
		if p, err := ParseNetwork(text); err != nil || p.String() != want {
			t.Errorf("%s: %v %v", text, p, err)
		}
	}
	for _, bad := range []string{"", "10.0.0.1/8", "host", "10.0.0.0/33", "fe80::1%eth0"} {
		if p, err := ParseNetwork(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, p)
		}
	}
}

// A redirect, and a name that resolves to a forbidden address, are refused as the address itself is.
func TestClient(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secret") }))
	defer inside.Close()
	at, _ := url.Parse(inside.URL)
	for _, u := range []string{inside.URL, "http://localhost:" + at.Port()} {
		if r, err := (Policy{}).Client().Get(u); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v %v", u, r, err)
		}
	}
	here := Policy{Allow: prefixes("127.0.0.1/32")}
	r, err := here.Client().Get(inside.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	outside := httptest.NewServer(http.RedirectHandler("http://127.0.0.2:"+at.Port(), http.StatusFound))
	defer outside.Close()
	if r, err := here.Client().Get(outside.URL); !errors.Is(err, ErrRefused) {
		t.Errorf("a redirect leads to a forbidden address: %v %v", r, err)
	}
	secure := httptest.NewTLSServer(http.RedirectHandler(inside.URL, http.StatusFound))
	defer secure.Close()
	c := here.Client()
	c.Transport = secure.Client().Transport
	if r, err := c.Get(secure.URL); !errors.Is(err, ErrRefused) {
		t.Errorf("a redirect leads out of TLS: %v %v", r, err)
	}
	loop := httptest.NewServer(nil)
	defer loop.Close()
	loop.Config.Handler = http.RedirectHandler(loop.URL, http.StatusFound)
	if r, err := here.Client().Get(loop.URL); err == nil {
		t.Errorf("redirects without end: %v", r.Status)
	}
}
