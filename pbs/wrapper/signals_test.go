package wrapper

import (
	"os/exec"
	"testing"
)

// What ignores signals around the batch system's daemons does not make the program ignore them.
func TestSignalsAreTheirDefaults(t *testing.T) {
	t.Parallel()
	if exec.Command("env", "--default-signal", "true").Run() != nil {
		t.Skip("env of this machine cannot reset signals")
	}
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, append([]string{"/bin/sh", "-c", `trap "" INT USR1 PIPE; exec "$@"`, "sh"}, shell...), sh("grep SigIgn /proc/self/status"))
		if code, said := n.run(); code != 0 || n.read("stdout") != "SigIgn:\t0000000000000000\n" {
			t.Errorf("code %d, the program ignores %q (%s)", code, n.read("stdout"), said)
		}
	})
}
