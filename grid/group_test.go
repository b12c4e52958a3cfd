package grid

import "testing"

// What has neither a number nor .all may be a job or a group.
func TestParseReference(t *testing.T) {
	t.Parallel()
	const stem = "here.00000000000000000000000100"
	for text, want := range map[string]Reference{
		stem:          {Job: stem, Group: stem + ".all"},
		stem + ".7":   {Job: stem + ".7"},
		stem + ".0":   {Job: stem + ".0"},
		stem + ".all": {Group: stem + ".all"},
	} {
		if r, err := ParseReference(text); err != nil || r != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "here", stem + ".all.all", stem + ".x", stem + ".", stem + ".7.all", ".all", "-." + stem} {
		if r, err := ParseReference(text); err == nil {
			t.Errorf("%q is taken: %+v", text, r)
		}
	}
	for want, r := range map[string]Reference{stem: {Job: stem, Group: stem + ".all"}, stem + ".all": {Group: stem + ".all"}} {
		if r.String() != want {
			t.Errorf("%+v is called %s", r, r)
		}
	}
}
