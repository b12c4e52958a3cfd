package near_test

import (
	"strings"
	"testing"

	"gbroker/internal/near"
)

func TestWord(t *testing.T) {
	t.Parallel()
	words := []string{"command", "cores", "configurations", "name"}
	for written, want := range map[string]string{
		"comand": "command", "COMMAND": "command", "core": "cores", "nmae": "name", "configuration": "configurations",
		"zebra": "", "x": "", "": "", strings.Repeat("command", 9): "",
	} {
		if got := near.Word(written, words...); got != want {
			t.Errorf("%q is taken for %q, not %q", written, got, want)
		}
	}
}
