package pool_test

import (
	"net/http"
	"testing"

	"gbroker/pbs/pool/line"
)

// Who connects names the registration that he stands for: where the pool has another's, he registers again first.
func TestSessionOfAnotherRegistration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("a")
	mine, other := line.Nonce(), line.Nonce()
	connect := func(registration string) int {
		return p.post(line.ConnectPath, line.Connect{Version: line.Version, Session: line.Nonce(), Registration: registration}, nil)
	}
	what := line.Computer{Architecture: "x86_64", System: "LINUX", Cores: 4, Speed: 1, Disk: 1 << 40}
	p.must(line.RegisterPath, line.Register{Version: line.Version, Registration: other, Computer: what}, nil)
	if status := connect(mine); status == http.StatusOK {
		t.Error("who has not registered since another did has a session")
	}
	if status := connect(other); status != http.StatusOK {
		t.Errorf("who has registered last is answered %d", status)
	}
}
