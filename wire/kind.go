package wire

import "fmt"

// Version of the encoding. It is also in the protocol identifier, so that brokers
// agree on it before the first frame.
const Version = 1

// Protocol identifies the stream that carries the messages.
const Protocol = "/gbroker/msg/1"

// Limits of a frame and what it holds. Sizes are bytes.
const (
	// MaxFrame is the largest body of any kind. The limit of each kind is Limit.
	MaxFrame = large

	small  = 64 << 10
	medium = 1 << 20
	large  = 32 << 20 // the ranges of MaxSandbox, MaxFiles paths and MaxProgramText together

	MaxDepth     = 16      // of nested arrays and maps
	MaxNeeds     = 32      // features one message may ask for
	MaxQuestions = 2048    // in one EstimateRequest; a broker with more waiting jobs asks again
	MaxOutcomes  = 1 << 20 // that a spread may be told by
)

// rule is what is fixed for one kind: its name, its limits and its body.
type rule struct {
	name     string
	limit    int // bytes of the frame
	elements int // msgpack values in the frame
	fresh    func() body
}

// A few elements fill a small message; a manifest has nine for each of its files, an
// output seven, a question nearly thirty.
const (
	fewElements  = 256
	someElements = 64 << 10
	manyElements = 256 << 10
)

// rules has one line for each kind. Append only, as the kinds are.
var rules = [...]rule{
	KindHello:           {"Hello", small, fewElements, func() body { return new(helloBody) }},
	KindEstimateRequest: {"EstimateRequest", medium, someElements, func() body { return new(estimateRequestBody) }},
	KindEstimateReply:   {"EstimateReply", medium, someElements, func() body { return new(estimateReplyBody) }},
	KindOffer:           {"Offer", large, manyElements, func() body { return new(offerBody) }},
	KindAccept:          {"Accept", small, fewElements, func() body { return new(acceptBody) }},
	KindRefuse:          {"Refuse", small, fewElements, func() body { return new(refuseBody) }},
	KindReady:           {"Ready", small, fewElements, func() body { return new(readyBody) }},
	KindAbort:           {"Abort", small, fewElements, func() body { return new(abortBody) }},
	KindCommit:          {"Commit", small, fewElements, func() body { return new(commitBody) }},
	KindOwned:           {"Owned", small, fewElements, func() body { return new(ownedBody) }},
	KindInquire:         {"Inquire", small, fewElements, func() body { return new(inquireBody) }},
	KindInquireReply:    {"InquireReply", small, fewElements, func() body { return new(inquireReplyBody) }},
	KindDeclined:        {"Declined", small, fewElements, func() body { return new(declinedBody) }},
	KindUnknown:         {"Unknown", small, fewElements, func() body { return new(unknownBody) }},
	KindReport:          {"Report", large, manyElements, func() body { return new(reportBody) }},
	KindReportAck:       {"ReportAck", small, fewElements, func() body { return new(reportAckBody) }},
	KindCancel:          {"Cancel", small, fewElements, func() body { return new(cancelBody) }},
	KindClosed:          {"Closed", small, fewElements, func() body { return new(closedBody) }},
	KindError:           {"Error", small, fewElements, func() body { return new(errorBody) }},
	KindMoved:           {"Moved", small, someElements, func() body { return new(movedBody) }},
	KindMovedAck:        {"MovedAck", small, fewElements, func() body { return new(movedAckBody) }},
	KindAnnounce:        {"Announce", small, fewElements, func() body { return new(announceBody) }},

	KindRecall:     {"Recall", small, fewElements, func() body { return new(recallBody) }},
	KindRecalled:   {"Recalled", large, manyElements, func() body { return new(recalledBody) }},
	KindSeen:       {"Seen", small, fewElements, func() body { return new(seenBody) }},
	KindRecount:    {"Recount", small, fewElements, func() body { return new(recountBody) }},
	KindRecounted:  {"Recounted", large, manyElements, func() body { return new(recountedBody) }},
	KindSuperseded: {"Superseded", small, fewElements, func() body { return new(supersededBody) }},
	KindRequest:    {"Request", small, fewElements, func() body { return new(requestBody) }},
	KindResponse:   {"Response", large, manyElements, func() body { return new(responseBody) }},

	KindReserve:         {"Reserve", medium, someElements, func() body { return new(reserveBody) }},
	KindReserved:        {"Reserved", medium, someElements, func() body { return new(reservedBody) }},
	KindConfirm:         {"Confirm", small, fewElements, func() body { return new(confirmBody) }},
	KindRelease:         {"Release", small, fewElements, func() body { return new(releaseBody) }},
	KindChange:          {"Change", medium, someElements, func() body { return new(changeBody) }},
	KindReservationWord: {"ReservationWord", medium, someElements, func() body { return new(wordBody) }},
	KindReservationAck:  {"ReservationAck", small, fewElements, func() body { return new(wordAckBody) }},
	KindSlots:           {"Slots", small, someElements, func() body { return new(slotsBody) }},
	KindSlotsReply:      {"SlotsReply", medium, manyElements, func() body { return new(slotsReplyBody) }},
	KindGather:          {"Gather", large, someElements, func() body { return new(gatherBody) }},
}

// Valid reports that k is a kind of this version.
func (k Kind) Valid() bool { return int(k) < len(rules) && rules[k].fresh != nil }

// Limit is the largest frame body of the kind, in bytes; 0 for no kind.
func (k Kind) Limit() int {
	if !k.Valid() {
		return 0
	}
	return rules[k].limit
}

func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return rules[k].name
}
