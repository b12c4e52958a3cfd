package wrapper

import (
	"fmt"
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
		const standard = 1<<31 - 1
		code, said := n.run()
		var ignored uint64
		_, err := fmt.Sscanf(n.read("stdout"), "SigIgn: %x", &ignored)
		if code != 0 || err != nil || ignored&standard != 0 { // who runs the tests may ignore signals of real time
			t.Errorf("code %d, the program ignores %q (%s)", code, n.read("stdout"), said)
		}
	})
}
