// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds, in bytes (LOG-13).
const (
	MaxProjectionBytes = 16384
	MaxMessageBytes    = 8192
	MaxLoggerBytes     = 256
)

const (
	suffix     = "... [cut]" // ends what was cut
	noMessage  = "(no message)"
	dropNotice = "The server logs faster than 64 messages a second; the rest of this second was dropped."
	setupFault = "The server did not accept the log level; what it sends is filtered here."
)

// ErrMalformed says that the parameters are not those of a log notification. It is ErrLevel when the level is unknown.
var ErrMalformed = errors.New("malformed log notification")

// Entry is a message that may be shown (LOG-14). It holds no reference to what the server sent.
type Entry struct {
	// Revision and Server are set by Ring.Add.
	Revision int64
	Server   string
	Level    Level
	// Logger is the server's name for the source, one clean line; often empty.
	Logger string
	// Message is clean, redacted text, never empty.
	Message string
	// ProjectedBytes is the size of the projection that Message is made of, SHA256 its digest in hexadecimal digits.
	ProjectedBytes int
	SHA256         string
	// Truncated says that something did not fit, DetailsOmitted that the message is withheld from this reader.
	Truncated, DetailsOmitted bool
	// Time is when the message arrived.
	Time time.Time
	// Synthetic says that the message is our own.
	Synthetic bool
}

// Message is a log notification before it is projected.
type Message struct {
	Level  Level
	logger string
	data   json.RawMessage
}

// Parse reads the params of notifications/message. It looks at no more than their members.
func Parse(params json.RawMessage) (Message, error) {
	object, err := wire.ParseObject(params)
	if err != nil {
		return Message{}, ErrMalformed
	}
	name, _ := object.String("level")
	level, err := ParseLevel(name)
	if err != nil {
		return Message{}, err
	}
	logger, ok := object.String("logger")
	if !ok && object.Get("logger") != nil && string(object.Get("logger")) != "null" {
		return Message{}, ErrMalformed
	}
	return Message{Level: level, logger: logger, data: object.Get("data")}, nil
}

// Project makes the entry of a message that arrived at now (LOG-10 to LOG-14). Its work is bounded whatever the data is.
func (m Message) Project(now time.Time) Entry {
	text, truncated := project(m.data)
	e := seal(m.Level, text, now)
	e.Truncated = e.Truncated || truncated
	e.Logger = strings.TrimSpace(clean.Text(clean.RedactWithin(m.logger, 4*MaxLoggerBytes), MaxLoggerBytes))
	return e
}

// Dropped is the entry that stands for what the Window dropped (LOG-06).
func Dropped(now time.Time) Entry { return synthetic(dropNotice, now) }

// SetupFailed is the entry that says that the level could not be negotiated (LOG-03).
func SetupFailed(now time.Time) Entry { return synthetic(setupFault, now) }

func synthetic(message string, now time.Time) Entry {
	e := seal(Warning, message, now)
	e.Synthetic = true
	return e
}

// seal bounds a projection and makes the entry of it.
func seal(level Level, projection string, now time.Time) Entry {
	projection, cut := bound(projection, MaxProjectionBytes)
	sum := sha256.Sum256([]byte(projection))
	message, cutAgain := bound(projection, MaxMessageBytes)
	if strings.TrimSpace(message) == "" {
		message = noMessage
	}
	return Entry{
		Level: level, Message: message, ProjectedBytes: len(projection), SHA256: hex.EncodeToString(sum[:]),
		Truncated: cut || cutAgain, Time: now,
	}
}

func bound(s string, maxBytes int) (string, bool) {
	if len(s) <= maxBytes {
		return s, false
	}
	return clean.Multiline(s, maxBytes-len(suffix)) + suffix, true
}

// Restricted returns what readers may see who may not see a server's text: neither logger nor message (LOG-15).
func (e Entry) Restricted() Entry {
	e.Logger, e.DetailsOmitted = "", true
	e.Message = "The message is withheld here; the SHA-256 of its text is " + e.SHA256 + "."
	return e
}
