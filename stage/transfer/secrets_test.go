package transfer

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	list, err := ParseSecrets([]byte(`
- for: https://data.example.org/
  token: everywhere
- for: https://data.example.org/private
  user: alice
  password: hidden
- for: sftp://store.example.org
  user: alice
  private_key: |
    -----BEGIN OPENSSH PRIVATE KEY-----
    hidden
`))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"https://data.example.org/x": "https://data.example.org/", "https://DATA.example.org/x": "https://data.example.org/",
		"https://data.example.org/private/x": "https://data.example.org/private", "https://data.example.org/privates": "https://data.example.org/",
		"http://data.example.org/x": "", "https://data.example.org.evil/x": "", "https://data.example.org:8443/x": "",
		"sftp://store.example.org/deep/x": "sftp://store.example.org",
	} {
		u, _ := url.Parse(uri)
		if got := find(u, list); got.For != want {
			t.Errorf("%s: %q", uri, got.For)
		}
	}
	u, _ := url.Parse("https://data.example.org/private/x")
	site := Secrets{{For: "https://data.example.org/private/x", Token: "site"}}
	if find(u, list, site).User != "alice" || find(u, nil, site).Token != "site" {
		t.Error("the user's come first, then the site's")
	}
	if text := fmt.Sprintf("%v %+v %#v %s", list, list[1], list[1], list); strings.Contains(text, "hidden") {
		t.Errorf("printed: %s", text)
	}
	for _, bad := range []string{"x", "- for: nothing\n", "- for: https://u:hidden@h/\n", "- for: https://h\n  passwort: hidden\n", "- {hidden", strings.Repeat("- for: https://h\n", 65), strings.Repeat("#", MaxSecrets+1)} {
		if _, err := ParseSecrets([]byte(bad)); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%.30q: %v", bad, err)
		}
	}
	if list, err := ParseSecrets(nil); err != nil || list != nil {
		t.Error(list, err)
	}
}
