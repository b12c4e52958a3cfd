package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"gbroker/grid"
)

// body is a message as it is encoded: the mirror of one message in types that
// msgpack knows. message checks every value and gives the message itself.
type body interface {
	message(*check) Message
}

// Encode gives the frame of a message, without its length. needs names the features
// without which the receiver must refuse it, beside those that its jobs use. It
// fails on a message that Decode would refuse.
func Encode(m Message, needs ...string) ([]byte, error) {
	b, err := mirror(m)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	kind := m.Kind()
	var c check
	if b.message(&c); c.err != nil {
		return nil, fmt.Errorf("encode %v: %w", kind, c.err)
	}
	needs = needsOf(m, needs)
	if err := checkNeeds(needs); err != nil {
		return nil, fmt.Errorf("encode %v: %w", kind, err)
	}
	var frame bytes.Buffer
	frame.WriteByte(0x94)
	frame.WriteByte(Version)
	write(&frame, uint64(kind))
	write(&frame, append([]string{}, needs...))
	write(&frame, b)
	if _, err := unwrap(frame.Bytes()); err != nil { // too long, or too many elements
		return nil, fmt.Errorf("encode: %w", err)
	}
	return frame.Bytes(), nil
}

func checkNeeds(needs []string) error {
	if len(needs) > MaxNeeds {
		return fmt.Errorf("it needs %d features: at most %d", len(needs), MaxNeeds)
	}
	for _, name := range needs {
		if err := grid.CheckName(name); err != nil {
			return fmt.Errorf("a feature it needs: %w", err)
		}
	}
	return nil
}

// write appends one value in the one form that this package writes: shortest
// integers, struct fields in their order.
func write(to *bytes.Buffer, v any) {
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	e.Reset(to)
	e.UseCompactInts(true)
	if err := e.Encode(v); err != nil {
		// The mirrors hold only what msgpack encodes, and a Buffer takes all.
		panic(fmt.Sprintf("wire: cannot encode %T: %v", v, err))
	}
}

// Decode gives the message of a frame; it is the only way in, and what it gives
// has been checked to the last field. Its errors are *UnknownKind,
// *UnsupportedFeature, *UnsupportedVersion, *TooLarge and *Malformed.
func Decode(frame []byte) (Message, error) {
	e, err := unwrap(frame)
	if err != nil {
		return nil, err
	}
	for _, name := range e.needs {
		if !understood[name] {
			return nil, &UnsupportedFeature{e.kind, name}
		}
	}
	b := rules[e.kind].fresh()
	if err := msgpack.Unmarshal(e.body, b); err != nil {
		return nil, &Malformed{e.kind, err}
	}
	var c check
	m := b.message(&c)
	if c.err != nil {
		return nil, &Malformed{e.kind, c.err}
	}
	return m, nil
}

// mirror is the body of a message.
func mirror(m Message) (body, error) {
	switch m := m.(type) {
	case Hello:
		return fromHello(m), nil
	case EstimateRequest:
		return fromEstimateRequest(m), nil
	case EstimateReply:
		return fromEstimateReply(m), nil
	case Offer:
		return fromOffer(m), nil
	case Accept:
		return &acceptBody{fromHandoff(m.Handoff), fromJournal(m.Journal)}, nil
	case Refuse:
		return &refuseBody{fromHandoff(m.Handoff), fromEstimate(m.Estimate)}, nil
	case Ready:
		return &readyBody{fromHandoff(m.Handoff), fromJournal(m.Journal)}, nil
	case Abort:
		return &abortBody{fromHandoff(m.Handoff), plain(m.Why, MaxWhy)}, nil
	case Commit:
		return fromCommit(m), nil
	case Owned:
		return &ownedBody{fromHandoff(m.Handoff), string(m.Owner), fromOptionalCertificate(m.Certificate)}, nil
	case Inquire:
		return fromInquire(m), nil
	case InquireReply:
		return &inquireReplyBody{fromHandoff(m.Handoff), uint64(m.Verdict), string(m.Owner), m.Cancel, fromOptionalCertificate(m.Certificate), fromOptionalJournal(m.Ready)}, nil
	case Declined:
		return &declinedBody{fromHandoff(m.Handoff), fromJournal(m.Journal), fromOptionalJournal(m.Ready)}, nil
	case Unknown:
		return &unknownBody{fromHandoff(m.Handoff), fromJournal(m.Journal)}, nil
	case Report:
		return fromReport(m), nil
	case ReportAck:
		return &reportAckBody{string(m.Job), fromEpoch(m.Epoch), m.Number, m.Closed, m.Cancel, uint64(m.End), int64(m.ExitCode), m.HasExit, int64(m.Signal), m.Back, fromOptionalIn(m.Deadline)}, nil
	case Cancel:
		return &cancelBody{string(m.Job), fromEpoch(m.Epoch)}, nil
	case Closed:
		return &closedBody{string(m.Job), uint64(m.Term)}, nil
	case Error:
		return &errorBody{uint64(m.Of), string(m.Job), plain(m.Why, MaxWhy), fromEpoch(m.Had), fromEpoch(m.At)}, nil
	case Recall:
		return &recallBody{string(m.Job), fromEpoch(m.At)}, nil
	case Recalled:
		return fromRecalled(m), nil
	case Seen:
		return &seenBody{each(m.Journals, fromJournal), m.Boots, fromJournal(m.Mine), m.WantsReply, uint64(m.Stamp), uint64(m.Question), uint64(m.Answers)}, nil
	case Recount:
		return &recountBody{m.Sequence, fromOptionalJournal(m.Journal)}, nil
	case Recounted:
		return &recountedBody{each(m.Claims, fromClaim), each(m.Traces, fromTrace)}, nil
	case Superseded:
		return &supersededBody{string(m.Job), fromEpoch(m.Of), fromEpoch(m.Epoch), string(m.Owner), m.Keep, m.Answers}, nil
	case Request:
		return fromRequest(m), nil
	case Response:
		return fromResponse(m), nil
	case Moved:
		return &movedBody{string(m.Job), each(m.Certificates, fromCertificate), fromOptionalHash(m.Version)}, nil
	case MovedAck:
		return &movedAckBody{string(m.Job), fromEpoch(m.Epoch)}, nil
	case Announce:
		return &announceBody{fromSite(m.Site), fromStarts(m.Starts)}, nil
	case Reserve:
		return fromReserve(m), nil
	case Reserved:
		return fromReserved(m), nil
	case Confirm:
		return &confirmBody{string(m.ID), int64(m.Lease), int64(m.Sent)}, nil
	case Release:
		return &releaseBody{string(m.ID), plain(m.Why, MaxWhy)}, nil
	case Change:
		return fromChange(m), nil
	case ReservationWord:
		return &wordBody{fromReservation(m.Reservation), int64(m.Clock)}, nil
	case ReservationAck:
		return &wordAckBody{string(m.ID), m.Seq}, nil
	case Slots:
		return fromSlots(m), nil
	case SlotsReply:
		return fromSlotsReply(m), nil
	case Gather:
		return &gatherBody{string(m.Job), fromEpoch(m.Epoch), m.Begun, each(m.Sites, fromGathered)}, nil
	case nil:
		return nil, errors.New("there is no message")
	}
	return nil, fmt.Errorf("%T is no message of this version: pass messages by value", m)
}
