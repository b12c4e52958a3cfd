package api

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// A request is its user's only as long as home, key, request and time are those that were signed.
func TestReadPass(t *testing.T) {
	t.Parallel()
	homeKey, userKey, otherKey := newKey(t), newKey(t), newKey(t)
	verify := func(by grid.PeerID, text, signature []byte) bool {
		return by == "home" && ed25519.Verify(homeKey.Public().(ed25519.PublicKey), text, signature)
	}
	now := time.Now()
	type shown struct {
		pass        Pass
		key         ed25519.PrivateKey
		method, uri string
		at          time.Time
	}
	for name, c := range map[string]struct {
		change func(*shown)
		why    string
	}{
		"good":              {func(*shown) {}, ""},
		"another user":      {func(s *shown) { s.pass.User = "bob" }, "has not signed"},
		"another home":      {func(s *shown) { s.pass.Home = "elsewhere" }, "has not signed"},
		"held for longer":   {func(s *shown) { s.pass.Until += 10 }, "has not signed"},
		"another key":       {func(s *shown) { s.pass.Key = otherKey.Public().(ed25519.PublicKey) }, "has not signed"},
		"signed by another": {func(s *shown) { s.key = otherKey }, "does not hold its key"},
		"another method":    {func(s *shown) { s.method = "POST" }, "does not hold its key"},
		"another job":       {func(s *shown) { s.uri = "/v1/jobs/a.2" }, "does not hold its key"},
		"old request":       {func(s *shown) { s.at = now.Add(-11 * time.Minute) }, "set the clocks"},
		"request to come":   {func(s *shown) { s.at = now.Add(11 * time.Minute) }, "set the clocks"},
		"two lines":         {func(s *shown) { s.pass.User = "alice\nx"; s.pass.Signature = ed25519.Sign(homeKey, s.pass.Text()) }, "none that gclient writes"},
		"run out": {func(s *shown) {
			s.pass.Until = now.Unix() - 1
			s.pass.Signature = ed25519.Sign(homeKey, s.pass.Text())
		}, "it held until"},
	} {
		s := shown{
			pass: Pass{User: "alice", Home: "home", Site: "a", Key: userKey.Public().(ed25519.PublicKey), Until: now.Unix() + 60},
			key:  userKey, method: "GET", uri: "/v1/jobs/a.1", at: now,
		}
		s.pass.Signature = ed25519.Sign(homeKey, s.pass.Text())
		c.change(&s)
		text, err := s.pass.Show(s.key, s.at, s.method, s.uri)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/v1/jobs/a.1", nil)
		r.Header.Set(PassHeader, text)
		p, given, err := ReadPass(r, now, verify)
		switch {
		case !given:
			t.Errorf("%s: no pass is seen", name)
		case c.why == "" && (err != nil || p.User != "alice"):
			t.Errorf("%s: %v", name, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: %v, want %q", name, err, c.why)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/jobs/a.1", nil)
	if _, given, err := ReadPass(r, now, verify); given || err != nil {
		t.Errorf("no pass: %v, %v", given, err)
	}
	for _, bad := range []string{"!", "e30", strings.Repeat("A", maxPassText+1)} {
		r.Header.Set(PassHeader, bad)
		if _, _, err := ReadPass(r, now, verify); err == nil {
			t.Errorf("%.20q is taken for a pass", bad)
		}
	}
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
