package jsdl

import "testing"

// Spans are where elements stand: the text between is the element, and its content.
func TestTreeSpans(t *testing.T) {
	const text = "<a xmlns='u'>\n <b k=\"v\">x&amp;y</b><c/>\n</a>"
	root, err := Tree("f", []byte("\uFEFF"+text))
	if err != nil {
		t.Fatal(err)
	}
	b, c := root.Children[0], root.Children[1]
	for _, want := range []struct {
		e            *Element
		whole, inner string
	}{
		{root, text, text[len("<a xmlns='u'>") : len(text)-len("</a>")]},
		{b, `<b k="v">x&amp;y</b>`, "x&amp;y"},
		{c, "<c/>", ""},
	} {
		s := want.e.Span
		if got := text[s.From:s.To]; got != want.whole {
			t.Errorf("%s stands at %q, not %q", want.e.Local, got, want.whole)
		}
		if got := text[s.Inner:s.InnerTo]; got != want.inner {
			t.Errorf("%s has the content %q, not %q", want.e.Local, got, want.inner)
		}
	}
	if v, _ := b.Attribute("", "k"); v != "v" || b.Text != "x&y" || b.Line != 2 || b.Col != 2 || b.Space != "u" {
		t.Errorf("b is %+v", b)
	}
}
