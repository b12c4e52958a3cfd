package core

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A text that is cut stays text, wherever the cut falls.
func TestClipKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for lead := range 4 {
		s := strings.Repeat("x", lead) + strings.Repeat("€", 200)
		if got := clip(s); !utf8.ValidString(got) || len(got) > 310 || !strings.HasSuffix(got, "…") {
			t.Errorf("after %d letters: %q", lead, got)
		}
	}
}
