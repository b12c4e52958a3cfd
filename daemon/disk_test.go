package daemon

import (
	"strings"
	"testing"

	"gbroker/broker"
)

func TestNoRoom(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		journal, jobs int64
		says          string
	}{
		{broker.Reserve, 1, ""},
		{broker.Reserve - 1, 1 << 40, "the disk of /data has 63MiB free, no more than is kept back"},
		{1 << 40, 0, "the disk of /shared has 0 free"},
	} {
		got := ""
		if text := noRoom(k.journal, k.jobs, "/data", "/shared"); text != nil {
			got = *text
		}
		if !strings.HasPrefix(got, k.says) || (k.says == "") != (got == "") {
			t.Errorf("%d and %d: %q", k.journal, k.jobs, got)
		}
	}
}
