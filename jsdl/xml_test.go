package jsdl

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestXMLThatIsRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<a>", MaxDepth+1) + strings.Repeat("</a>", MaxDepth+1)
	attributes := "<a" + strings.Repeat(" b=''", MaxAttributes+1) + "/>"
	checkRefusals(t, []refusal{
		{"empty", "", "1:1: the document is empty: a job starts with <JobDefinition>"},
		{"blank", " \n\t\r\n", "1:1: the document is empty: a job starts with <JobDefinition>"},
		{"byte order mark alone", "\uFEFF", "1:1: the document is empty: a job starts with <JobDefinition>"},
		{"comment alone", "<!-- x -->", "1:1: the document has no element: a job starts with <JobDefinition>"},
		{"huge", strings.Repeat("x", MaxDocument+1), "1:1: the document has 1048577 bytes: at most 1048576"},
		{"not XML", "{\n\"job\": 1}", "1:1: this is not XML: text before the first element"},
		{"shell script", "#!/bin/sh\ndate\n", "1:1: this is not XML: text before the first element"},
		{"binary", "\x7fELF\x02\x01", "1:5: the character U+0002 is not allowed in XML"},
		{"Latin-1", "<a>\n b\xe4r</a>", "2:3: the byte 0xE4 is not UTF-8: save the document as UTF-8"},
		{"UTF-16", "\xfe\xff\x00<\x00a", "1:1: the document is in UTF-16: save it as UTF-8"},
		{"UTF-16 the other way", "\xff\xfe<\x00a\x00", "1:1: the document is in UTF-16: save it as UTF-8"},
		{"NUL", "<a>\x00</a>", "1:4: the character U+0000 is not allowed in XML"},
		{"declared Latin-1", `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`, `1:44: the encoding "ISO-8859-1" is not supported: save the document as UTF-8`},
		{"XML 1.1", `<?xml version="1.1"?><a/>`, `1:22: this is not well-formed XML: unsupported version "1.1"; only version 1.0 is supported`},
		{"truncated in an element", "<a>\n <b>x", "2:6: the document ends inside <b> (line 2): it looks cut off"},
		{"truncated in a tag", "<a>\n <b>x</", "2:8: the document ends inside <b> (line 2): it looks cut off"},
		{"truncated in the first tag", `<a b="`, "1:7: the document ends inside a tag or comment: it looks cut off"},
		{"truncated in a comment", `<!-- `, "1:6: the document ends inside a tag or comment: it looks cut off"},
		{"wrong end tag", "<a>\n <b></a>", "2:5: this is not well-formed XML: </a> stands where </b> must close line 2"},
		{"end tag alone", "</a>", "1:1: this is not well-formed XML: </a> closes nothing"},
		{"end tag of another prefix", `<x:a xmlns:x="u" xmlns:y="u"></y:a>`, "1:30: this is not well-formed XML: </y:a> stands where </x:a> must close line 1"},
		{"unquoted attribute", "<a b=c/>", "1:6: this is not well-formed XML: unquoted or missing attribute value in element"},
		{"name of colons", "<a:/>", "1:1: this is not well-formed XML: <a:> is no name"},
		{"DOCTYPE", "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "2:1: a DOCTYPE or other declaration (<!…>) is not allowed: remove it"},
		{"unknown entity", "<a>&e;</a>", "1:7: this is not well-formed XML: invalid character entity &e;"},
		{"reference to NUL", posix("<p:Executable>/bin/a</p:Executable><p:Argument>&#0;</p:Argument>"), "2:52: this is not well-formed XML: illegal character code U+0000"},
		{"reference to half a character", "<a>&#xD800;</a>", "1:4: a character reference names half a character (U+D800 to U+DFFF)"},
		{"reference to half a character, decimal", "<a>&#1; and &#57343;</a>", "1:8: this is not well-formed XML: illegal character code U+0001"},
		{"reference to half a character in an attribute", "<a b='x&#57343;'/>", "1:1: a character reference names half a character (U+D800 to U+DFFF)"},
		{"second root", "<a/>\n<b/>", "2:1: nothing may follow </a>: a document has one root element"},
		{"text after the root", "<a/>\n\n junk", "3:2: nothing may follow </a>"},
		{"reference after the root", "<a/>\n&#32;", "2:1: nothing may follow </a>"},
		{"deep", deep, "1:193: elements are nested deeper than 64 levels"},
		{"many elements", "<a>" + strings.Repeat("<b/>", MaxElements) + "</a>", "1:262144: the document has more than 65536 elements"},
		{"many attributes", attributes, "1:1: a has 65 attributes: at most 64"},
		{"processing instruction", "<a>\n<?php x?></a>", "2:1: the processing instruction <?php …?> is not allowed here: remove it"},
		{"second XML declaration", "<a>\n<?xml version='1.0'?></a>", "2:1: the processing instruction <?xml …?> is not allowed here: remove it"},
		{"late XML declaration", "\n<?xml version='1.0'?><a/>", "2:1: the processing instruction <?xml …?> is not allowed here: remove it"},
	})
}

