// Package sweep reads the Parameter Sweep extension of JSDL (GFD.149): one document that stands for
// many jobs, which differ in a few places. How many is reckoned before any of them is made, and the
// n-th document is made without the others, in the time that it takes to copy it.
//
// # What is accepted
//
// The namespaces, compared byte for byte:
//
//	sweep      http://schemas.ogf.org/jsdl/2009/03/sweep
//	functions  http://schemas.ogf.org/jsdl/2009/03/sweep/functions
//	own        urn:gbroker:jsdl:1
//
// Sweeps stand in JobDefinition, after JobDescription:
//
//	Sweep       own:atOnce?  Assignment+ Sweep*
//	Assignment  DocumentNode+, then one function
//	DocumentNode  NamespaceBinding(prefix, ns)*  Match
//	function    functions:Values(Value+)
//	            functions:LoopInteger(start, end, step?)  Exception(value)*
//	            functions:LoopDouble(start, end, step?)   Exception(value)*
//
// The Assignments of a Sweep advance together, and so have equally many values. All places of an
// Assignment take the same value. A Sweep inside another runs through for each value of the outer one
// (product); Sweeps beside each other come one after the other (sum), and each leaves the places of
// the others as the document has them. The jobs are numbered from 1, the innermost first.
//
//	<Sweep a=1,2> <Sweep b=x,y/> </Sweep> <Sweep c=7/>    ─►  1: a=1 b=x   2: a=1 b=y   3: a=2 b=x   4: a=2 b=y   5: c=7
//
// A loop ends at end, which is one of its values if a step meets it; step is 1 if left out. Its values
// are decimals, reckoned exactly: from 0 by 0.1 the fourth is 0.3. Exceptions are left out of it.
// own:atOnce, on the first Sweep, is how many of the jobs may be under way at once.
//
// # Match
//
// A Match is a path in a small part of XPath 1.0, or substring(path, start, length), which replaces
// characters of the text that the document has there, counted from 1; to the end where no length is
// given. Slices of one text must not overlap.
//
//	path  =  ( "/" | "//" ) step  ...  [ "/@" name ]
//	step  =  ( prefix ":" name | "*" )  ( "[" n "]" | "[@" name "=" 'value' "]" )*
//
// [n] counts among the children of one parent that fit the step, as in XPath. A step may be text() at
// the end, which is the element itself. Prefixes are those of the NamespaceBindings of its DocumentNode,
// not of the document; so a name without a prefix is in no namespace, and matches nothing of JSDL. All
// that a path matches takes the value; what it matches holds text alone, and stands in the
// JobDescription.
//
// # Limits
//
// [MaxJobs] jobs unless the caller says less, [MaxBringing] where they may bring different files, [MaxParameters] DocumentNodes, two // in a path; those
// of package jsdl besides. What other languages mean by a sweep (the draft of 2007, placeholders for a
// path, functions over folders) is told by name, and refused.
package sweep
