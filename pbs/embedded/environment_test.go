package embedded

import (
	"os/user"
	"slices"
	"testing"
)

// A daemon that an init system starts has neither USER nor HOME: programs get those of its account all the same.
func TestProgramsKnowTheirAccount(t *testing.T) {
	who, err := user.Current()
	if err != nil {
		t.Skip("no entry of this account:", err)
	}
	for _, name := range []string{"USER", "LOGNAME", "HOME"} {
		t.Setenv(name, "")
	}
	got := Config{Path: "/bin"}.baseEnvironment()
	for _, want := range []string{"PATH=/bin", "USER=" + who.Username, "LOGNAME=" + who.Username, "HOME=" + who.HomeDir} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %q", want, got)
		}
	}
}
