package grid

import (
	"strings"
	"testing"
)

func TestMailAddresses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a@b", "alice.b+gbroker@mail.example.org", "O'Neil_x-y@x-1.org"} {
		if err := CheckMailAddress(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "alice", "@b", "a@", "-a@b", ".a@b", "a..b@c", "a@b@c", "a b@c", "a@b c", "a%b@c", "a!b@c", `"a"@b`, "a@[1.2.3.4]", "a@b..c", "a@-b", "a@b\n", "a@b\r\nBcc: x@y",
		"a,b@c", "<a@b>", "a@b;c", "ä@b", strings.Repeat("a", 65) + "@b", "a@" + strings.Repeat("b.", 200) + "c"} {
		if CheckMailAddress(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
