package jsdl

import (
	"slices"
	"strconv"

	"gbroker/grid"
)

// effect is what becomes of an element.
type effect uint8

const (
	used      effect = iota // it changes what is run, where or when
	describes               // it is kept and shown
	refused                 // it is understood, and no site can keep it
)

// many is how often an element may stand where there is no small limit.
const many = 1 << 30

// rule is one element of the language at its place. The rules together are the language: the parser
// goes through them, and the tables of docs/jobs.md are made of them.
type rule struct {
	in           string // the local name of the element that holds it
	space, local string
	most         int    // how often it may stand there
	free         bool   // the schema fixes no order for it
	needed       string // if it must be there: what to write
	effect       effect
	holds        string   // its value, for people
	says         string   // what it does; of one that is refused what would be needed
	attributes   []string // that it may have: by name, "xsi:nil" for those of XML Schema
}

// table is the whole language, in the order of the schemas. What stands in the place of any element of
// another namespace comes last, in the order in which it is printed.
var table = slices.Concat(
	coreRules, programRules(POSIX), limitRules, programRules(HPCProfile), accountRules(HPCProfile), programRules(SPMD), spmdRules,
	resourceRules, ownRules, stagingRules,
)

// placeOf are the rules of each place.
var placeOf = func() map[string][]rule {
	places := map[string][]rule{}
	for _, r := range table {
		r.free = r.free || r.space == Own
		places[r.in] = append(places[r.in], r)
	}
	return places
}()

var coreRules = []rule{
	{in: "JobDefinition", space: Core, local: "JobDescription", most: 1, needed: "it describes the job", says: "the job"},

	{in: "JobDescription", space: Core, local: "JobIdentification", most: 1, says: "its name, and what describes it"},
	{in: "JobDescription", space: Core, local: "Application", most: 1, needed: nothing, says: "what is run"},
	{in: "JobDescription", space: Core, local: "Resources", most: 1, says: "what it needs, and how it is treated"},
	{in: "JobDescription", space: Core, local: "DataStaging", most: grid.MaxFiles, attributes: []string{"name"}, says: "a file that goes in or out"},

	{in: "JobIdentification", space: Core, local: "JobName", most: 1, effect: describes, holds: "text, up to 255 bytes", says: "its name in listings"},
	{in: "JobIdentification", space: Core, local: "Description", most: 1, effect: describes, holds: "text"},
	{in: "JobIdentification", space: Core, local: "JobAnnotation", most: grid.MaxAnnotations, effect: describes, holds: "text"},
	{in: "JobIdentification", space: Core, local: "JobProject", most: grid.MaxAnnotations, effect: describes, holds: "text", says: "it charges nobody: that is gb:Account"},

	{in: "Application", space: Core, local: "ApplicationName", most: 1, effect: describes, holds: "text", says: "beside an Executable; alone it is refused, as sites keep no catalogue of applications"},
	{in: "Application", space: Core, local: "ApplicationVersion", most: 1, effect: describes, holds: "text"},
	{in: "Application", space: Core, local: "Description", most: 1, effect: describes, holds: "text", says: "only where JobIdentification has none"},
	{in: "Application", space: POSIX, local: "POSIXApplication", most: 1, free: true, attributes: []string{"name"}, says: "one program; of the three applications one only"},
	{in: "Application", space: HPCProfile, local: "HPCProfileApplication", most: 1, free: true, attributes: []string{"name"}, says: "one program"},
	{in: "Application", space: SPMD, local: "SPMDApplication", most: 1, free: true, attributes: []string{"name"}, says: "a parallel program"},
}

// applicationOf is the application that has the program of a namespace; elements of an
// SPMDApplication that others have too are of POSIX.
var applicationOf = map[string]string{POSIX: "POSIXApplication", HPCProfile: "HPCProfileApplication", SPMD: "SPMDApplication"}

