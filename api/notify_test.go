package api_test

import (
	"testing"

	"gbroker/api"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	if err := c.Notify(t.Context()); err != nil || service.Notified() != 1 {
		t.Errorf("%v, notified %d times", err, service.Notified())
	}
	if b, err := c.Batch(t.Context()); err != nil || len(b.Nodes) != 1 || b.Nodes[0].Cores != 16 {
		t.Errorf("%+v, %v", b, err)
	}
}
