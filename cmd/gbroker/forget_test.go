package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
)

// Who is about to forget a site that lives is told so, and what else he may mean; it is done all the same.
func TestForgettingTellsWhoLives(t *testing.T) {
	t.Parallel()
	service := apitest.New()
	service.AddSite(api.SiteView{Site: grid.Site{Name: "well"}, Peer: "well", State: grid.Alive})
	service.AddSite(api.SiteView{Site: grid.Site{Name: "gone"}, Peer: "gone", State: grid.Dead})
	s, stop := apitest.Start(t, api.Config{Users: service, Admin: service, Hook: service})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := api.NewClient(api.ClientConfig{Address: s.Addresses()[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for site, lives := range map[string]bool{"well": true, "gone": false} {
		var out, told bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		cmd.SetOut(&out)
		cmd.SetErr(&told)
		if err := forget(cmd, client, api.Forgetting{Site: site}, true, false); err != nil || !strings.Contains(out.String(), site+" is forgotten") {
			t.Errorf("%s: %v, %s", site, err, out.String())
		}
		if strings.Contains(told.String(), site+" is alive") != lives {
			t.Errorf("%s, which lives: %t, is told as %q", site, lives, told.String())
		}
	}
}