func TestNamespacesThatAreRefused(t *testing.T) {
	t.Parallel()
	core := `<JobDefinition xmlns="` + Core + `">`
	checkRefusals(t, []refusal{
		{"undeclared prefix of an element, told once",
			core + "\n<jsdl:JobDescription/><jsdl:JobDescription/>" + close,
			`2:1: the prefix "jsdl" is declared nowhere: add xmlns:jsdl="` + Core + `" to the first element`},
		{"undeclared prefix that names POSIX", core + "<JobDescription><Application>\n<jsdl-posix:POSIXApplication/></Application></JobDescription>" + close,
			`2:1: the prefix "jsdl-posix" is declared nowhere: add xmlns:jsdl-posix="` + POSIX + `" to the first element`},
		{"undeclared prefix that names SPMD", core + "<JobDescription><Application>\n<spmd:X/></Application></JobDescription>" + close,
			`2:1: the prefix "spmd" is declared nowhere: add xmlns:spmd="` + SPMD + `" to the first element`},
		{"undeclared prefix of the root", `<jsdl:JobDefinition/>`,
			`1:1: the prefix "jsdl" is declared nowhere: add xmlns:jsdl="` + Core + `" to the first element`},
		{"undeclared prefix of an attribute", running(`<p:Argument x:y="1">a</p:Argument>`),
			`2:1: the prefix "x" is declared nowhere: add xmlns:x="` + Core + `" to the first element`},
		{"undeclared prefix inside text", running(`<p:Argument><x:y/></p:Argument>`),
			`2:13: the prefix "x" is declared nowhere: add xmlns:x="` + Core + `" to the first element`},
		{"prefix out of scope", describing(`<Description xmlns:q="` + POSIX + `"/>` + `<q:Executable/>`),
			`1:261: JobDescription has no Application: ` + nothing + `
2:1: Description does not belong in JobDescription, which holds JobIdentification, Application, Resources, DataStaging
2:72: the prefix "q" is declared nowhere: add xmlns:q="` + Core + `" to the first element`},
		{"empty declaration", `<a xmlns:p=""/>`, `1:1: xmlns:p="" declares nothing that XML allows
1:1: the first element is a: a job is one JobDefinition in the namespace ` + Core},
		{"xml declared anew", `<a xmlns:xml="u"/>`, `1:1: xmlns:xml="u" declares nothing that XML allows
1:1: the first element is a: a job is one JobDefinition in the namespace ` + Core},
		{"attribute twice", running("\n<p:Environment name='A' name='B'>x</p:Environment>"), `3:1: p:Environment has the attribute name twice`},
		{"declaration twice", `<a xmlns:p="u" xmlns:p="u"/>`, `1:1: a has the attribute p twice
1:1: the first element is a: a job is one JobDefinition in the namespace ` + Core},
		{"attribute twice under two prefixes", `<a xmlns:p="u" xmlns:q="u" p:b="" q:b=""/>`, `1:1: a has the attribute b twice
1:1: the first element is a: a job is one JobDefinition in the namespace ` + Core},
		{"no namespace at all", `<JobDefinition/>`, `1:1: JobDefinition has no namespace: write <JobDefinition xmlns="` + Core + `">`},
		{"wrong core namespace", `<JobDefinition xmlns="urn:x"/>`, "1:1: JobDefinition is in the namespace urn:x: JSDL 1.0 is " + Core},
		{"another language of that name", `<jobDefinition xmlns="http://www.ibm.com/xmlns/prod/scheduling/1.0/jsdl"/>`,
			"1:1: this is a job of IBM (now HCL) Workload Automation, another language also called JSDL: write a JobDefinition in the namespace " + Core},
		{"another root", `<x:Job xmlns:x="u"/>`, "1:1: the first element is {u}Job: a job is one JobDefinition in the namespace " + Core},
		{"element without namespace", staging(`<DataStaging><FileName>a</FileName><CreationFlag>overwrite</CreationFlag><Source><URI xmlns="">a</URI></Source></DataStaging>`),
			"2:74: Source has no URI: write <URI>NAME</URI>, a path relative to the document\n2:82: URI is in no namespace here, but must be in the namespace " + Core},
		{"unknown element without namespace", needing(`<GPU xmlns="">1</GPU>`), "2:1: GPU has no namespace and is not understood in Resources"},
		{"element of the wrong namespace", running(`<Argument>a</Argument>`),
			"2:1: Argument is in the namespace " + Core + " here, but must be in the namespace " + POSIX},
		{"fragment", `<POSIXApplication xmlns="` + POSIX + `"/>`, "1:1: this is a fragment, a POSIXApplication alone: put it into a JobDefinition, in the namespace " + Core},
		{"wrapper", "<jobs><x>" + open + close + "</x>\n" + open + close + "</jobs>",
			"1:1: this is a jobs with 2 JobDefinition in it, the first in line 1: hand in each JobDefinition as a document of its own"},
		{"sweep", open + "<JobDescription>" + date + "</JobDescription>\n<Sweep xmlns='http://schemas.ogf.org/jsdl/2009/03/sweep'/>" + close,
			"2:1: {http://schemas.ogf.org/jsdl/2009/03/sweep}Sweep is not supported: " + sweep},
		{"sweep function", needing(`<Values xmlns="http://schemas.ogf.org/jsdl/2009/03/sweep/functions"/>`),
			"2:1: {http://schemas.ogf.org/jsdl/2009/03/sweep/functions}Values is not supported: " + sweep},
		{"vendor element", needing(`<GPUs xmlns="urn:x">1</GPUs>`),
			"2:1: {urn:x}GPUs is not supported, and what is not understood is refused: remove it, or have it ignored (--lenient)"},
	})
}

