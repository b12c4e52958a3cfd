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
}
