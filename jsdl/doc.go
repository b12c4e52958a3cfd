// Package jsdl reads a job from a document of the Job Submission Description
// Language 1.0 (GFD.56, GFD.136) with its POSIX and SPMD application extensions, and
// a few elements of this project where the standard has no word.
//
// # What is accepted
//
// The namespaces, compared byte for byte:
//
//	core   http://schemas.ggf.org/jsdl/2005/11/jsdl
//	posix  http://schemas.ggf.org/jsdl/2005/11/jsdl-posix
//	spmd   http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd
//	own    urn:gbroker:jsdl:1
//
// The elements, in the order of the schema (? at most once, * any number):
//
//	JobDefinition
//	  JobDescription
//	    JobIdentification?   JobName? Description? JobAnnotation* JobProject*
//	    Application          Description?, then one of
//	      posix:POSIXApplication   PROGRAM WallTimeLimit? MemoryLimit?
//	      spmd:SPMDApplication     PROGRAM NumberOfProcesses? ProcessesPerHost? ThreadsPerProcess?
//	                               SPMDVariation posix:WallTimeLimit? posix:MemoryLimit?
//	    Resources?           ExclusiveExecution? OperatingSystem? CPUArchitecture?
//	                         IndividualCPUCount? IndividualPhysicalMemory? TotalCPUCount? TotalResourceCount?
//	                         own:Resource(name)* own:Property* own:Queue?
//	    DataStaging*         FileName CreationFlag DeleteOnTermination? Source?(URI) Target?(URI)
//
//	PROGRAM = posix:Executable Argument* Input? Output? Error? WorkingDirectory? Environment*
//
// The two limits at the end of an SPMDApplication stand where its schema takes any
// element of another namespace, and so do the own elements at the end of Resources,
// in any order. JobName is kept; the other parts of
// JobIdentification, every Description and the name and id of an element have no
// effect. Everything else is refused by name and place, never ignored: JSDL wants
// each element to be understood or the document to fail.
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
// Source and Target URIs are relative references: percent-escapes are decoded;
// schemes, hosts, queries and fragments are refused. The sandbox is new, so that
// on an entry with a Source alone the three CreationFlags mean the same; else
// only overwrite is accepted. DeleteOnTermination changes nothing: the sandbox
// goes as a whole, after what comes back has come back.
//
// # Numbers
//
// Limits are whole seconds or bytes. A RangeValue holds Exact, Range,
// LowerBoundedRange and UpperBoundedRange terms, any of which may hold (OR); the
// smallest value allowed is what is asked for. LowerBoundedRange and
// UpperBoundedRange together are refused, because by the OR they allow
// everything, and a memory that is only bounded from above asks for nothing.
// Values are whole numbers from 1, also in the lexical forms 8.0 and 1.0e3.
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
// carry, own:Queue one of a queue that the site must have. ExclusiveExecution true
// asks for nodes on which nobody else runs meanwhile.
//
// # Limits
//
// 1 MiB of UTF-8, 64 levels, 65,536 elements, 64 attributes each; no DOCTYPE. All
// mistakes of a document are told together, the first [MaxErrors] of them.
package jsdl