// What looks odd but is right.
func TestXMLThatIsAccepted(t *testing.T) {
	t.Parallel()
	plain := "<JobDefinition xmlns='" + Core + "'><JobDescription>%</JobDescription></JobDefinition>"
	prefixed := `<a:JobDefinition xmlns:a="` + Core + `" xmlns:b="` + POSIX + `" id="x" xml:lang="de" xmlns:i="` + xsiNamespace + `" i:schemaLocation="x y">
		<a:JobDescription><a:Application i:noNamespaceSchemaLocation="z"><b:POSIXApplication name="n"><b:Executable>
			/bin/date
		</b:Executable></b:POSIXApplication></a:Application></a:JobDescription></a:JobDefinition>`
	inner := `<Application><POSIXApplication xmlns="` + POSIX + `"><Executable>/bin/date</Executable></POSIXApplication></Application>`
	for name, document := range map[string]string{
		"byte order mark":         "\uFEFF" + strings.Replace(plain, "%", inner, 1),
		"declaration and comment": `<?xml version="1.0" encoding="utf-8" standalone="yes"?><!-- c -->` + strings.Replace(plain, "%", inner, 1) + "\n<!-- d -->\n",
		"stylesheet":              `<?xml-stylesheet href="a.css"?>` + strings.Replace(plain, "%", inner, 1),
		"other prefixes":          prefixed,
		"text in pieces":          strings.Replace(strings.Replace(plain, "%", inner, 1), "/bin/date", "/b<!-- x --><![CDATA[in/]]>d&#x61;te", 1),
		"Windows line ends":       strings.ReplaceAll(prefixed, "\n", "\r\n"),
		"inner default namespace": strings.Replace(plain, "%", inner, 1),
	} {
		if got := mustParse(t, document).Job.Program.Executable; got != "/bin/date" {
			t.Errorf("%s: Executable is %q", name, got)
		}
	}
}

