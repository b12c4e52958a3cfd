package jsdl

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stricter are reasons for which the scanner refuses what the reader of the standard library takes.
var stricter = []string{
	"a blank stands before each attribute", "a blank follows the name of a processing instruction", "half a character", "in a name", "expected element name",
}

// The scanner cuts a document as the reader of the standard library does, where it takes it.
func TestScannerAgreesWithItsTwin(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"<a>", "</a>", "<b:c d='1' e:f=\"2\">", "</b:c>", "<a/>", "<a b = 'c' />", "<é ö='ü'/>", "<a b='&lt;&#x41;\n\t'>", "text", " \r\n", "\r", "&amp;", "&#233;", "&quot;&apos;&gt;",
		"<!-- c -->", "<!-- -- -->", "<![CDATA[<x>&\r\n]]>", "]]>", "<?pi x?>", "<?pi?>", "<", ">", "&", ";", "'", "\"", "=", "/", "?", "-", "x", " ", "&nope;", "&#xD800;", "&#0;", "<a b>", "<a b=c>", "<a b='<'>",
		"<a 'x'>", "<1>", "<a:>", "<:a>", "</a >", "</a x>", "<a\n>", "<!-", "<![CDAT", "<a b='", "€", "<?x",
	}
	rapid.Check(t, func(t *rapid.T) {
		document := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		got, err := scanned(document)
		want, twinErr := decoded(document)
		switch {
		case err == nil && twinErr != nil:
			t.Fatalf("%q is taken as %q, but the twin says %v", document, got, twinErr)
		case err != nil && twinErr == nil:
			for _, reason := range stricter {
				if strings.Contains(err.Error(), reason) {
					return
				}
			}
			t.Fatalf("%q is refused: %v; the twin reads %q", document, err, want)
		case err == nil && strings.Join(got, "\n") != strings.Join(want, "\n"):
			t.Fatalf("%q is\n%q, to its twin\n%q", document, got, want)
		}
	})
}

// scanned describes the tokens of a document.
func scanned(document string) (list []string, err error) {
	s := scanner{text: document}
	text := ""
	flush := func() {
		if text != "" {
			list = append(list, "text "+text)
		}
		text = ""
	}
	for {
		t, more, err := s.next()
		if err != nil || !more {
			flush()
			return list, err
		}
		if t.half {
			return nil, fmt.Errorf("half a character")
		}
		if t.kind != characters {
			flush()
		}
		switch t.kind {
		case characters:
			text += t.text
		case startTag:
			words := []string{"start", t.name.String()}
			for _, a := range t.attributes {
				words = append(words, a.name.String()+"="+a.value)
			}
			list = append(list, strings.Join(words, " "))
			if t.empty {
				list = append(list, "end "+t.name.String())
			}
		case endTag:
			list = append(list, "end "+t.name.String())
		case comment:
			list = append(list, "comment")
		case instruction:
			list = append(list, "instruction "+t.name.String())
		case declaration:
			return nil, fmt.Errorf("half a character or a declaration")
		}
	}
}

// decoded is the same by the standard library. Of its readers only this one does not match tags.
func decoded(document string) (list []string, err error) {
	d := xml.NewDecoder(strings.NewReader(document))
	name := func(n xml.Name) string { return strings.TrimPrefix(n.Space+":"+n.Local, ":") }
	text := ""
	flush := func() {
		if text != "" {
			list = append(list, "text "+text)
		}
		text = ""
	}
	blanks := strings.NewReplacer("\n", " ", "\t", " ")
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			flush()
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if _, is := token.(xml.CharData); !is {
			flush()
		}
		switch t := token.(type) {
		case xml.CharData:
			text += string(t)
		case xml.StartElement:
			words := []string{"start", name(t.Name)}
			for _, a := range t.Attr {
				words = append(words, name(a.Name)+"="+blanks.Replace(a.Value))
			}
			list = append(list, strings.Join(words, " "))
		case xml.EndElement:
			list = append(list, "end "+name(t.Name))
		case xml.Comment:
			list = append(list, "comment")
		case xml.ProcInst:
			list = append(list, "instruction "+t.Target)
		}
	}
}