// programRules are what all applications have in common.
func programRules(space string) []rule {
	in := applicationOf[space]
	if space == SPMD {
		space = POSIX
	}
	rules := []rule{
		{local: "Executable", most: 1, needed: nothing, holds: "path, absolute or relative", says: "the program, started without a shell"},
		{local: "Argument", most: grid.MaxArguments, holds: "text", says: "tabs and line ends become blanks"},
		{local: "Input", most: 1, holds: "relative path", says: "standard input; nothing without it"},
		{local: "Output", most: 1, holds: "relative path", says: "standard output; `stdout` without it"},
		{local: "Error", most: 1, holds: "relative path", says: "standard error; `stderr` without it"},
		{local: "WorkingDirectory", most: 1, holds: "path in the sandbox", says: "where the program starts; the top without it"},
		{local: "Environment", most: grid.MaxArguments, attributes: []string{"name"}, holds: "text", says: "the variable of that `name`: letters, digits and `_`, none starting with `GBROKER_` but [`GBROKER_CHECKPOINT`, `GBROKER_NETWORK` and `GBROKER_TWICE`](desktops.md#for-the-user)"},
	}
	for i := range rules {
		rules[i].in, rules[i].space = in, space
		if in != "HPCProfileApplication" && rules[i].local != "Environment" {
			rules[i].attributes = []string{onFileSystem}
		}
	}
	return rules
}

// onFileSystem is the attribute by which a path is relative to a FileSystem of Resources, for which the sandbox stands in.
const onFileSystem = "filesystemName"

const siteAccount = "jobs run under the account that the site maps their user to"

func accountRules(space string) []rule {
	return []rule{
		{in: applicationOf[space], space: space, local: "UserName", most: 1, effect: refused, says: siteAccount},
	}
}

// limitNames are the limits of POSIX that a site sets for each process of the program.
var limitNames = map[string]grid.LimitName{
	"FileSizeLimit": grid.LimitFile, "CoreDumpLimit": grid.LimitCore, "DataSegmentLimit": grid.LimitData, "LockedMemoryLimit": grid.LimitLocked,
	"MemoryLimit": grid.LimitMemory, "OpenDescriptorsLimit": grid.LimitFiles, "StackSizeLimit": grid.LimitStack, "CPUTimeLimit": grid.LimitCPU,
	"ProcessCountLimit": grid.LimitThreads, "VirtualMemoryLimit": grid.LimitVirtual, "ThreadCountLimit": grid.LimitThreads,
}

var limitRules = slices.Concat(limitsIn("POSIXApplication", false), accountRules(POSIX), []rule{
	{in: "POSIXApplication", space: POSIX, local: "GroupName", most: 1, effect: refused, says: siteAccount},
})

func limitsIn(place string, free bool) []rule {
	rules := []rule{
		{local: "WallTimeLimit", holds: "seconds, up to 31622400", says: "how long it may run, on the reference machine"},
		{local: "FileSizeLimit", holds: "bytes", says: "of a file that it writes (`ulimit -f`)"},
		{local: "CoreDumpLimit", holds: "bytes", says: "of a core file (`ulimit -c`)"},
		{local: "DataSegmentLimit", holds: "bytes", says: "of its data segment (`ulimit -d`)"},
		{local: "LockedMemoryLimit", holds: "bytes", says: "of memory that it locks (`ulimit -l`)"},
		{local: "MemoryLimit", holds: "bytes, at least 1", says: "of its own memory (`ulimit -d`: Linux limits no resident memory)"},
		{local: "OpenDescriptorsLimit", holds: "number", says: "of files open at once (`ulimit -n`)"},
		{local: "PipeSizeLimit", effect: refused, says: "Linux has no such limit, so no site can keep it: leave it out"},
		{local: "StackSizeLimit", holds: "bytes", says: "of its stack (`ulimit -s`)"},
		{local: "CPUTimeLimit", holds: "seconds", says: "of processor time (`ulimit -t`)"},
		{local: "ProcessCountLimit", holds: "number", says: "of processes and threads of its user on the node (`ulimit -u`)"},
		{local: "VirtualMemoryLimit", holds: "bytes", says: "of its address space (`ulimit -v`)"},
		{local: "ThreadCountLimit", holds: "number", says: "the same as ProcessCountLimit: Linux counts both together; the lower one holds"},
	}
	for i := range rules {
		rules[i].in, rules[i].space, rules[i].most, rules[i].free = place, POSIX, 1, free
	}
	return rules
}

var spmdRules = slices.Concat([]rule{
	{in: "SPMDApplication", space: POSIX, local: "UserName", most: 1, effect: refused, says: siteAccount},
	{in: "SPMDApplication", space: SPMD, local: "NumberOfProcesses", most: 1, attributes: []string{"actualtotalcpucount", "xsi:nil"}, holds: "number, or `xsi:nil=\"true\"`", says: "processes; nil: as many as the CPUs asked for in Resources"},
	{in: "SPMDApplication", space: SPMD, local: "ProcessesPerHost", most: 1, holds: "number", says: "processes on each node; the last may get the rest"},
	{in: "SPMDApplication", space: SPMD, local: "ThreadsPerProcess", most: 1, attributes: []string{"actualindividualcpucount", "xsi:nil"}, holds: "number, or `xsi:nil=\"true\"`", says: "cores for each process; nil: as many as make up IndividualCPUCount"},
	{in: "SPMDApplication", space: SPMD, local: "SPMDVariation", most: 1, needed: "write <SPMDVariation>" + variationBase + "MPI</SPMDVariation> in the namespace " + SPMD, holds: "URI", says: "`" + variationBase + "` and one of MPI GridMPI IntelMPI LAM-MPI MPICH1 MPICH2 MPICH-GM MPICH-MX MVAPICH MVAPICH2 OpenMPI POE PVM"},
}, limitsIn("SPMDApplication", true))