// A large document must not cost more than a small multiple of its size.
func TestHugeDocumentsAreCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time and memory")
	}
	fill := func(head, unit, tail string) []byte {
		n := (MaxDocument - len(head) - len(tail)) / len(unit)
		return []byte(head + strings.Repeat(unit, n) + tail)
	}
	appOpen := open + "<JobDescription><Application><p:POSIXApplication><p:Executable>/bin/date</p:Executable>"
	appClose := "</p:POSIXApplication></Application></JobDescription>" + close
	wide := strings.Repeat("d/", 500)
	documents := map[string][]byte{
		"elements":      fill("<a>", "<b/>", "</a>"),
		"depth":         fill("", "<a>", ""),
		"attributes":    fill("<a ", "b='' ", "/>"),
		"text":          fill(appOpen+"<p:Argument>", "x", "</p:Argument>"+appClose),
		"comments":      fill(appOpen+"<p:Argument>", "y<!---->", "</p:Argument>"+appClose),
		"references":    fill(appOpen+"<p:Argument>", "&#65;", "</p:Argument>"+appClose),
		"half openings": fill(appOpen+"<p:Argument>", "&amp;#", "</p:Argument>"+appClose),
		"arguments":     fill(appOpen, "<p:Argument/>", appClose),
		"environment":   fill(appOpen, "<p:Environment name='A'/>", appClose),
		"unknown":       fill(appOpen, "<p:X/>", appClose),
		"undeclared":    fill(appOpen, "<z:X/>", appClose),
		"long name":     fill("<", "n", "/>"),
		"long entity":   fill("<a>&", "n", ";</a>"),
		"lines":         fill("<a>", "\n", "</b>"),
		"declarations":  fill("<a>", "<b xmlns:c='u' xmlns:d='v'>", ""),
		"stagings":      fill(open+"<JobDescription>"+date, entry("a", "", ""), "</JobDescription>"+close),
		"deep paths": fill(appOpen+"<p:WorkingDirectory>"+wide+"w</p:WorkingDirectory></p:POSIXApplication></Application>",
			entry("a", "", ""), "</JobDescription>"+close),
		"ranges": fill(open+"<JobDescription>"+date+"<Resources><TotalCPUCount>", "<Exact>3</Exact>",
			"</TotalCPUCount></Resources></JobDescription>"+close),
	}
	const mostTime, mostBytes = 5 * time.Second, 160 << 20
	for name, document := range documents {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		started := time.Now()
		_, err := Parse("job.jsdl", document)
		took := time.Since(started)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if took > mostTime || allocated > mostBytes {
			t.Errorf("%s: %v and %d MiB for a document of %d KiB", name, took, allocated>>20, len(document)>>10)
		}
		if err != nil && len(err.Error()) > (MaxErrors+1)*(maxMessage+40) {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
		t.Logf("%-14s %8v %4d MiB", name, took.Round(time.Millisecond), allocated>>20)
	}
}

func TestPositionsCountCharacters(t *testing.T) {
	t.Parallel()
	document := strings.Replace(running("<p:Argument>größer €𝄞</p:Argument><p:X/>"), "\n", "\r\n", 1)
	_, err := Parse("job.jsdl", []byte("\uFEFF"+document))
	checkMistakes(t, err, "2:35: X does not belong in POSIXApplication, which holds "+order(placeOf["POSIXApplication"]))
	if !bytes.HasPrefix([]byte(err.Error()), []byte("job.jsdl:2:35: ")) {
		t.Errorf("told %q", err)
	}
}
