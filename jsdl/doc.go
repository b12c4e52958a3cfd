// Package jsdl reads a job from a document of the Job Submission Description
// Language 1.0 (GFD.56, GFD.136) with its POSIX, HPC Profile and SPMD application extensions,
// and the elements of this project where the standard has no word; and writes one.
//
// # What is accepted
//
// The language is the table in table.go: each element with its place, how often it stands there,
// and whether it is used, only describes the job, or is refused, with what would be needed. docs/jobs.md
// shows it. The namespaces:
//
//	core   http://schemas.ggf.org/jsdl/2005/11/jsdl
//	posix  http://schemas.ggf.org/jsdl/2005/11/jsdl-posix
//	hpcpa  http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcpa
//	spmd   http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd
//	own    urn:gbroker:jsdl:1, whose schema is gbroker.xsd
//
// Meaning is strict: everything else is refused by name and place, never ignored, as JSDL wants
// each element to be understood or the document to fail. [Lenient] ignores what other namespaces
// add, with a warning each. Form is tolerated with a warning where the meaning is certain: another
// order, whole numbers as 8.0, words in other case, a missing CreationFlag, attributes in camels,
// namespaces and variations that are wrong in a known way. [Document] has the warnings.
//
// A document is cut into tokens (scan.go), read as a tree with places (xml.go), and held against
// the table element by element (schema.go). Other packages read the tree by [Tree].
// [Print] is the way back: what it writes is read as the same job.
//
// # Paths
//
// A job runs in a sandbox of its own. WorkingDirectory is relative to the
// sandbox; Input, Output, Error, FileName and a relative Executable are relative
// to the working directory. Executables are never looked for in PATH and never
// given to a shell. What stands "beside the document" is looked for under the
// name as written, from the document's folder; what comes back comes back under
// the name as written, into the output folder. No path may be absolute (but
// Executable), have "..", a backslash or control characters. White space around
// paths, URIs, numbers and enumerations is dropped; that of values of Environment
// is kept, and in an Argument tabs and newlines become spaces.
//
// Source and Target URIs without a scheme are relative references: percent-escapes are decoded;
// hosts, queries and fragments are refused. Those with one (file, http, https, s3, sftp) are for
// the site, and hold no password. What comes back comes into a new folder, so that only
// overwrite is accepted there.
//
// # Numbers
//
// Limits are whole seconds, bytes or counts. A RangeValue holds Exact (with epsilon), Range,
// LowerBoundedRange and UpperBoundedRange terms (with exclusive bounds), any of which may hold
// (OR). LowerBoundedRange and UpperBoundedRange that overlap are refused, because by the OR they
// allow everything. Of what is counted out to a job the smallest value allowed is asked for, whole
// numbers from 1; a memory or disk that is only bounded from above asks for nothing, and is
// refused. Of what sites declare of their nodes (clock, bandwidth) the set is kept.
//
// The wall time is that of the first of own:WallTime, WallTimeLimit, the elements of Genesis II and
// ARC, and with a warning IndividualCPUTime and TotalCPUTime over the cores.
//
// With n processes of k threads (1 if not given), what is asked for more than
// once must agree:
//
//	n × k cores = TotalCPUCount = IndividualCPUCount × TotalResourceCount
//	ProcessesPerHost × k = IndividualCPUCount (the last node may get the rest)
//	⌈n / ProcessesPerHost⌉ = TotalResourceCount
//
// where n is NumberOfProcesses, else what these give, else 1. A job with
// ProcessesPerHost, IndividualCPUCount or TotalResourceCount is cut into pieces of
// one node each; TotalResourceCount alone shares the processes out evenly. Without
// them each process is a piece that may lie on any node. IndividualPhysicalMemory
// is what each piece needs, and so is each own:Resource, a whole number of something
// that a node has besides (such as gpu:a100); a job without a node shape thus needs
// them for each process. own:Property is a name that every node of the job must
// carry, own:Coallocation says over how many sites the job may lie at once, own:Queue one of a queue that the site must have. ExclusiveExecution true
// asks for nodes on which nobody else runs meanwhile.
//
// # Limits
//
// 1 MiB of UTF-8, 64 levels, 65,536 elements, 64 attributes each; no DOCTYPE. All
// mistakes of a document are told together, the first [MaxErrors] of them.
package jsdl