const (
	noCatalogue = "sites keep no catalogue of applications: name the program in Executable"
	noMount     = "a job sees its sandbox only: sites declare no file systems, and show none at a path of the document's choice. Leave it out, and the sandbox stands in"
	nothing     = "there is nothing to run (to move files alone, let /bin/true be the Executable)"
)

var resourceRules = []rule{
	{in: "Resources", space: Core, local: "CandidateHosts", most: 1, says: "the nodes on which it may run"},
	{in: "Resources", space: Core, local: "FileSystem", most: 16, attributes: []string{"name"}, says: "disk beside the sandbox; the sandbox stands in for it"},
	{in: "Resources", space: Core, local: "ExclusiveExecution", most: 1, holds: "boolean", says: "`true`: whole nodes, on which nobody else runs meanwhile"},
	{in: "Resources", space: Core, local: "OperatingSystem", most: 1, says: "that of the nodes"},
	{in: "Resources", space: Core, local: "CPUArchitecture", most: 1, says: "that of the nodes"},
	{in: "Resources", space: Core, local: "IndividualCPUSpeed", most: 1, holds: "range, hertz", says: "of a core, as the site declares it"},
	{in: "Resources", space: Core, local: "IndividualCPUTime", most: 1, holds: "range, seconds", says: "the wall time, with a warning, where nothing else names one"},
	{in: "Resources", space: Core, local: "IndividualCPUCount", most: 1, holds: "range", says: "cores on each node"},
	{in: "Resources", space: Core, local: "IndividualNetworkBandwidth", most: 1, holds: "range, bits per second", says: "of a node, as the site declares it"},
	{in: "Resources", space: Core, local: "IndividualPhysicalMemory", most: 1, holds: "range, bytes", says: "for each node, or process where no nodes are asked for"},
	{in: "Resources", space: Core, local: "IndividualVirtualMemory", most: 1, holds: "range, bytes", says: "the same as IndividualPhysicalMemory, with a warning, as sites count no swap; beside that the greater one holds. To limit the address space write VirtualMemoryLimit"},
	{in: "Resources", space: Core, local: "IndividualDiskSpace", most: 1, holds: "range, bytes", says: "that each node must have, as the site declares it"},
	{in: "Resources", space: Core, local: "TotalCPUTime", most: 1, holds: "range, seconds", says: "what wall time × cores must make; it gives the wall time, with a warning, where nothing else names one"},
	{in: "Resources", space: Core, local: "TotalCPUCount", most: 1, holds: "range", says: "cores of the whole job"},
	{in: "Resources", space: Core, local: "TotalPhysicalMemory", most: 1, holds: "range, bytes", says: "of the whole job, shared out over its pieces"},
	{in: "Resources", space: Core, local: "TotalVirtualMemory", most: 1, holds: "range, bytes", says: "the same as TotalPhysicalMemory, likewise"},
	{in: "Resources", space: Core, local: "TotalDiskSpace", most: 1, holds: "range, bytes", says: "that each node must have, with a warning: sites count the disk of each node, and the whole job may lie on one"},
	{in: "Resources", space: Core, local: "TotalResourceCount", most: 1, holds: "range", says: "nodes: into so many pieces the job is cut"},
	{in: "Resources", space: Genesis, local: "WallclockTime", most: 1, free: true, holds: "range, seconds", says: "the wall time, as Genesis II writes it"},
	{in: "Resources", space: ARC, local: "IndividualWallTime", most: 1, free: true, says: "the wall time, as ARC writes it"},
	{in: "Resources", space: ARC, local: "TotalWallTime", most: 1, free: true, says: "the wall time, as ARC writes it"},

	{in: "IndividualWallTime", space: ARC, local: "Min", most: 1, effect: describes, holds: "seconds"},
	{in: "IndividualWallTime", space: ARC, local: "Max", most: 1, needed: "it is the wall time", holds: "seconds"},
	{in: "TotalWallTime", space: ARC, local: "Min", most: 1, effect: describes, holds: "seconds"},
	{in: "TotalWallTime", space: ARC, local: "Max", most: 1, needed: "it is the wall time", holds: "seconds"},

	{in: "CandidateHosts", space: Core, local: "HostName", most: grid.MaxHosts, needed: "name a node", holds: "name", says: "a node of a site by its name, with or without its domain"},

	{in: "FileSystem", space: Core, local: "FileSystemType", most: 1, effect: describes, holds: "`temporary` or `spool`", says: "`normal` and `swap` are refused"},
	{in: "FileSystem", space: Core, local: "Description", most: 1, effect: describes, holds: "text"},
	{in: "FileSystem", space: Core, local: "MountPoint", most: 1, effect: refused, says: noMount},
	{in: "FileSystem", space: Core, local: "MountSource", most: 1, free: true, effect: refused, says: noMount},
	{in: "FileSystem", space: Core, local: "DiskSpace", most: 1, holds: "range, bytes", says: "that each node must have, as the site declares it"},

	{in: "OperatingSystem", space: Core, local: "OperatingSystemType", most: 1, says: "holds OperatingSystemName"},
	{in: "OperatingSystem", space: Core, local: "OperatingSystemVersion", most: 1, effect: refused, says: "sites do not tell their version"},
	{in: "OperatingSystem", space: Core, local: "Description", most: 1, effect: describes, holds: "text", says: "not kept"},
	{in: "OperatingSystemType", space: Core, local: "OperatingSystemName", most: 1, needed: "write <OperatingSystemName>LINUX</OperatingSystemName>", holds: "such as `LINUX`, in JSDL's words"},
	{in: "CPUArchitecture", space: Core, local: "CPUArchitectureName", most: 1, needed: "write <CPUArchitectureName>x86_64</CPUArchitectureName>", holds: "sparc powerpc x86 x86_32 x86_64 parisc mips ia64 arm"},

	{in: rangePlace, space: Core, local: "UpperBoundedRange", most: 1, attributes: []string{"exclusiveBound"}, holds: "number", says: "values up to it"},
	{in: rangePlace, space: Core, local: "LowerBoundedRange", most: 1, attributes: []string{"exclusiveBound"}, holds: "number", says: "values from it on"},
	{in: rangePlace, space: Core, local: "Exact", most: maxTerms, attributes: []string{"epsilon"}, holds: "number", says: "the value, or those within `epsilon` of it"},
	{in: rangePlace, space: Core, local: "Range", most: maxTerms, says: "values from LowerBound to UpperBound"},
	{in: "Range", space: Core, local: "LowerBound", most: 1, needed: "give both bounds", attributes: []string{"exclusiveBound"}, holds: "number"},
	{in: "Range", space: Core, local: "UpperBound", most: 1, needed: "give both bounds", attributes: []string{"exclusiveBound"}, holds: "number"},
}

