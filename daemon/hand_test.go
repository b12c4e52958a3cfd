package daemon

import (
	"errors"
	"testing"

	"gbroker/grid"
)

// What is made by hand belongs to one data folder: two brokers at one batch system would
// sweep each other's reservations.
func TestWhatIsMadeByHandIsOfOneBroker(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	for _, h := range []*Hand{{folder: t.TempDir()}, {folder: t.TempDir()}} {
		first, err1 := h.owner()
		again, err2 := h.owner()
		if err1 != nil || err2 != nil || first != again || words[first] {
			t.Errorf("%q, then %q: %v, %v", first, again, err1, err2)
		}
		words[first] = true
	}
}

// What is done by hand as root runs under an account that users are mapped to, where the batch
// system takes no jobs of root.
func TestJobsByHandOfRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system string
		users  UsersConfig
		root   bool
		is     string // "" is the daemon's own
		no     bool
	}{
		{OpenPBS, UsersConfig{Mapped: true, Map: map[string]string{"b": "bert", "a": "anna"}}, true, "anna", false},
		{Torque, UsersConfig{Mapped: true, Otherwise: "guest"}, true, "guest", false},
		{OpenPBS, UsersConfig{Mapped: true, Same: true}, true, "", true},
		{OpenPBS, UsersConfig{Mapped: true, Otherwise: "guest"}, false, "", false},
		{Slurm, UsersConfig{Mapped: true, Otherwise: "guest"}, true, "", false},
		{OpenPBS, UsersConfig{}, true, "", false},
	} {
		cfg := Config{}
		cfg.Batch.System, cfg.Batch.External.Users = c.system, c.users
		is, err := "", error(nil)
		if f := cfg.handAccounts(c.root); f != nil {
			is, err = f(grid.User{})
		}
		if is != c.is || errors.Is(err, errNobody) != c.no {
			t.Errorf("%+v: %q, %v", c, is, err)
		}
	}
}
