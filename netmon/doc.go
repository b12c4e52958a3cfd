// Package netmon measures round trip and bandwidth from this site to each neighbour,
// for several message sizes, over the connection that files really use, and forecasts
// them: the b(i,j) of the GBroker papers.
//
// # Protocol
//
// A probe stream of the protocol /gbroker/probe/1 carries messages from the site
// that measures: a size (u32, big endian) and that many bytes without meaning. The
// other side answers each, when its last byte is there, with one byte 6. Size 0
// measures the round trip. The receiver takes at most 16 MiB a message, 1 GiB an hour
// beyond a first 256 MiB from one peer, eight streams of a peer at once, and a stream
// for five minutes; beyond that, or when nothing comes for 30 s, it closes the stream.
//
// # What is measured
//
// The delivery time of a message is the time from its first byte to the answer: what who
// fetches it waits from his question to its last byte. Its rate is size / delivery time. So the rate
// of a small message contains the latency, as a job's small files feel it.
//
// A message goes as a file of its size would. From 64 KiB on it leaves the window of its connection wide, so the next one that
// is large comes 3 s later, when the window is as small as a file finds it. One for which files have several streams
// ([Config].Streams) goes in parts over as many, up to four, and all of them but the first are on new connections; the time
// includes making these. The first message of each size finds a connection that has yet to learn how much the way carries, and takes up to three times as
// long as the next ones: it counts until the second is there. What shared the way with files, or with the peer's own probes, does not count.
//
// Real transfers count in the same way, for the size nearest to theirs ([Monitor.Observe]): one of another size
// changes that size's rate by as much as it took longer or shorter than was forecast. 64 and 512 MiB are
// learned from them alone, and believed for six hours. Of each rate its age and the
// spread of recent measurements are told ([Monitor.Qualities]).
//
// # Forecast
//
// Each size has a series of rates. Four predictors watch it: the last value, the mean
// and the median of a short window, and an exponentially smoothed mean; the forecast
// is the word of the one whose recent errors were least. This is the method of the
// Network Weather Service (R. Wolski, N. Spring, J. Hayes, Future Generation Computer
// Systems 15, 1999).
//
// A way may be slow in office hours. Of each size the mean of each hour of the day is kept, by the local clock, working days and weekends
// apart, over the last four days or so that had a measurement in it. Before the predictors see measurements of other hours these are
// scaled by the ratio of the two hours, as known before today. That is done only where it has told what was measured better than
// without, by a tenth at least; for two hours that a size does not know, by what the nearest size has learned (64 MiB from 8 MiB). So a way is
// known after a day or two, its weekends after two of them, in 13 KiB at most. It is not stored: after a restart it is learned anew, which costs
// a day of forecasts as good as they were without it.
//
// A size that is not measured gets, where two or more others are, its rate from the
// line t(z) = a + z/B through the two nearest of them (R. Hockney, Parallel Computing
// 20, 1994); one that is larger than the largest probe goes on, after the time of that, at the rate at which the second half
// of its bytes came, as smaller ones have fewer streams. Where one alone is measured, and is 1 MiB or more, its rate is that of all, else it is the member's default.
// All have Measured false, and are never more than the member's rate limit.
//
// # What neighbours are told
//
// A stream of the protocol /gbroker/links/1 carries one question and its answer, lines of JSON. {"peers": [...]} names
// up to 64; the answer is a list of {"peer", "rtt_s", "rates": [{"size", "bytes_per_s", "measured"}]}: the forecasts of the
// ways from the one who is asked to those that are its neighbours and alive. So a site learns how far two
// others are from each other. The answer comes within 5 s; fields that are not known are skipped.
//
// # Cost
//
// A size is measured again after Interval, and after twice as long each time that it was as expected (within a fifth of the
// forecast, or twice the spread): up to where its probes come to 128 B/s, though not less than 10 minutes nor more than 12 hours.
// One that was not as expected is measured again after Interval; if two in a row were not, all sizes are.
// A link's probes take at most TimeShare of time and BytesPerHour of bytes, averaged,
// after a first burst that lets a new link be measured at once. Half of the bytes are the largest size's, a quarter the next one's, and so
// on: on a way where nothing is as expected each size is still measured, and a change is looked at with four messages of each at once, if these are 2 MiB or less. Sizes that would take
// longer than MaxProbe even if each of their streams went as fast as one are not sent, nor any while files move (Busy), for twenty intervals at most.
// With Quiet only the round trip and the smallest size are measured.
// A site probes one link at a time, in the order in which they are due. Who cannot be opened gives his turn up after 2 s, or longer the more often
// that has failed (10 s at most), and who falls silent after four times what a message was to take.
package netmon