// rangePlace is the place of what a RangeValue holds, which many elements are.
const rangePlace = "a range"

var ownRules = []rule{
	{in: "Resources", space: Own, local: "WallTime", most: 1, holds: "seconds, up to 31622400", says: "how long it may run, on the reference machine"},
	{in: "Resources", space: Own, local: "NotBefore", most: 1, holds: "xsd:dateTime with a zone", says: "it waits at its home until then"},
	{in: "Resources", space: Own, local: "Deadline", most: 1, holds: "xsd:dateTime with a zone", says: "by when it must have ended"},
	{in: "Resources", space: Own, local: "Fee", most: 1, holds: "whole number", says: "the most that its user pays for a core and hour, in the unit of the sites' prices"},
	{in: "Resources", space: Own, local: "Account", most: 1, holds: "name", says: "of the batch system, to be charged"},
	{in: "Resources", space: Own, local: "Rerunnable", most: 1, holds: "boolean", says: "its program may be started again after a loss"},
	{in: "Resources", space: Own, local: "Hold", most: 1, holds: "boolean", says: "it waits at its home until it is released"},
	{in: "Resources", space: Own, local: "Priority", most: 1, holds: "-" + strconv.Itoa(grid.MaxPriority) + " to " + strconv.Itoa(grid.MaxPriority), says: "among the waiting jobs of its user; greater goes first"},
	{in: "Resources", space: Own, local: "Sites", most: 1, says: "where it may run"},
	{in: "Resources", space: Own, local: "Queue", most: 1, holds: "name", says: "of a queue that the site must have, and into which the job goes there"},
	{in: "Resources", space: Own, local: "DistinctNodes", most: 1, holds: "boolean", says: "`true`: each piece on a node of its own"},
	{in: "Resources", space: Own, local: "Property", most: grid.MaxProperties, holds: "name", says: "that every node of the job must carry"},
	{in: "Resources", space: Own, local: "Resource", most: grid.MaxResources, attributes: []string{"name"}, holds: "whole number", says: "how much of it each node (or process) needs"},
	{in: "Resources", space: Own, local: "Piece", most: maxPieces, attributes: []string{"count", "processes", "cores", "memory"}, says: "pieces of the job that lie on one node each, instead of counts and memory"},
	{in: "Resources", space: Own, local: "After", most: grid.MaxAfter, attributes: []string{"kind"}, holds: "job or group", says: "it waits at its home until that has come to what `kind` says: after, afterok, afternotok, afterany, aftercorr, singleton"},
	{in: "Resources", space: Own, local: "Notify", most: grid.MaxNotices, attributes: []string{"when"}, holds: "mailto: or https: URI", says: "a word there at its `when`: begin, end (also without `when`) or fail"},
	{in: "Resources", space: Own, local: "Signal", most: 1, attributes: []string{"before", "leader"}, holds: "number or name", says: "the program gets it `before` seconds before its time is up; with `leader=\"true\"` its first process alone"},
	{in: "Resources", space: Own, local: "Dialect", most: 1, holds: "slurm, torque or openpbs", says: "the program is a batch script, and finds the variables of that system"},
	{in: "Resources", space: Own, local: "Bring", most: grid.MaxBring, attributes: []string{"bytes"}, holds: "pattern, relative to the working directory", says: "files that the program makes or changes come back too, up to `bytes` together: * ? [a-z] in a part of a path, ** for any folders; of a folder all"},
	{in: "Resources", space: Own, local: "Coallocation", most: 1, attributes: []string{"sites", "processes", "early", "survive", "reach"}, says: "it may run at several sites at once: at most so many `sites`, at each at least so many `processes` (1 if left out); with `early` it begins before its time where all its sites let it, with `survive` a part that fails does not end the others, with `reach` it has only sites whose nodes reach each other"},

	{in: "Sites", space: Own, local: "Only", most: grid.MaxChoice, free: true, holds: "name of a site", says: "it runs at one of these"},
	{in: "Sites", space: Own, local: "Not", most: grid.MaxChoice, free: true, holds: "name of a site", says: "it does not run at these"},
	{in: "Sites", space: Own, local: "Prefer", most: grid.MaxChoice, free: true, holds: "name of a site", says: "one of these is chosen, unless another is done sooner by more than a minute and a tenth"},

	{in: "Piece", space: Own, local: "Resource", most: grid.MaxResources, attributes: []string{"name"}, holds: "whole number", says: "how much of it each of these pieces needs"},
}

var stagingRules = []rule{
	{in: "DataStaging", space: Core, local: "FileName", most: 1, needed: "write <FileName>NAME</FileName>", holds: "relative path", says: "the file, in the working directory"},
	{in: "DataStaging", space: Core, local: "FilesystemName", most: 1, holds: "name of a FileSystem of Resources", says: "FileName is relative to the top of the sandbox, which stands in for it, and not to the working directory. HOME and ROOT are refused"},
	{in: "DataStaging", space: Core, local: "CreationFlag", most: 1, holds: "overwrite, append or dontOverwrite", says: "what becomes of a file that is there; `overwrite`, with a warning, without it"},
	{in: "DataStaging", space: Core, local: "DeleteOnTermination", most: 1, holds: "boolean", says: "`true`: the site does not keep it after the end. The sandbox goes anyway, after what comes back has come back"},
	{in: "DataStaging", space: Core, local: "Source", most: 1, says: "where it comes from"},
	{in: "DataStaging", space: Core, local: "Target", most: 1, says: "where it goes"},
	{in: "DataStaging", space: Credentials, local: "Credential", most: 1, free: true, effect: refused, says: "others may see the document: give it by 'gclient submit --credentials FILE'"},
	{in: "Source", space: Core, local: "URI", most: 1, needed: "write <URI>NAME</URI>, a path relative to the document", holds: "path beside the document, or file:, http:, https:, s3: or sftp: URI"},
	{in: "Target", space: Core, local: "URI", most: 1, needed: "write <URI>NAME</URI>, a path relative to the output folder", holds: "path in the output folder, or a URI as of Source"},
}
